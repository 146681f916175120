import DequeModule

/// A lock that is held across suspensions: one operation runs at a time, in order of arrival.
package final class AsyncLock: Sendable {
    private struct State {
        var isTaken = false
        var waiting: Deque<CheckedContinuation<Void, Never>> = []

        mutating func takeIfFree() -> Bool {
            defer { isTaken = true }
            return !isTaken
        }
    }

    private let state = Lock(State())

    package init() {}

    /// Runs an operation when those that came before have ended.
    package func pass<Result: Sendable, Failure: Error>(
        _ operation: @Sendable () async throws(Failure) -> Result
    ) async throws(Failure) -> Result {
        await enter()
        defer { leave() }
        return try await operation()
    }

    /// Waits until those that came before have left; the caller has to leave, too.
    package func enter() async {
        if state.withLock({ $0.takeIfFree() }) { return }
        await withCheckedContinuation { continuation in
            let isFree = state.withLock { state -> Bool in
                let isFree = state.takeIfFree()
                if !isFree { state.waiting.append(continuation) }
                return isFree
            }
            if isFree { continuation.resume() }
        }
    }

    /// Lets the next one enter.
    package func leave() {
        state.withLock { state -> CheckedContinuation<Void, Never>? in
            let next = state.waiting.popFirst()
            if next == nil { state.isTaken = false }
            return next
        }?.resume()
    }
}
