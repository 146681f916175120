import Synchronization

/// A message that was dropped, and why.
struct DeadLetter: Sendable, Hashable {
    enum Reason: Sendable, Hashable {
        case handlerFailed(String)
        case undeliverable(String)
    }

    let message: String
    let sender: CoordinatorPath
    let target: CoordinatorPath
    let reason: Reason
}

/// Counts every drop, and keeps the latest.
final class DeadLetters: Sendable {
    static let kept = 256

    private struct State {
        var count: UInt64 = 0
        var latest: [DeadLetter] = []
    }

    private let state = Mutex(State())

    var count: UInt64 { state.withLock { $0.count } }
    var latest: [DeadLetter] { state.withLock { $0.latest } }

    func record(_ letter: DeadLetter) {
        state.withLock { state in
            state.count += 1
            if state.latest.count == Self.kept { state.latest.removeFirst() }
            state.latest.append(letter)
        }
    }
}
