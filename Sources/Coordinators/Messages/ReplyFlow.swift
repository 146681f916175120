import ConcurrencySupport
import DequeModule

/// The replies of a stream in transit to the asker: at most a window of them is unread.
///
/// The handler's side sends, and waits while the window is used up; the asker's side grants as it reads. Between two processes a flow
/// stands at each end, and grants travel as credit frames. Replies are read in order, so that a number of them says also how many bytes were
/// read.
final class ReplyFlow: Sendable {
    /// The number of replies that may be unread.
    static let window = 64
    /// The number of bytes of large replies that may be unread; one more reply may exceed it.
    static let largeWindow = 16 << 20
    /// The size from which on a reply is large: as many smaller ones as may be unread have no more bytes than the large ones.
    static let largeSize = largeWindow / window
    /// The number of bytes of large replies of the other side from which on no further reply is taken.
    ///
    /// Two responders, asked one after the other, may have sent as many as are allowed, and a responder of a process that counts replies alone may
    /// have sent as many frames as it may.
    static let receivedLimit = 2 * window << 20

    private struct State {
        var permits = ReplyFlow.window
        /// The number of replies that were handed on.
        var passed = 0
        /// The number of those that were read.
        var read = 0
        /// The large replies that were not read yet, by their place among all, counted from 0.
        var large: Deque<(place: Int, size: Int)> = []
        /// The number of their bytes.
        var largeBytes = 0
        var waiters: Deque<OneShot<Void>> = []
        var hasPassed = false
        var isAccepted = false
        /// The function that passes grants on, where the handler is in another process or further up.
        var relay: (@Sendable (Int) -> Void)?
        /// The grants that came before `relay` was set.
        var early = 0

        var unread: Int { passed - read }

        /// Takes room for one reply, if there is some.
        mutating func takePermit() -> Bool {
            guard permits > 0, largeBytes < ReplyFlow.largeWindow else { return false }
            permits -= 1
            return true
        }

        /// Takes note that replies were read.
        ///
        /// - Returns: Whether there is room again for bytes.
        mutating func noteRead(_ count: Int) -> Bool {
            read = min(read + count, passed)
            let former = largeBytes
            while let next = large.first, next.place < read {
                large.removeFirst()
                largeBytes -= next.size
            }
            return former >= ReplyFlow.largeWindow && largeBytes < ReplyFlow.largeWindow
        }
    }

    private let deliver: @Sendable (Answer) throws -> Int
    private let accepted: @Sendable () -> Void
    private let state = Lock(State())

    /// - Parameters:
    ///   - deliver: A function that hands a reply on towards the asker, and returns its size in bytes, as far as it's encoded; it never waits.
    ///   - accepted: A function that tells the asker that its request is accepted, before there is a reply; called once at most.
    init(_ deliver: @escaping @Sendable (Answer) throws -> Int, accepted: @escaping @Sendable () -> Void = {}) {
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
        try await wait { $0.takePermit() }
        try pass(answer)
    }

    /// Sends a reply, if the asker has room for it at present.
    ///
    /// - Returns: Whether it was sent.
    func sendIfRoom(_ answer: Answer) throws -> Bool {
        guard state.withLock({ $0.takePermit() }) else { return false }
        try pass(answer)
        return true
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
    /// - Returns: The size of the reply in bytes, as far as it was encoded.
    /// - Throws: `mailboxFull` when more replies are unread than two responders, asked one after the other, may have sent.
    @discardableResult
    func pass(_ answer: Answer) throws -> Int {
        let (place, flood) = state.withLock { state -> (Int, String?) in
            if state.unread >= 2 * Self.window { return (0, "\(state.unread) replies") }
            if state.largeBytes >= Self.receivedLimit { return (0, "\(state.largeBytes) bytes of replies") }
            defer { state.passed += 1 }
            state.hasPassed = true
            return (state.passed, nil)
        }
        if let flood { throw CoordinatorError(.mailboxFull, "the responder has sent \(flood) that were not read") }
        let size: Int
        do {
            size = try deliver(answer)
        } catch {
            // It isn't on its way, and so nobody reads it.
            grant(1)
            throw error
        }
        if size > Self.largeSize {
            state.withLock { state in
                // It may have been read meanwhile.
                guard place >= state.read else { return }
                state.large.append((place, size))
                state.largeBytes += size
            }
        }
        return size
    }

    /// Grants as many further replies as the asker has read, at most a window of them.
    func grant(_ count: Int) {
        let count = min(max(count, 0), Self.window)
        let (relay, turns) = state.withLock { state -> ((@Sendable (Int) -> Void)?, Int) in
            let hasRoom = state.noteRead(count)
            if let relay = state.relay { return (relay, 0) }
            state.permits = min(state.permits + count, Self.window)
            state.early = min(state.early + count, Self.window)
            // Replies that have waited for bytes have their permits.
            return (nil, hasRoom ? state.permits : count)
        }
        if let relay { return relay(count) }
        // A waiter that was cancelled doesn't use up a grant.
        var granted = 0
        while granted < turns, let next = state.withLock({ $0.waiters.popFirst() }) {
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
