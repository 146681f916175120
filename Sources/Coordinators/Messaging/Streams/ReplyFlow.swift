import ConcurrencySupport
import DequeModule

/// The replies of a stream on their way to the asker: at most a window of them is unread.
///
/// The handler's side sends, and waits while the window is used up; the asker's side grants as it reads. Between two processes a flow
/// stands at each end, and grants travel as credit frames.
final class ReplyFlow: Sendable {
    /// How many replies may be unread.
    static let window = 64

    private struct State {
        var permits = ReplyFlow.window
        /// Handed on, and not granted back.
        var unread = 0
        var waiters: Deque<OneShot<Void>> = []
        var hasPassed = false
        /// Where the handler is not in this process, or further up: who grants it.
        var relay: (@Sendable (Int) -> Void)?
        /// Granted before there was anybody to relay to.
        var early = 0
    }

    private let deliver: @Sendable (Answer) throws -> Void
    private let state = Lock(State())

    /// - Parameter deliver: hands a reply on towards the asker; never waits.
    init(_ deliver: @escaping @Sendable (Answer) throws -> Void) {
        self.deliver = deliver
    }

    /// Whether a reply has been handed on.
    var hasPassed: Bool { state.withLock { $0.hasPassed } }

    /// Sends a reply, after waiting for the asker to have room for it.
    ///
    /// - Throws: `CancellationError` when nobody wants it any more.
    func send(_ answer: Answer) async throws {
        while true {
            let turn = OneShot<Void>()
            let isFree = state.withLock { state -> Bool in
                if state.permits > 0 {
                    state.permits -= 1
                    return true
                }
                state.waiters.append(turn)
                return false
            }
            if isFree { break }
            await withTaskCancellationHandler {
                await turn.value
            } onCancel: {
                turn.settle(())
            }
            try Task.checkCancellation()
        }
        try pass(answer)
    }

    /// Hands on a reply that has been let through further away.
    ///
    /// - Throws: `mailboxFull` when as many are unread as two responders that are asked one after the other may have: it's a flood.
    func pass(_ answer: Answer) throws {
        let isFlooded = state.withLock { state -> Bool in
            guard state.unread < 2 * Self.window else { return true }
            state.unread += 1
            state.hasPassed = true
            return false
        }
        if isFlooded { throw CoordinatorError(.mailboxFull, "the responder has sent \(2 * Self.window) replies that were not read") }
        try deliver(answer)
    }

    /// The asker has read so many; more than there can be unread are none.
    func grant(_ count: Int) {
        let count = min(max(count, 0), Self.window)
        let relay = state.withLock { state -> (@Sendable (Int) -> Void)? in
            state.unread = max(state.unread - count, 0)
            if let relay = state.relay { return relay }
            state.permits = min(state.permits + count, Self.window)
            state.early = min(state.early + count, Self.window)
            return nil
        }
        if let relay { return relay(count) }
        // One that was cancelled takes nobody's turn.
        var granted = 0
        while granted < count, let next = state.withLock({ $0.waiters.popFirst() }) {
            if next.settle(()) { granted += 1 }
        }
    }

    /// From now on what the asker grants goes to the flow nearer to the handler.
    func relayGrants(to relay: @escaping @Sendable (Int) -> Void) {
        let early = state.withLock { state -> Int in
            state.relay = relay
            defer { state.early = 0 }
            return state.early
        }
        if early > 0 { relay(early) }
    }

    func relayGrants(to flow: ReplyFlow) {
        relayGrants { [weak flow] in flow?.grant($0) }
    }
}

/// The latest of several replies.
final class LastReply: Sendable {
    private let latest = Lock<Answer?>(nil)

    var reply: Answer? {
        get { latest.withLock { $0 } }
        set { latest.withLock { $0 = newValue } }
    }
}
