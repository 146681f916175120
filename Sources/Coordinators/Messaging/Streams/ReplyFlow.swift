import ConcurrencySupport
import DequeModule

/// The replies of a stream in transit to the asker: at most a window of them is unread.
///
/// The handler's side sends, and waits while the window is used up; the asker's side grants as it reads. Between two processes a flow
/// stands at each end, and grants travel as credit frames.
final class ReplyFlow: Sendable {
    /// The number of replies that may be unread.
    static let window = 64

    private struct State {
        var permits = ReplyFlow.window
        /// The number of replies that were handed on and not read yet.
        var unread = 0
        var waiters: Deque<OneShot<Void>> = []
        var hasPassed = false
        var isAccepted = false
        /// The function that passes grants on, where the handler is in another process or further up.
        var relay: (@Sendable (Int) -> Void)?
        /// The grants that came before `relay` was set.
        var early = 0
    }

    private let deliver: @Sendable (Answer) throws -> Void
    private let accepted: @Sendable () -> Void
    private let state = Lock(State())

    /// - Parameters:
    ///   - deliver: A function that hands a reply on towards the asker; it never waits.
    ///   - accepted: A function that tells the asker that its request is accepted, before there is a reply; called once at most.
    init(_ deliver: @escaping @Sendable (Answer) throws -> Void, accepted: @escaping @Sendable () -> Void = {}) {
        self.deliver = deliver
        self.accepted = accepted
    }

    /// Whether a reply has been handed on.
    var hasPassed: Bool { state.withLock { $0.hasPassed } }

    /// Tells the asker that its request is accepted, unless it knows.
    func accept() {
        let isFirst = state.withLock { state -> Bool in
            defer { state.isAccepted = true }
            return !state.isAccepted && !state.hasPassed
        }
        if isFirst { accepted() }
    }

    /// Sends a reply, after waiting for the asker to have room for it.
    ///
    /// - Throws: `CancellationError` when the asker reads no more.
    func send(_ answer: Answer) async throws {
        try await wait { state in
            guard state.permits > 0 else { return false }
            state.permits -= 1
            return true
        }
        try pass(answer)
    }

    /// Waits until the asker has read all replies.
    ///
    /// - Throws: `CancellationError` when the asker reads no more.
    func waitUntilRead() async throws { try await wait { $0.permits == Self.window } }

    /// Waits for grants until a condition is met.
    private func wait(until isMet: (inout State) -> Bool) async throws {
        while true {
            let turn = OneShot<Void>()
            let goesOn = state.withLock { state -> Bool in
                if isMet(&state) { return true }
                state.waiters.append(turn)
                return false
            }
            if goesOn { return }
            await withTaskCancellationHandler {
                await turn.value
            } onCancel: {
                turn.settle(())
            }
            try Task.checkCancellation()
        }
    }

    /// Hands on a reply that a flow nearer to the handler has let through.
    ///
    /// - Throws: `mailboxFull` when more replies are unread than two responders, asked one after the other, may have sent.
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

    /// Grants as many further replies as the asker has read, at most a window of them.
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
        // A waiter that was cancelled doesn't use up a grant.
        var granted = 0
        while granted < count, let next = state.withLock({ $0.waiters.popFirst() }) {
            if next.settle(()) { granted += 1 }
        }
    }

    /// Passes the asker's grants, from now on, to the flow nearer to the handler.
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
