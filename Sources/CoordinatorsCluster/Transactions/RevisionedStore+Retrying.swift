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
        var tries = Tries(deadline: deadline)
        while true {
            let limit = try tries.next(action, within: tryLimit)
            do throws(StoreError) { return try await attempt(limit) } catch { try tries.failed(error) }
            // A cancellation ends the pause, and is seen at the next turn.
            try? await TimeSource.monotonic.sleep(until: .now + tries.pause)
        }
    }
}

/// The tries of one call of a store.
private struct Tries {
    let deadline: ContinuousClock.Instant
    private var last: StoreError?
    private var mayHaveHappened = false
    /// The time before the next try.
    private(set) var pause = Duration.zero

    init(deadline: ContinuousClock.Instant) { self.deadline = deadline }

    /// Returns the limit of the next try's time.
    ///
    /// Not inlined: each call of a store would have a copy.
    ///
    /// - Throws: What the call ends with when there is no further try.
    @inline(never)
    func next(_ action: () -> String, within limit: Duration) throws(StoreError) -> ContinuousClock.Instant {
        let now = ContinuousClock.now
        guard !Task.isCancelled else { throw .cancelled(action(), mayHaveHappened: mayHaveHappened, cause: last) }
        guard now < deadline else { throw .late(action(), mayHaveHappened: mayHaveHappened, cause: last) }
        return min(deadline, now + limit)
    }

    /// Takes note of a try that has failed.
    ///
    /// - Throws: The failure, when another try wouldn't change it.
    @inline(never)
    mutating func failed(_ error: StoreError) throws(StoreError) {
        mayHaveHappened = mayHaveHappened || error.mayHaveHappened
        guard error.isTransient else {
            var error = error
            error.mayHaveHappened = mayHaveHappened
            throw error
        }
        last = error
        pause = min(max(pause * 2, .milliseconds(20)), .milliseconds(500), max(deadline - .now, .zero))
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
