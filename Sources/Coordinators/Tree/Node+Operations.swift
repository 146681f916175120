import Processes
import Synchronization
import WireProtocol

extension Node {
    /// Carries out an operator's request about a coordinator below this one; for the coordinator itself it can only describe.
    func operate(_ operation: Operation, on rest: ArraySlice<Substring>) async throws -> JSONValue {
        guard let key = rest.first.map(String.init) else {
            if operation == .counters { return try runtime.counts.counters.encodedAsJSON() }
            guard operation == .inspect else {
                throw CoordinatorError(
                    .unsupported,
                    "\(path) is this process's own coordinator: its parent has to \(operation.rawValue) it"
                )
            }
            return try await childSnapshots().encodedAsJSON()
        }
        guard let children = existingChildren else { throw noSuchPath(key) }
        let rest = rest.dropFirst()
        guard rest.isEmpty else {
            guard let host = try children.pathHost(of: key) else {
                throw CoordinatorError(.stopped, "\(path.appending(key)) isn't running")
            }
            return try await host.operate(operation, on: rest)
        }
        let before = try await children.snapshot(of: key)
        switch operation {
        case .inspect: return try before.encodedAsJSON()
        case .start: try await children.startAgain(key)
        case .stop: try await children.stop(key, isByParent: false, forgets: false)
        case .restart: try await children.restart(key)
        case .kill: try children.kill(key)
        case .pause: try await children.pause(key, true, isByParent: false)
        case .resume: try await children.pause(key, false, isByParent: false)
        case .counters:
            guard let host = try children.pathHost(of: key) else {
                throw CoordinatorError(.stopped, "\(path.appending(key)) isn't running")
            }
            return try await host.operate(.counters, on: [])
        }
        // Whoever runs the child may have removed it since.
        let after = (try? await children.snapshot(of: key)) ?? before.ended
        return try after.encodedAsJSON()
    }

    /// The children as they are now, with their subtrees.
    func childSnapshots() async -> [CoordinatorSnapshot] {
        guard let children = existingChildren else { return [] }
        var snapshots: [CoordinatorSnapshot] = []
        for key in children.keys {
            if let snapshot = try? await children.snapshot(of: key) { snapshots.append(snapshot) }
        }
        return snapshots
    }
}

extension ChildSupervisor {
    /// How long a process may take to describe its part of the tree.
    private static let inspectionTimeout = Duration.seconds(1)

    var keys: [String] { state.withLock { $0.machine.ids } }

    func pathHost(of key: String) throws -> (any ChildHost)? {
        do { return try host(of: key) } catch { throw node.noSuchPath(key) }
    }

    func snapshot(of key: String) async throws -> CoordinatorSnapshot {
        let found = state.withLock { state -> (CoordinatorSnapshot, (any ChildHost)?)? in
            guard let slot = state.slots[key] else { return nil }
            return (slot.snapshot(at: node.path.appending(key), state.machine.state(of: key)), slot.host)
        }
        guard let (found, host) = found else { throw node.noSuchPath(key) }
        var snapshot = found
        guard let host, snapshot.state == .active || snapshot.state == .paused else { return snapshot }
        do {
            let value = try await host.operate(.inspect, on: [])
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
            case .coordinator(let coordinator):
                if case .worker = coordinator.place { .worker } else { .inProcess }
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
            uptimeMilliseconds: readySince.map { Int64((MonotonicTime.now - $0).nanosecondsClamped / 1_000_000) },
            lastExit: lastExit?.description,
            isUnresponsive: false,
            children: []
        )
    }
}

extension CoordinatorSnapshot {
    /// What is left to say of it when it's gone.
    fileprivate var ended: CoordinatorSnapshot {
        var ended = self
        ended.state = .inactive
        (ended.processID, ended.processStartTime, ended.uptimeMilliseconds, ended.children) = (nil, nil, nil, [])
        return ended
    }
}
