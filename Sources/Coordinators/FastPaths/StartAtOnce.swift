// Saves: 53 % of the time of a start within the process: 13.3 us without it, 6.3 us with it; `becameReady` alone 30 %.
// Measured: `Measure starts count=20000`, five rounds in turn.
// Off: COORDINATORS_SLOW_PATH_ONLY: each start has a task, and is reported through the supervisor's outbox.

import ConcurrencySupport

extension CoordinatorType {
    /// Whether the start of such a coordinator is known to have nothing to wait for: it has no `start` hook, no scene and no
    /// flow in a store.
    var startsAtOnce: Bool { lacks(.start) && !ownsScene && !isDurable }
}

extension LocalHost {
    /// Creates a coordinator and makes it active, in the caller's thread.
    ///
    /// - Returns: What is left to be done by `proceed`; `nil` when the coordinator is ready.
    func startAtOnce(_ cell: CoordinatorCell, _ configuration: ConfigurationValue, within limit: Duration) -> RestOfStart? {
        do {
            // What a coordinator begins is no part of the handler that starts it.
            guard let paused = try HandlerScope.perform(in: nil, { try cell.startAtOnce(configuration) }) else {
                return becomeReady() ? nil : .work(cell, within: limit) {}
            }
            return .work(cell, within: limit) { try await cell.proceed(paused) }
        } catch {
            return .work(cell, within: limit) { throw error }
        }
    }

    /// Concludes a start that took no time.
    ///
    /// - Returns: False when the host was told to stop meanwhile.
    private func becomeReady() -> Bool {
        let (isReady, earlyEnd) = state.withLock { state -> (Bool, ExitReason?) in
            guard case .beginning(let beginning) = state.phase, beginning.value.shutdown == nil else { return (false, nil) }
            state.phase = .ready
            return (true, beginning.value.earlyEnd)
        }
        if let earlyEnd { endByItself(earlyEnd) }
        return isReady
    }
}

extension CoordinatorCell {
    /// Creates a coordinator whose type starts at once, and makes it active.
    ///
    /// - Returns: The coordinator, if it begins paused: the caller then has to call ``proceed(_:)``.
    fileprivate func startAtOnce(_ configuration: ConfigurationValue) throws -> (any Coordinator)? {
        let instance = try make(configuration)
        switch store(instance, isReady: true) {
        case .active:
            beginRunHook(instance)
            return nil
        case .starting: return instance
        case .draining, .stopping, .stopped: throw CoordinatorError.hasStopped(path)
        }
    }
}

extension ChildSlot {
    /// Makes a life active whose start concerns only the calls that wait for it.
    ///
    /// - Returns: Those calls; `nil` when the start has to be reported to others too, or messages wait for the child.
    mutating func becameReady(at time: MonotonicTime) -> [Start]? {
        guard case .starting(let life) = phase, storedRecord.isEmpty, startInitiator == .parent else { return nil }
        phase = .active(Occupant(host: life.host, readySince: life.host.readyBefore ?? time))
        startInitiator = nil
        defer { starts = [] }
        return starts
    }
}
