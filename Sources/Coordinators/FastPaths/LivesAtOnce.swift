// Saves: 53 % of the time of a start within the process: 13.3 us without it, 6.3 us with it; `becameReady` alone 30 %. 67 % of that of a stop
// that has nothing to wait for: 13.8 us without it, 4.5 us with it. (Since then both have become twice as fast, by what isn't here.)
// Measured: `Measure starts count=20000`, five rounds in turn; each when it was made.
// Off: COORDINATORS_SLOW_PATH_ONLY: each start and each stop has a task, and a start is reported through the supervisor's outbox.

import ConcurrencySupport

extension CoordinatorType {
    /// Whether the start of such a coordinator is known to have nothing to wait for: it has no `start` hook, no scene and no
    /// flow in a store.
    var startsAtOnce: Bool { lacks(.start) && !ownsScene && !isDurable }
}

extension CoordinatorCell {
    /// Creates a coordinator and makes it active, in the caller's thread.
    ///
    /// - Returns: What is left to be done by `proceed`; `nil` when the coordinator is ready.
    func startAtOnce(_ configuration: ConfigurationValue) -> RestOfStart? {
        do {
            // What a coordinator begins is no part of the handler that starts it.
            guard let paused = try HandlerScope.perform(in: nil, { try becomeActive(configuration) }) else {
                return becomeReady() ? nil : { @Sendable in }
            }
            return { try await self.proceed(paused) }
        } catch {
            return { throw error }
        }
    }

    /// Concludes a start that took no time.
    ///
    /// - Returns: False when the coordinator was told to stop meanwhile.
    private func becomeReady() -> Bool {
        let (isReady, earlyEnd) = state.withLock { state -> (Bool, ExitReason?) in
            guard case .beginning(let beginning) = state.life.hostPhase, beginning?.value.shutdown == nil else { return (false, nil) }
            state.life.hostPhase = .ready
            return (true, beginning?.value.earlyEnd)
        }
        if let earlyEnd { endByItself(earlyEnd) }
        return isReady
    }

    /// Creates a coordinator whose type starts at once, and makes it active.
    ///
    /// - Returns: The coordinator, if it begins paused: the caller then has to call ``proceed(_:)``.
    private func becomeActive(_ configuration: ConfigurationValue) throws -> (any Coordinator)? {
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
        guard case .starting(let life) = phase, storedRecord.existing?.value.isEmptyButForStarts ?? true, startInitiator == .parent else {
            return nil
        }
        phase = .active(Occupant(host: life.host, readySince: life.host.readyBefore ?? time))
        startInitiator = nil
        return takeStarts()
    }
}

// MARK: - Stops

extension CoordinatorCell {
    /// Ends a coordinator that is ready and has nothing to wait for, in the caller's thread, and tells its owner.
    ///
    /// - Returns: False when there may be something to wait for.
    func endAtOnce(_ shutdown: Shutdown) -> Bool {
        guard type.endsAtOnce, !shutdown.drains else { return false }
        let instance = state.withLock { state -> (any Coordinator)? in
            guard case .ready = state.life.hostPhase, state.hasNothingToEnd else { return nil }
            (state.life.phase, state.life.hostPhase, state.life.cancelsHandlers) = (.stopped, .over, true)
            state.mailbox.close()
            return state.life.instance.take()
        }
        if instance == nil { return false }
        endOpenAsks()
        report(.exited(.shutdown))
        return true
    }
}

extension CoordinatorType {
    /// Whether the end of such a coordinator is known to have nothing to wait for but its children and its handlers, nor anything to put away.
    fileprivate var endsAtOnce: Bool { stopsAtOnce && !isDurable }
}

extension CoordinatorCell.State {
    /// Whether the coordinator has no children, no messages and nothing of a feature, and runs no code that is known of.
    fileprivate var hasNothingToEnd: Bool {
        life.phase == .active && supervision == nil && !hasExtras && handlers.running.isEmpty && runTask == nil && mailbox.isIdle
            && mailbox.reserved.count == 0
    }
}
