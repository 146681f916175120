import Synchronization

/// Something that happens once: whoever waits for it before goes on then, whoever waits after goes on at once.
final class OneTimeSignal: Sendable {
    private struct State {
        var hasHappened = false
        var next = 0
        var waiters: [Int: CheckedContinuation<Void, Never>] = [:]
    }

    private let state = Mutex(State())

    /// Whether it has happened.
    var isSent: Bool { state.withLock { $0.hasHappened } }

    /// It happens; the second time does nothing.
    func send() {
        let waiters = state.withLock { state in
            state.hasHappened = true
            defer { state.waiters = [:] }
            return state.waiters
        }
        for waiter in waiters.values { waiter.resume() }
    }

    /// Waits until it has happened, or the waiting task is cancelled.
    func wait() async {
        let id = state.withLock { state in
            state.next += 1
            return state.next
        }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isOver = state.withLock { state in
                    if state.hasHappened || Task.isCancelled { return true }
                    state.waiters[id] = continuation
                    return false
                }
                if isOver { continuation.resume() }
            }
        } onCancel: {
            state.withLock { $0.waiters.removeValue(forKey: id) }?.resume()
        }
    }
}
