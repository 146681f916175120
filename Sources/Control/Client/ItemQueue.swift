import ConcurrencySupport
import WireProtocol

/// The items of a stream that a client has received and not used yet.
///
/// When too many wait, the client reads no further answer of its connection, so that the daemon's sending waits.
final class ItemQueue: Sendable {
    typealias Outcome = Result<JSONValue, ControlError>

    enum Next {
        case items([JSONValue])
        case end(Outcome)
        /// The waiting task was cancelled.
        case cancelled
    }

    private struct State {
        var messages: [[JSONValue]] = []
        var end: Outcome?
        var isAbandoned = false
        /// The signal that there is something to be taken.
        var filled: OneShot<Void>?
        /// The signal that there is room.
        var emptied: OneShot<Void>?
    }

    /// The number of messages that may wait.
    private static let capacity = 16

    private let state = Lock(State())

    /// Whether items wait.
    var hasUnread: Bool { state.withLock { !$0.messages.isEmpty } }

    /// Adds items, and returns when there is room for more.
    func put(_ items: [JSONValue]) async {
        let (filled, emptied) = state.withLock { state -> (OneShot<Void>?, OneShot<Void>?) in
            guard !state.isAbandoned else { return (nil, nil) }
            state.messages.append(items)
            if state.messages.count >= Self.capacity { state.emptied = OneShot() }
            defer { state.filled = nil }
            return (state.filled, state.emptied)
        }
        filled?.settle()
        _ = await emptied?.valueUnlessCancelled()
    }

    func end(_ outcome: Outcome) {
        let filled = state.withLock { state in
            state.end = state.end ?? outcome
            defer { state.filled = nil }
            return state.filled
        }
        filled?.settle()
    }

    /// Drops all items, also those that come later.
    func abandon() {
        let emptied = state.withLock { state in
            state.isAbandoned = true
            state.messages = []
            defer { state.emptied = nil }
            return state.emptied
        }
        emptied?.settle()
    }

    /// Waits for the next items, or the end after all of them.
    func next() async -> Next {
        while true {
            let filled = OneShot<Void>()
            let (next, emptied) = state.withLock { state -> (Next?, OneShot<Void>?) in
                if !state.messages.isEmpty {
                    let items = state.messages.removeFirst()
                    defer { state.emptied = nil }
                    return (.items(items), state.emptied)
                }
                if let end = state.end { return (.end(end), nil) }
                state.filled = filled
                return (nil, nil)
            }
            emptied?.settle()
            if let next { return next }
            if await filled.valueUnlessCancelled() == nil { return .cancelled }
        }
    }
}
