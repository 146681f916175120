import ConcurrencySupport

extension Node {
    /// Whether the coordinator is paused, for whatever reason.
    var isPaused: Bool { state.withLock { $0.life.phase == .active && !$0.pauseReasons.isEmpty } }

    /// Gives the coordinator these reasons to be paused, instead of those that it had; returns when it and those below it have followed.
    ///
    /// New messages wait from the first reason on, until the last is gone; what has begun goes on, and so does control.
    func pause(for reasons: PauseReasons) async {
        await transitions.pass { [self] in
            let change = state.withLock { state -> Bool? in
                let former = state.pauseReasons
                state.pauseReasons = reasons
                // While it starts they are only noted down.
                guard state.life.phase == .active, former.isEmpty != reasons.isEmpty else { return nil }
                if former.isEmpty { state.mailbox.pause() }
                return former.isEmpty
            }
            switch change {
            case true?: await takeUpPause()
            case false?: await resume()
            case nil: break
            }
        }
    }

    /// A coordinator that was paused in its former life, or whose parent is, begins this one paused.
    func beginPaused() async {
        if state.withLock({ $0.pauseReasons.isEmpty }) { return }
        await transitions.pass { [self] in
            let isPaused = state.withLock { state -> Bool in
                // The coordinator may have been paused since it became active.
                guard state.life.phase == .active, !state.pauseReasons.isEmpty, !state.mailbox.isPaused else { return false }
                state.mailbox.pause()
                return true
            }
            if isPaused { await takeUpPause() }
        }
    }

    private func takeUpPause() async {
        await existingChildren?.cascade(isPaused: true)
        await runHook { await $0.pause() }
    }

    private func resume() async {
        await runHook { await $0.resume() }
        await existingChildren?.cascade(isPaused: false)
        let instance = state.withLock { state -> (any Coordinator)? in
            // It may have been paused again, or stopped; the former waits for its turn.
            guard state.life.phase == .active else { return nil }
            state.mailbox.resume()
            return state.instanceToDrain()
        }
        if let instance { beginDraining(instance) }
    }
}
