import ConcurrencySupport
import DequeModule

/// The replies to a message that may be answered more than once.
///
///     for try await products in context.stream(Catalog.Promoted()) { show(products) }
///
/// At most 64 replies are unread; then the responder waits. One in another process waits also while 16 MiB are unread in replies of more than
/// 256 KiB each, of which the last may exceed that. The stream ends when the responder's body does, and throws the body's error,
/// `peerLost` when the responder's process dies, `timedOut`, or `stopped`. Leaving the loop, or cancelling its task, cancels the body. A
/// stream can be read once.
public struct ReplyStream<Reply: Codable & Sendable>: AsyncSequence, Sendable {
    /// The type of a reply.
    public typealias Element = Reply

    let buffer: ReplyBuffer

    /// Waits until the request is accepted, and returns the stream: an HTTP handler knows then which status its response has.
    ///
    ///     let changes = try await cart.stream(Cart.Watch()).accepted()
    ///
    /// A row accepts by ``Replies/accept()``, by its first reply, and by its regular end; a `.broadcast` row accepts when its body has returned.
    /// No reply is taken from the stream.
    ///
    /// - Parameter timeout: The time that the acceptance may take; five seconds by default. `nil`: as long as the stream may.
    /// - Throws: What reading the stream would throw: `unhandled` and the refusals of `ask`, the row's error; `timedOut`, and the row is
    ///   cancelled. `CancellationError` when the task is cancelled, and the row with it.
    public func accepted(within timeout: Duration? = .seconds(5)) async throws -> Self {
        try await buffer.waitUntilAccepted(within: timeout)
        return self
    }

    /// Creates the iterator that reads the replies.
    public func makeAsyncIterator() -> Iterator { Iterator(buffer: buffer) }

    /// An iterator that reads one reply after the other.
    public struct Iterator: AsyncIteratorProtocol {
        let buffer: ReplyBuffer

        /// Returns the next reply; `nil` at the end.
        public mutating func next() async throws -> Reply? {
            try await buffer.next()?.decoded(as: Reply.self)
        }
    }
}

extension ReplyStream {
    /// Creates a stream within the instruments of a process.
    ///
    /// - Parameters:
    ///   - message: The message that asks for the stream.
    ///   - make: A function that sends the message.
    init(observedBy instruments: Instruments, _ message: @autoclosure () -> MessageInfo, _ make: () throws -> ReplyBuffer) throws {
        guard instruments.areActive else {
            self.init(buffer: try make())
            return
        }
        self = try instruments.aroundAtOnce(message()) { ReplyStream(buffer: try make()) }
    }
}

extension CoordinatorCell {
    /// Asks for a stream of replies by a message that `dispatch` sends.
    ///
    /// - Parameter target: The coordinator that is asked; `nil`: the message climbs.
    func stream<M: ResponderMessage>(
        _ message: M,
        _ timeout: Duration?,
        to target: CoordinatorPath? = nil,
        dispatch: (Envelope) -> Void
    ) -> ReplyStream<M.Reply> {
        let deadline = timeout.map { runtime.time.now + $0 }
        do {
            return try ReplyStream(observedBy: runtime.observation.instruments, MessageInfo(M.self, .stream, sentBy: self, to: target)) {
                ReplyBuffer(.value(message), sender: self, deadline: deadline, dispatch: dispatch)
            }
        } catch {
            // An instrument has refused the message.
            return ReplyStream(buffer: ReplyBuffer(.value(message), sender: self, deadline: deadline) { $0.end(.failure(error)) })
        }
    }
}

/// The unread replies of a stream.
///
/// When the last reader is gone, the message is cancelled.
final class ReplyBuffer: Sendable {
    private struct State {
        var unread: Deque<Answer> = []
        var end: Result<Void, any Error>?
        /// Whether the request was accepted or refused.
        var isDecided = false
        var wasRefused = false
        /// The tasks that wait for a change.
        var waiters: [CheckedContinuation<Void, Never>] = []
        var envelope: Envelope?
    }

    private let content: Content
    private let time: TimeSource

    /// The storage, apart from the buffer, so that the envelope doesn't keep the buffer alive.
    private final class Content: Sendable {
        let state = Lock(State())

        func append(_ answer: Answer) { change { $0.unread.append(answer) } }

        func accept() { change { _ in } }

        /// Changes the state, which is that of a request that was decided about then, and has those that wait for it look again.
        private func change(_ change: (inout State) -> Void) {
            let waiters = state.withLock { state in
                change(&state)
                state.isDecided = true
                defer { state.waiters = [] }
                return state.waiters
            }
            for waiter in waiters { waiter.resume() }
        }

        /// Removes and returns the envelope, which refers to this storage and must not keep it alive.
        func forgetEnvelope() -> Envelope? {
            state.withLock { state in
                defer { state.envelope = nil }
                return state.envelope
            }
        }

        func finish(_ result: Result<Answer, any Error>, errors: [any ResponderError.Type]) {
            _ = forgetEnvelope()
            change { state in
                // A responder that isn't a stream has answered once.
                if case .failure = result { state.wasRefused = !state.isDecided }
                if case .success(let answer) = result, case .none = answer {
                } else if case .success(let answer) = result {
                    state.unread.append(answer)
                }
                state.end = result.mapError { Failures.restored($0, declared: errors) }.map { _ in }
            }
        }
    }

    /// Creates the buffer and sends the message by `dispatch`.
    convenience init(
        _ body: Envelope.Body,
        sender: CoordinatorCell,
        deadline: MonotonicTime?,
        isBuiltin: Bool = false,
        dispatch: (Envelope) -> Void
    ) {
        self.init(body, sender: sender.path, openAsks: sender.openAsks, deadline: deadline, isBuiltin: isBuiltin, dispatch: dispatch)
    }

    /// Creates the buffer and sends the message by `dispatch`.
    ///
    /// - Parameters:
    ///   - errors: The types of errors that the message declares, if it's encoded already.
    ///   - openAsks: The open asks that the message joins.
    init(
        _ body: Envelope.Body,
        errors: [any ResponderError.Type] = [],
        sender: CoordinatorPath,
        openAsks: OpenAsks,
        deadline: MonotonicTime?,
        isBuiltin: Bool = false,
        dispatch: (Envelope) -> Void
    ) {
        let content = Content()
        self.content = content
        time = openAsks.time
        let envelope = Envelope(
            body,
            asker: .function { content.finish($0, errors: body.errors + errors) },
            sender: sender,
            deadline: deadline,
            isBuiltin: isBuiltin,
            flow: ReplyFlow(
                { answer in
                    content.append(answer)
                    return answer.receivedBytes
                },
                accepted: { content.accept() }
            )
        )
        envelope.noteCause()
        content.state.withLock { $0.envelope = envelope }
        envelope.open(in: openAsks)
        if !envelope.hasEnded { dispatch(envelope) }
    }

    deinit { content.forgetEnvelope()?.cancel() }

    func next() async throws -> Answer? {
        let waiting = HandlerScope.current?.beginWait()
        defer { waiting?.end() }
        while true {
            let (answer, end, envelope) = content.state.withLock { state in
                (state.unread.popFirst(), state.end, state.envelope)
            }
            if let answer {
                envelope?.flow?.grant(1)
                return answer
            }
            if let end {
                try end.get()
                return nil
            }
            await wait { $0.unread.isEmpty && $0.end == nil }
        }
    }

    /// Waits until the request is accepted or has ended; takes no reply.
    func waitUntilAccepted(within timeout: Duration?) async throws {
        let waiting = HandlerScope.current?.beginWait()
        defer { waiting?.end() }
        let timer = timeout.map { timeout in
            time.schedule(at: time.now + timeout) { [content] in
                content.state.withLock { $0.isDecided ? nil : $0.envelope }?.timeOut()
            }
        }
        defer { if let timer { time.cancel(timer) } }
        while !content.state.withLock({ $0.isDecided }) { await wait { !$0.isDecided } }
        // What was accepted before it failed fails where it's read.
        let refusal = content.state.withLock { $0.wasRefused ? $0.end : nil }
        try refusal?.get()
    }

    /// Waits for a change of the state, if a condition holds; a cancelled task cancels the message.
    private func wait(while isWaited: (State) -> Bool) async {
        let envelope = content.state.withLock { $0.envelope }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let mustResume = content.state.withLock { state -> Bool in
                    guard isWaited(state) else { return true }
                    state.waiters.append(continuation)
                    return false
                }
                if mustResume { continuation.resume() }
            }
        } onCancel: {
            envelope?.cancel()
        }
    }
}
