/// What fails again and again, such as writes to a full disk: told once when it begins, and once when it's over, with what has failed meanwhile.
///
/// It's over when nothing has failed for the calm: a disk that has room for a line at times, and for none in between, is one trouble.
package final class Trouble<Cause: Sendable>: Sendable {
    /// What is told of.
    package enum Change: Sendable {
        /// The first failure.
        case began(Cause)
        /// Nothing has failed for the calm; also the number of failures, and of bytes, or whatever the caller counts, that they have cost.
        case ended(Cause, failures: Int, lost: Int64)
    }

    private struct State {
        /// The first failure of the present trouble.
        var cause: Cause?
        var failures = 0
        var lost: Int64 = 0
        /// The time since which nothing has failed.
        var calmSince: MonotonicTime?
    }

    private let calm: Duration
    private let tell: @Sendable (Change) -> Void
    private let state = Lock(State())

    /// - Parameter tell: Called in the order of the changes by the threads that report outcomes, and by that of the timers.
    package init(calm: Duration = .seconds(5), tell: @escaping @Sendable (Change) -> Void) { (self.calm, self.tell) = (calm, tell) }

    /// Takes note of a failure.
    package func failed(_ cause: Cause) {
        let isFirst = state.withLock { state in
            state.calmSince = nil
            state.failures += 1
            defer { state.cause = state.cause ?? cause }
            return state.cause == nil
        }
        if isFirst { tell(.began(cause)) }
    }

    /// Takes note of a success.
    ///
    /// - Parameter lost: What former failures have cost, as far as it's known by now.
    package func succeeded(lost: Int64 = 0) {
        let since = state.withLock { state -> MonotonicTime? in
            guard state.cause != nil else { return nil }
            state.lost += lost
            guard state.calmSince == nil else { return nil }
            state.calmSince = .now
            return state.calmSince
        }
        guard let since else { return }
        _ = Timers.shared.schedule(at: since + calm) { [weak self] in self?.end(since) }
    }

    private func end(_ since: MonotonicTime) {
        let ended = state.withLock { state -> Change? in
            guard let cause = state.cause, state.calmSince == since else { return nil }
            defer { state = State() }
            return .ended(cause, failures: state.failures, lost: state.lost)
        }
        if let ended { tell(ended) }
    }
}
