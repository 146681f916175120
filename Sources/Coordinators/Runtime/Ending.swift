import Synchronization

/// How something ended: settled once, waited for by anybody, before or after.
final class Ending<Outcome: Sendable>: Sendable {
    private enum State {
        case open([CheckedContinuation<Outcome, Never>])
        case settled(Outcome)
    }

    private let state = Mutex(State.open([]))

    /// Settles it, unless it's settled.
    ///
    /// - Returns: whether this call was the one.
    @discardableResult
    func settle(_ outcome: Outcome) -> Bool {
        let waiters = state.withLock { state -> [CheckedContinuation<Outcome, Never>]? in
            guard case .open(let waiters) = state else { return nil }
            state = .settled(outcome)
            return waiters
        }
        for waiter in waiters ?? [] { waiter.resume(returning: outcome) }
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
            await withCheckedContinuation { continuation in
                let outcome = state.withLock { state -> Outcome? in
                    switch state {
                    case .settled(let outcome): return outcome
                    case .open(let waiters):
                        state = .open(waiters + [continuation])
                        return nil
                    }
                }
                if let outcome { continuation.resume(returning: outcome) }
            }
        }
    }
}
