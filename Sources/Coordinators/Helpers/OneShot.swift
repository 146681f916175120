import Synchronization

/// How something ended: settled once, waited for by anybody, before or after.
final class OneShot<Outcome: Sendable>: Sendable {
    private struct Waiter {
        let id: UInt64
        let continuation: CheckedContinuation<Outcome?, Never>
    }

    private enum State {
        case open([Waiter], next: UInt64)
        case settled(Outcome)
    }

    private let state = Mutex(State.open([], next: 0))

    /// Settles it, unless it's settled.
    ///
    /// - Returns: whether this call was the one.
    @discardableResult
    func settle(_ outcome: Outcome) -> Bool {
        let waiters = state.withLock { state -> [Waiter]? in
            guard case .open(let waiters, _) = state else { return nil }
            state = .settled(outcome)
            return waiters
        }
        for waiter in waiters ?? [] { waiter.continuation.resume(returning: outcome) }
        return waiters != nil
    }

    /// The outcome, if there is one yet.
    var outcome: Outcome? {
        state.withLock { state in
            if case .settled(let outcome) = state { outcome } else { nil }
        }
    }

    /// Waits for the outcome, whether the waiting task is cancelled or not.
    var value: Outcome {
        get async {
            // Without a time there is always an outcome.
            await wait { _ in }.unsafelyUnwrapped
        }
    }

    /// Waits for the outcome until a time, whether the waiting task is cancelled or not.
    func value(before time: MonotonicTime) async -> Outcome? {
        let timer = Mutex<Timers.Timer?>(nil)
        let outcome = await wait { id in
            let scheduled = Timers.shared.schedule(at: time) { self.giveUp(id) }
            timer.withLock { $0 = scheduled }
        }
        if let scheduled = timer.withLock({ $0 }) { Timers.shared.cancel(scheduled) }
        return outcome
    }

    private func wait(_ begun: (UInt64) -> Void) async -> Outcome? {
        await withCheckedContinuation { continuation in
            let (outcome, id) = state.withLock { state -> (Outcome?, UInt64) in
                switch state {
                case .settled(let outcome): return (outcome, 0)
                case .open(let waiters, let next):
                    state = .open(waiters + [Waiter(id: next, continuation: continuation)], next: next + 1)
                    return (nil, next)
                }
            }
            if let outcome { continuation.resume(returning: outcome) } else { begun(id) }
        }
    }

    private func giveUp(_ id: UInt64) {
        let waiter = state.withLock { state -> Waiter? in
            guard case .open(var waiters, let next) = state, let index = waiters.firstIndex(where: { $0.id == id }) else { return nil }
            let waiter = waiters.remove(at: index)
            state = .open(waiters, next: next)
            return waiter
        }
        waiter?.continuation.resume(returning: nil)
    }
}
