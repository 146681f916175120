import ConcurrencySupport
import Processes
import WireProtocol

extension ChildSupervisor {
    /// Starts a child, or joins the start or the life of one of the same type under the key, and returns when it's ready.
    ///
    /// Cancelling the task that waits removes the child that it wanted.
    ///
    /// - Parameters:
    ///   - end: settled when the child ends for good.
    ///   - isByParent: the coordinator itself has asked; it learns by return.
    /// - Returns: the tenure of the key, for a clean-up that must not touch a successor.
    @discardableResult
    func start(_ definition: ChildDefinition, end: ChildSlot.End? = nil, isByParent: Bool = true) async throws -> UInt64 {
        let key = definition.key
        try node.path.check(key)
        let start = ChildSlot.Start()
        // Requested before the first suspension: two starts that begin one after the other are in that order.
        let tenure = request(definition, start, end, isByParent)
        try await withTaskCancellationHandler {
            try await start.value.get()
        } onCancel: {
            cancel(start, of: key)
        }
        return tenure
    }

    private func request(
        _ definition: ChildDefinition,
        _ start: ChildSlot.Start,
        _ end: ChildSlot.End?,
        _ isByParent: Bool
    ) -> UInt64 {
        let key = definition.key
        var tenure: UInt64 = 0
        var former: [ChildSlot.Outcome] = []
        let (outcome, mustPerform) = state.withLock { state -> (Result<Void, any Error>?, Bool) in
            if state.isRefusing { return (.failure(CoordinatorError.hasStopped(node.path)), false) }
            if Task.isCancelled { return (.failure(CancellationError()), false) }
            if let slot = state.slots[key], state.isAlive(key) {
                guard slot.definition.typeName == definition.typeName else {
                    let message = "\(node.path.appending(key)) is a \(slot.definition.typeName), not a \(definition.typeName)"
                    return (.failure(CoordinatorError(.keyInUse, message)), false)
                }
            } else {
                former = state.prepareSlot(for: definition, under: node)
                state.slots[key]?.isStartedByParent = isByParent
            }
            tenure = state.slots[key]?.tenure ?? 0
            if let end { state.slots[key]?.ends.append(end) }
            if case .running = state.machine.state(of: key) { return (.success(()), false) }
            state.slots[key]?.starts.append(start)
            return (nil, state.apply(.startRequested(definition.specification)))
        }
        for outcome in former { outcome.tell() }
        if mustPerform { performDirectives() }
        if let outcome { start.settle(outcome) }
        return tenure
    }

    private func cancel(_ start: ChildSlot.Start, of key: String) {
        guard start.settle(.failure(CancellationError())) else { return }
        let mustPerform = state.withLock { state -> Bool in
            guard let starts = state.slots[key]?.starts, starts.contains(where: { $0 === start }) else { return false }
            state.slots[key]?.starts.removeAll { $0 === start }
            return starts.count > 1 ? false : state.apply(.removeRequested(key))
        }
        if mustPerform { performDirectives() }
    }

    /// Starts a child again that was stopped, as an operator does; one that waits for its restart is started at once.
    func startAgain(_ key: String) async throws {
        // One that the machine has forgotten is gone, though its slot may still be there for a moment.
        let (definition, waits) = state.withLock { state in
            (state.machine.state(of: key) == nil ? nil : state.slots[key]?.definition, state.isWaiting(key))
        }
        guard let definition else { throw noSuchChild(key) }
        if waits { return try await restart(key) }
        try await start(definition, isByParent: false)
    }

    /// Stops a child and returns when nothing is left of it.
    ///
    /// Not cancellable: a stop always wins.
    ///
    /// - Parameters:
    ///   - isByParent: the coordinator itself has asked; it learns by return.
    ///   - forgets: its key is free afterwards; otherwise an operator can start it again.
    ///   - tenure: nothing happens when somebody else has the key by now.
    func stop(_ key: String, isByParent: Bool, forgets: Bool, tenure: UInt64? = nil) async throws {
        let event = forgets ? Supervisor<String>.Event.removeRequested(key) : .stopRequested(key)
        let end = OneShot<Void>()
        let (isKnown, mustWait, mustPerform) = state.withLock { state -> (Bool, Bool, Bool) in
            guard let slot = state.slots[key], tenure == nil || slot.tenure == tenure else { return (false, false, false) }
            let incarnation = state.machine.state(of: key)?.incarnation ?? slot.incarnation
            let lives = state.isAlive(key) || state.isEnding(key)
            if lives {
                state.slots[key]?.stops.append(ChildSlot.Stop(incarnation: incarnation, end: end))
                state.slots[key]?.isStoppedByParent = isByParent
            }
            return (true, lives, state.apply(event))
        }
        guard isKnown else { throw noSuchChild(key) }
        if mustPerform { performDirectives() }
        if mustWait { await end.value }
    }

    /// Stops a child, in whatever state it is, and starts it anew; returns when it's ready.
    func restart(_ key: String) async throws {
        let start = ChildSlot.Start()
        let (isKnown, mustPerform) = state.withLock { state -> (Bool, Bool) in
            guard state.slots[key] != nil, !state.isRefusing else { return (false, false) }
            state.slots[key]?.starts.append(start)
            state.slots[key]?.phase = .pending(nextAttempt: nil)
            return (true, state.apply(.restartRequested(key)))
        }
        guard isKnown else { throw noSuchChild(key) }
        if mustPerform { performDirectives() }
        try await start.value.get()
    }

    /// Kills a child's process, as `kill -9` would; supervision takes its course.
    func kill(_ key: String) throws {
        guard let host = try host(of: key) else {
            throw CoordinatorError(.stopped, "\(node.path.appending(key)) isn't running")
        }
        try host.kill()
    }

    func host(of key: String) throws -> (any ChildHost)? {
        try state.withLock { state in
            guard let slot = state.slots[key] else { throw noSuchChild(key) }
            return slot.host
        }
    }

    func noSuchChild(_ key: String) -> CoordinatorError {
        CoordinatorError(.noSuchChild, "\(node.path) has no child '\(key)'")
    }
}

extension ChildSupervisor.State {
    /// A life has begun and not ended, or the next one is decided upon.
    func isAlive(_ key: String) -> Bool {
        switch machine.state(of: key) {
        case .starting, .running, .waiting: true
        case .stopping(_, then: let follow): follow == .start || follow == .restartWithSiblings
        case .stopped, nil: false
        }
    }

    /// It has failed, and its next life is decided upon and not begun.
    func isWaiting(_ key: String) -> Bool {
        if case .waiting = machine.state(of: key) { return true }
        return false
    }

    /// It's on its way to an end.
    func isEnding(_ key: String) -> Bool {
        if case .stopping = machine.state(of: key) { return true }
        return false
    }

    /// - Returns: who waits for the end of the former life, which is stopping, and must not get its successor's outcome.
    mutating func prepareSlot(for definition: ChildDefinition, under node: Node) -> [ChildSlot.Outcome] {
        let key = definition.key
        var former: [ChildSlot.Outcome] = []
        if slots[key] == nil {
            slots[key] = ChildSlot(definition)
            if node.isPaused { slots[key]?.pauseReasons = .cascade }
        } else {
            let error = CoordinatorError(.stopped, "\(node.path.appending(key)) was stopped, and is started anew")
            former = slots[key]?.takeEnds(otherwise: error) ?? []
            slots[key]?.pauseReasons = node.isPaused ? .cascade : []
            slots[key]?.definition = definition
            slots[key]?.output = nil
            slots[key]?.lastError = nil
            slots[key]?.phase = .pending(nextAttempt: nil)
        }
        lastTenure += 1
        slots[key]?.tenure = lastTenure
        return former
    }
}
