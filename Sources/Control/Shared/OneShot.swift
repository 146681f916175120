import Synchronization

/// A value that is set once and may be waited for by many, before or after.
final class OneShot<Value: Sendable>: Sendable {
    private enum State {
        /// Nobody has set it. Can transition to: set.
        case open(waiters: [UInt64: CheckedContinuation<Value?, Never>], next: UInt64)
        /// Set for good.
        case set(Value)
    }

    private let state = Mutex(State.open(waiters: [:], next: 0))

    /// Sets the value; false when it was set before.
    @discardableResult
    func set(_ value: Value) -> Bool {
        let waiters = state.withLock { state -> [UInt64: CheckedContinuation<Value?, Never>]? in
            guard case .open(let waiters, _) = state else { return nil }
            state = .set(value)
            return waiters
        }
        guard let waiters else { return false }
        for waiter in waiters.values { waiter.resume(returning: value) }
        return true
    }

    /// Waits for the value; nil when the task is cancelled first.
    func value() async -> Value? {
        let ticket = state.withLock { state -> UInt64? in
            guard case .open(let waiters, let next) = state else { return nil }
            state = .open(waiters: waiters, next: next + 1)
            return next
        }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let answer = state.withLock { state -> Value?? in
                    switch state {
                    case .set(let value): return .some(.some(value))
                    case .open(var waiters, let next):
                        // Cancelled before this: the handler has run and found nobody to wake.
                        guard let ticket, !Task.isCancelled else { return .some(nil) }
                        waiters[ticket] = continuation
                        state = .open(waiters: waiters, next: next)
                        return nil
                    }
                }
                if let answer { continuation.resume(returning: answer) }
            }
        } onCancel: {
            guard let ticket else { return }
            let waiter = state.withLock { state -> CheckedContinuation<Value?, Never>? in
                guard case .open(var waiters, let next) = state else { return nil }
                let waiter = waiters.removeValue(forKey: ticket)
                state = .open(waiters: waiters, next: next)
                return waiter
            }
            waiter?.resume(returning: nil)
        }
    }
}
