import ConcurrencySupport
import Coordinators
import DaemonConfiguration

extension ConfiguredChildren {
    /// Begins a life of the supervisor.
    ///
    /// - Returns: The children to be started, in start order, each with its first start.
    func startFirst(_ supervisor: any ConfiguredSupervisor) -> [(child: ConfiguredChild, start: FirstStart)] {
        let starting = children.startedBySupervisor
        return state.withLock { state in
            state.supervisor = supervisor
            for key in state.records.keys {
                state.records[key]?.isHeld = false
                state.records[key]?.hasCompleted = false
                state.records[key]?.isStopWanted = false
            }
            // A program that the former process has left began after its child's rest was written down, unless it was being stopped.
            let resting = state.resting.filter { $0.value.isHeld || $0.value.isStopped != false || !supervisor.goesOn($0.key) }
            let continuing = state.continuing
            (state.resting, state.continuing) = ([:], [])
            for (key, rest) in resting {
                state.records[key, default: Record()].isHeld = rest.isHeld
                state.records[key]?.lastExit = rest.lastExit
                state.records[key]?.hasCompleted = rest.hasCompleted ?? false
                // What a former version has left doesn't say so; it isn't known to have ended by itself then, unless it has completed.
                state.records[key]?.isStopWanted = rest.isStopped ?? (rest.hasCompleted != true)
                state.records[key]?.exitNumbers = rest.exitNumbers ?? ExitNumbers()
            }
            let order = state.dependencies.startOrder
            let children = Dictionary(state.children.map { ($0.key, $0) }) { first, _ in first }
            defer { hasBegun.settle() }
            // One that an operator has started goes on.
            return order.filter { starting.contains($0) || supervisor.goesOn($0) || continuing.contains($0) }.compactMap { key in
                guard let child = children[key], resting[key] == nil else { return nil }
                let start = FirstStart()
                state.records[key, default: Record()].start = start
                return (child, start)
            }
        }
    }

    /// Begins the first start of a child with its present definition.
    func beginStart(of key: String) -> FirstStart {
        let start = FirstStart()
        state.withLock { state in
            state.records[key, default: Record()].start = start
            state.records[key]?.isHeld = false
        }
        return start
    }

    /// Cancels the start of a child that still waits for its siblings.
    func cancelStart(of key: String) {
        let start = state.withLock { state in
            state.records[key]?.isHeld = false
            return state.records[key]?.start
        }
        start?.cancel()
    }

    /// Whether a start of the child waits for its siblings.
    func isWaiting(_ key: String) -> Bool { state.withLock { $0.records[key]?.start }?.isWaiting ?? false }

    /// Whether a child lives, or its next life is decided upon.
    func isRunning(_ key: String) -> Bool {
        switch supervisor?.state(of: key) {
        case nil, .inactive, .failed: false
        default: true
        }
    }

    /// Waits until the first start of a child was requested, if it's still to be.
    func waitForRequest(of key: String) async {
        await state.withLock { $0.records[key]?.start }?.requested.value
    }

    /// Waits until the starts of all children were requested, those in groups included.
    func waitForRequests() async {
        let (starts, groups) = state.withLock { state in
            (state.records.compactMapValues(\.start), state.records.compactMap { $1.start == nil ? nil : state.groups[$0] })
        }
        for start in starts.values { await start.requested.value }
        for group in groups { await group.areRequested.value }
    }

    /// Waits until each child that is started with the supervisor is ready, or isn't going to be.
    func waitForStarts() async {
        let starts = state.withLock { $0.records.values.compactMap(\.start) }
        for start in starts { _ = await start.concluded.value }
    }

    /// Ends a life of the supervisor, which no child of the list is known to any more.
    func end(_ supervisor: any ConfiguredSupervisor) {
        guard self.supervisor === supervisor else { return }
        endStarts()
        state.withLock { state in
            state.supervisor = nil
            for key in state.records.keys { state.records[key]?.start = nil }
        }
    }

    /// Ends the waits of a supervisor that ends.
    func endStarts() {
        let (starts, keys) = state.withLock { ($0.records.values.compactMap(\.start), Array($0.records.keys)) }
        for start in starts {
            start.cancel()
            start.requested.settle()
            start.concluded.settle(false)
        }
        for key in keys { endHealth(of: key) }
    }
}

// MARK: - Children that are held

extension ConfiguredChildren {
    /// Notes that a child doesn't run because one that it requires doesn't.
    func hold(_ key: String) {
        state.withLock { $0.records[key, default: Record()].isHeld = true }
    }

    /// Whether a child doesn't run because one that it requires doesn't.
    func isHeld(_ key: String) -> Bool { state.withLock { $0.records[key]?.isHeld ?? false } }

    /// Ends that a child is held.
    ///
    /// - Returns: Whether it was.
    func release(_ key: String) -> Bool {
        change(key) { record in
            defer { record.isHeld = false }
            return record.isHeld
        } ?? false
    }
}
