import ConcurrencySupport
import Processes
import WireProtocol

extension Node {
    /// Carries out an operator's request about a coordinator below this one; for the coordinator itself it can only describe.
    func operate(_ operation: Operation, on rest: ArraySlice<Substring>, budget: TimeoutBudget = .initial) async throws -> JSONValue {
        guard let key = rest.first.map(String.init) else {
            if operation == .counters { return try runtime.counts.counters.encodedAsJSON() }
            guard operation == .inspect else {
                throw CoordinatorError(
                    .unsupported,
                    "\(path) is this process's own coordinator: its parent has to \(operation.rawValue) it"
                )
            }
            return try await childSnapshots(budget).encodedAsJSON()
        }
        guard let children = existingChildren else { throw noSuchPath(key) }
        let rest = rest.dropFirst()
        if !rest.isEmpty || operation == .counters {
            return try await children.relay(operation, to: key, rest, budget)
        }
        if operation == .inspect { return try await children.snapshot(of: key, budget).encodedAsJSON() }
        // Nothing is asked of the child first: it may hang, and be stopped or killed for that.
        let before = try children.summary(of: key).snapshot
        switch operation {
        case .inspect, .counters: break
        case .start: try await children.startAgain(key)
        case .stop: try await children.stop(key, isByParent: false, forgets: false)
        case .restart: try await children.restart(key)
        case .kill: try children.kill(key)
        case .pause:
            // Otherwise its next life would come up paused, and who has asked for that is long gone.
            guard before.state != .inactive, before.state != .failed else {
                throw CoordinatorError(.stopped, "\(path.appending(key)) isn't running: there is nothing to pause")
            }
            try await children.pause(key, true, isByParent: false)
        case .resume: try await children.pause(key, false, isByParent: false)
        }
        // Whoever runs the child may have removed it since.
        let after = (try? await children.snapshot(of: key, budget)) ?? before.ended
        return try after.encodedAsJSON()
    }

    /// The children as they are now, with their subtrees; all processes below are asked at the same time.
    func childSnapshots(_ budget: TimeoutBudget = .initial) async -> [CoordinatorSnapshot] {
        guard let children = existingChildren else { return [] }
        let described = children.keys.map { (key: $0, asksOthers: children.asksOthers(about: $0)) }
        var snapshots = [CoordinatorSnapshot?](repeating: nil, count: described.count)
        await withTaskGroup(of: (Int, CoordinatorSnapshot?).self) { group in
            for (index, child) in described.enumerated() where child.asksOthers {
                group.addTask { (index, try? await children.snapshot(of: child.key, budget)) }
            }
            for (index, child) in described.enumerated() where !child.asksOthers {
                snapshots[index] = try? await children.snapshot(of: child.key, budget)
            }
            for await (index, snapshot) in group { snapshots[index] = snapshot }
        }
        return snapshots.compactMap(\.self)
    }
}

extension ChildSupervisor {
    var keys: [String] { state.withLock { $0.machine.ids } }

    /// Whether describing a child may take as long as a process below takes to answer.
    func asksOthers(about key: String) -> Bool {
        let (isInWorker, host) = state.withLock { ($0.slots[key]?.definition.isInWorker == true, $0.slots[key]?.host as? LocalHost) }
        return isInWorker || host?.coordinator?.existingChildren != nil
    }

    /// Has a child's process carry out a request; while it has none, or no link to it, because it's between two lives, that is waited for.
    func relay(_ operation: Operation, to key: String, _ rest: ArraySlice<Substring>, _ budget: TimeoutBudget) async throws -> JSONValue {
        let deadline = MonotonicTime.now + budget.duration
        while true {
            let wasBetweenLives = isBetweenLives(key)
            do {
                return try await livingHost(of: key).operate(operation, on: rest, budget: budget)
            } catch let error as CoordinatorError where error.code == .peerLost || error.code == .stopped || error.code == .noSuchPath {
                // What may have been carried out is asked for again only where twice is as good as once.
                let mayRepeat = !error.maybeExecuted || operation != .restart && operation != .kill
                // A life that has only begun may not have started its children yet.
                let isWaitedFor = wasBetweenLives || error.code != .noSuchPath && isBetweenLives(key)
                guard mayRepeat, isWaitedFor, MonotonicTime.now < deadline else { throw error }
                try await Task.sleep(for: .milliseconds(20))
            }
        }
    }

    private func isBetweenLives(_ key: String) -> Bool {
        state.withLock { state in
            guard state.isAlive(key), case .pending(nextAttempt: nil) = state.slots[key]?.phase else { return false }
            return true
        }
    }

    func livingHost(of key: String) throws -> any ChildHost {
        guard let host = try pathHost(of: key) else { throw CoordinatorError(.stopped, "\(node.path.appending(key)) isn't running") }
        return host
    }

    func pathHost(of key: String) throws -> (any ChildHost)? {
        do { return try host(of: key) } catch { throw node.noSuchPath(key) }
    }

    /// What is known here of a child, without those below it.
    func summary(of key: String) throws -> (snapshot: CoordinatorSnapshot, host: (any ChildHost)?) {
        let found = state.withLock { state -> (CoordinatorSnapshot, (any ChildHost)?)? in
            guard let slot = state.slots[key] else { return nil }
            return (slot.snapshot(at: node.path.appending(key), state.machine.state(of: key)), slot.host)
        }
        guard let found else { throw node.noSuchPath(key) }
        return found
    }

    func snapshot(of key: String, _ budget: TimeoutBudget) async throws -> CoordinatorSnapshot {
        var (snapshot, host) = try summary(of: key)
        guard let host, snapshot.state == .active || snapshot.state == .paused else { return snapshot }
        do {
            let value = try await host.operate(.inspect, on: [], budget: budget)
            snapshot.children = try [CoordinatorSnapshot](decoding: value)
        } catch let error as CoordinatorError where error.code == .unsupported {
            // A plain program has no coordinators in it.
        } catch {
            snapshot.isUnresponsive = true
        }
        return snapshot
    }
}

extension ChildSlot {
    fileprivate func snapshot(at path: CoordinatorPath, _ machine: ChildState?) -> CoordinatorSnapshot {
        let placement: CoordinatorSnapshot.Placement =
            switch definition.kind {
            case .program: .program
            case .coordinator: definition.isInWorker ? .worker : .inProcess
            }
        return CoordinatorSnapshot(
            path: path,
            type: definition.typeName,
            state: state(machine),
            placement: placement,
            processID: host?.process?.processID,
            processStartTime: host?.process?.startTime,
            incarnation: incarnation,
            restarts: restarts,
            restartAttempt: machine?.restartAttempt,
            nextStartMilliseconds: machine?.nextStart.map { max(0, ($0 - MonotonicTime.now.sinceOrigin).nanosecondsClamped / 1_000_000) },
            uptimeMilliseconds: readySince.map { Int64((MonotonicTime.now - $0).nanosecondsClamped / 1_000_000) },
            lastExit: lastExit?.description,
            isUnresponsive: false,
            children: []
        )
    }
}

extension ChildState {
    fileprivate var restartAttempt: Int? {
        if case .waiting(_, let attempt) = self { attempt } else { nil }
    }

    fileprivate var nextStart: Duration? {
        if case .waiting(let time, _) = self { time } else { nil }
    }
}

extension CoordinatorSnapshot {
    /// What is left to say of it when it's gone.
    fileprivate var ended: CoordinatorSnapshot {
        var ended = self
        ended.state = .inactive
        (ended.processID, ended.processStartTime, ended.uptimeMilliseconds, ended.children) = (nil, nil, nil, [])
        // The exit that was the last one then isn't any more.
        (ended.restartAttempt, ended.nextStartMilliseconds, ended.lastExit) = (nil, nil, nil)
        return ended
    }
}
