import ConcurrencySupport

extension Node {
    /// The situation of a parent when it starts a child.
    struct Situation {
        /// Whether the parent is paused, for any reason.
        let isPaused: Bool
        /// Whether its `start` hook runs, whose children end in reverse start order; those of a pool have no order.
        let isStarting: Bool
    }

    var situation: Situation {
        state.withLock { state in
            Situation(
                isPaused: state.life.phase == .active && !state.pauseReasons.isEmpty,
                isStarting: state.life.phase == .starting && !type.table.isPool
            )
        }
    }

    /// Replaces the reasons for which the coordinator is paused; returns when it and the coordinators below it have followed.
    ///
    /// New messages wait from the first reason on, until the last one is gone. Handlers that have begun go on, and so does control.
    func pause(for reasons: PauseReasons) async {
        await lock(\.transitions).pass { [self] in
            state.withLock { $0.pauseReasons = reasons }
            await followReasons()
        }
    }

    /// Pauses a coordinator that begins paused, because it was paused in its former life or its parent is.
    func beginPaused() async {
        if state.withLock({ $0.pauseReasons.isEmpty }) { return }
        await lock(\.transitions).pass { [self] in await followReasons() }
    }

    private func followReasons() async {
        let isPause = state.withLock { state -> Bool? in
            // While the coordinator starts, the reasons are only noted.
            guard state.life.phase == .active, state.mailbox.isPaused == state.pauseReasons.isEmpty else { return nil }
            if !state.mailbox.isPaused { state.mailbox.pause() }
            return !state.pauseReasons.isEmpty
        }
        switch isPause {
        case true?: await takeUpPause()
        case false?: await resume()
        case nil: break
        }
    }

    private func takeUpPause() async {
        await existingChildren?.cascade(isPaused: true)
        await runHook { await $0.paused() }
    }

    private func resume() async {
        await runHook { await $0.resumed() }
        await existingChildren?.cascade(isPaused: false)
        let draining = state.withLock { state -> Draining? in
            // The coordinator may have been paused again, or stopped; the former change waits for its turn.
            guard state.life.phase == .active else { return nil }
            state.mailbox.resume()
            return state.drainingToBegin()
        }
        if let draining { begin(draining) }
        callHeldTimers()
    }
}

/// The reasons why a coordinator is paused, which are kept apart.
///
/// Resuming a parent doesn't resume a child that was paused by name.
struct PauseReasons: OptionSet, Sendable, Hashable {
    let rawValue: UInt8

    /// The coordinator was paused by name.
    static let explicit = PauseReasons(rawValue: 1 << 0)
    /// An ancestor was paused.
    static let cascade = PauseReasons(rawValue: 1 << 1)

    /// The byte that represents a single reason in a frame.
    var wire: UInt8 { self == .explicit ? 0 : 1 }

    init(rawValue: UInt8) { self.rawValue = rawValue }

    init(wire: UInt8) { self = wire == 0 ? .explicit : .cascade }
}
