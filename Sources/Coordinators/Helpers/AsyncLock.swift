import DequeModule
import Synchronization

/// Lets one through at a time, in order of arrival, across suspensions.
final class AsyncLock: Sendable {
    private struct State {
        var isTaken = false
        var waiting: Deque<CheckedContinuation<Void, Never>> = []
    }

    private let state = Mutex(State())

    /// Runs an operation when those that came before have ended.
    func pass<Result: Sendable>(_ operation: @Sendable () async -> Result) async -> Result {
        await withCheckedContinuation { continuation in
            let isFree = state.withLock { state -> Bool in
                if state.isTaken {
                    state.waiting.append(continuation)
                    return false
                }
                state.isTaken = true
                return true
            }
            if isFree { continuation.resume() }
        }
        let result = await operation()
        state.withLock { state -> CheckedContinuation<Void, Never>? in
            let next = state.waiting.popFirst()
            if next == nil { state.isTaken = false }
            return next
        }?.resume()
        return result
    }
}

/// A turnstile that is made when somebody first passes: most are never passed.
struct LazyAsyncLock: ~Copyable, Sendable {
    private let lock = AtomicLazyReference<AsyncLock>()

    func pass<Result: Sendable>(_ operation: @Sendable () async -> Result) async -> Result {
        let lock = lock.load() ?? lock.storeIfNil(AsyncLock())
        return await lock.pass(operation)
    }
}
