import ConcurrencySupport

/// A gate that holds callers back until it's opened, or until they are cancelled.
final class LifecycleGate: Sendable {
    private struct State {
        var isOpen = false
        var waiting: [Int: AsyncStream<Void>.Continuation] = [:]
        var number = 0
    }

    private let state = Lock(State())

    /// The number of callers that are held back.
    var waiting: Int { state.withLock { $0.waiting.count } }

    func pass() async {
        let (stream, continuation) = AsyncStream<Void>.makeStream()
        let number = state.withLock { state -> Int? in
            guard !state.isOpen else { return nil }
            state.number += 1
            state.waiting[state.number] = continuation
            return state.number
        }
        guard let number else { return }
        for await _ in stream {}
        state.withLock { state in state.waiting[number] = nil }
    }

    func open() {
        let waiting = state.withLock { state in
            state.isOpen = true
            return Array(state.waiting.values)
        }
        for continuation in waiting { continuation.finish() }
    }

    /// Holds the next callers back again.
    func close() { state.withLock { $0.isOpen = false } }
}
