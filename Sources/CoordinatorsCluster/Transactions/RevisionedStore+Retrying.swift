import ConcurrencySupport

extension RevisionedStore {
    /// Tries until an answer is there that another try wouldn't change, until the deadline, or until the task is cancelled.
    ///
    /// - Parameters:
    ///   - action: What is tried, in words that follow "could not".
    ///   - deadline: The time at which no further try begins, and the last one ends.
    ///   - attempt: One try, which gets the limit of its time.
    func retrying<Answer>(
        _ action: @autoclosure () -> String,
        until deadline: ContinuousClock.Instant,
        _ attempt: (_ limit: ContinuousClock.Instant) async throws(StoreError) -> Answer
    ) async throws(StoreError) -> Answer {
        var last: StoreError?
        var mayHaveHappened = false
        var pause = Duration.milliseconds(20)
        while true {
            let now = ContinuousClock.now
            guard !Task.isCancelled else { throw .cancelled(action(), mayHaveHappened: mayHaveHappened, cause: last) }
            guard now < deadline else { throw .late(action(), mayHaveHappened: mayHaveHappened, cause: last) }
            do throws(StoreError) {
                return try await attempt(min(deadline, now + tryLimit))
            } catch {
                mayHaveHappened = mayHaveHappened || error.mayHaveHappened
                guard error.isTransient else {
                    var error = error
                    error.mayHaveHappened = mayHaveHappened
                    throw error
                }
                last = error
            }
            // A cancellation ends the pause, and is seen at the next turn.
            try? await TimeSource.monotonic.sleep(until: .now + min(pause, max(deadline - .now, .zero)))
            pause = min(pause * 2, .milliseconds(500))
        }
    }
}

extension StoreError {
    static func cancelled(_ action: String, mayHaveHappened: Bool, cause: StoreError? = nil) -> StoreError {
        StoreError(
            code: .cancelled,
            message: "Could not \(action): the task was cancelled.",
            mayHaveHappened: mayHaveHappened,
            cause: cause
        )
    }

    static func late(_ action: String, mayHaveHappened: Bool, cause: StoreError?) -> StoreError {
        let reason = cause.map { " The last try: \($0)" } ?? " There was no time for a try."
        return StoreError(
            code: cause?.code ?? .timedOut,
            message: "Could not \(action) before the deadline.\(reason)",
            mayHaveHappened: mayHaveHappened,
            cause: cause
        )
    }
}
