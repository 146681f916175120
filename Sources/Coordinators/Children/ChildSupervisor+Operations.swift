import ConcurrencySupport
import Processes
import Supervision
import WireProtocol

extension ChildSupervisor {
    var keys: [String] { state.withLock { $0.machine.ids } }

    /// Returns whether the description of a child depends on the answer of a process below.
    func asksOthers(about key: String) -> Bool {
        let (isInWorker, host) = withSlot(key) { ($0.definition.isInWorker, $0.host as? CoordinatorCell) } ?? (false, nil)
        return isInWorker || host?.existingChildren != nil
    }

    /// Has a child's process carry out a request; while the child is between two lives, without a process or a link, the call waits for it.
    ///
    /// - Throws: `restarting` when the next life begins later than the request's deadline.
    func relay(_ operation: Operation, to key: String, _ rest: ArraySlice<Substring>, _ budget: TimeoutBudget) async throws -> JSONValue {
        let time = cell.runtime.time
        let deadline = time.now + budget.duration
        while true {
            // All of it in one look, since the next life may be ready a moment later.
            let (host, incarnation, wasBetweenLives) = try look(at: key, deadline)
            do {
                guard let host else { throw CoordinatorError(.stopped, "\(cell.path.appending(key)) isn't running") }
                return try await host.operate(operation, on: rest, budget: budget)
            } catch let error as CoordinatorError where error.code == .peerLost || error.code == .stopped || error.code == .noSuchPath {
                // An operation that may have been carried out is requested again only where a second time does no harm.
                let mayRepeat = !error.maybeExecuted || ![.restart, .replace, .kill, .reload, .flow].contains(operation)
                guard mayRepeat, time.now < deadline, let now = try? look(at: key, deadline) else { throw error }
                // A life that has only begun may not have started its children yet.
                let hasNewLife = wasBetweenLives || now.incarnation != incarnation
                guard hasNewLife || error.code != .noSuchPath && now.isBetweenLives else { throw error }
                try await time.sleep(until: time.now + .milliseconds(20))
            }
        }
    }

    /// Returns what a request for a path below a child has to know of the child's life.
    private func look(
        at key: String,
        _ deadline: MonotonicTime
    ) throws -> (host: (any ChildHost)?, incarnation: Incarnation, isBetweenLives: Bool) {
        let found = state.withLock { state in
            let isAlive = state.isAlive(key)
            return state.known(key).map { slot in
                let slot = slot.value
                return (slot.host, slot.incarnation, isAlive && slot.phase.isBetweenLives(until: deadline), slot.phase)
            }
        }
        guard let (host, incarnation, isBetweenLives, phase) = found else { throw cell.noSuchPath(key) }
        if phase.isVacant(beyond: deadline) { throw CoordinatorError.restartsLate(cell.path.appending(key)) }
        return (host, incarnation, isBetweenLives)
    }

    /// Returns the state of a child as it's known in this process, without its subtree.
    func summary(of key: String) throws -> (snapshot: CoordinatorSnapshot, host: (any ChildHost)?) {
        let found = state.withLock { state -> (CoordinatorSnapshot, (any ChildHost)?)? in
            let machine = state.machine.state(of: key)
            return state.known(key).map { slot in
                (slot.value.snapshot(at: cell.path.appending(key), machine, now: cell.runtime.time.now), slot.value.host)
            }
        }
        guard let found else { throw cell.noSuchPath(key) }
        return found
    }

    func snapshot(of key: String, _ budget: TimeoutBudget) async throws -> CoordinatorSnapshot {
        var (snapshot, host) = try summary(of: key)
        guard let host, snapshot.state == .active || snapshot.state == .paused else { return snapshot }
        do {
            let value = try await host.operate(.inspect, on: [], budget: budget)
            let description = try SelfDescription(reading: value)
            snapshot.children = description.children(of: snapshot.path)
            snapshot.flows = description.flows
            var mailbox = description.mailbox ?? snapshot.mailbox
            // What waits here for the child's next life and on the way to it, beside what it tells itself.
            if description.mailbox != nil { mailbox?.add(snapshot.mailbox?.places ?? []) }
            mailbox?.add(host.waitingPlace)
            snapshot.mailbox = mailbox
        } catch let error as CoordinatorError where error.code == .unsupported {
            // A plain program has no coordinators in it.
        } catch {
            snapshot.isUnresponsive = true
        }
        // Looked at in the end, since the description may have taken its time.
        snapshot.executorSilence = host.executorSilence
        return snapshot
    }

    var handles: [AnyChild] { keys.compactMap { handle(of: $0) } }

    /// Returns a handle on a child; `nil` when there is none.
    func handle(of key: String) -> AnyChild? {
        typeName(of: key).map { AnyChild(supervisor: self, key: key, typeName: $0) }
    }

    /// Returns the name of a child's type; `nil` if there is no such child.
    func typeName(of key: String) -> String? { state.withLock { $0.known(key)?.value.definition.typeName } }

    func has(_ key: String) -> Bool { state.withLock { $0.known(key) != nil } }

    func snapshotState(of key: String) -> CoordinatorState {
        state.withLock { state in
            let machine = state.machine.state(of: key)
            return state.slots.with(key) { $0.state(machine) } ?? .inactive
        }
    }

    func incarnation(of key: String) -> UInt32 {
        withSlot(key) { $0.incarnation } ?? 0
    }

    /// Returns whether a child lives, or its next life is decided upon.
    func lives(_ key: String) -> Bool { state.withLock { $0.isAlive(key) } }
}

// MARK: - Operations for a path

extension ChildSupervisor {
    func operate(_ operation: Operation, on key: String, _ rest: ArraySlice<Substring>, budget: TimeoutBudget) async throws -> JSONValue {
        if !rest.isEmpty || operation == .counters || operation.isAboutFlows { return try await relay(operation, to: key, rest, budget) }
        if operation == .inspect { return try await snapshot(of: key, budget).encodedAsJSON() }
        // Nothing is asked of the child first, because it may hang, and be stopped or killed for that.
        let before = try summary(of: key).snapshot
        switch operation {
        case .inspect, .counters, .flows, .flow, .flowRecords: break
        case .start: try await startAgain(key)
        case .stop: try await stop(key, initiator: .operator, forgets: false)
        case .restart: try await restart(key)
        case .replace: try await replace(key)
        case .kill: try kill(key)
        case .reload: try await reload(key)
        case .pause:
            // Otherwise the child's next life would begin paused, long after the operator's request.
            guard before.state != .inactive, before.state != .failed else {
                throw CoordinatorError(.stopped, "\(path.appending(key)) isn't running: there is nothing to pause")
            }
            try await setPaused(true, for: key, initiator: .operator)
        case .resume: try await setPaused(false, for: key, initiator: .operator)
        }
        // The parent may have removed the child since.
        let after = (try? await snapshot(of: key, budget)) ?? before.ended
        return try after.encodedAsJSON()
    }

    func snapshots(_ budget: TimeoutBudget) async -> [CoordinatorSnapshot] {
        let described = keys.map { (key: $0, asksOthers: asksOthers(about: $0)) }
        var snapshots = [CoordinatorSnapshot?](repeating: nil, count: described.count)
        await withTaskGroup(of: (Int, CoordinatorSnapshot?).self) { group in
            for (index, child) in described.enumerated() where child.asksOthers {
                group.addTask { (index, try? await self.snapshot(of: child.key, budget)) }
            }
            for (index, child) in described.enumerated() where !child.asksOthers {
                snapshots[index] = try? await snapshot(of: child.key, budget)
            }
            for await (index, snapshot) in group { snapshots[index] = snapshot }
        }
        return snapshots.compactMap(\.self)
    }
}
