import ConcurrencySupport
import WireProtocol

/// A message in transit together with its end, which comes exactly once: an answer or an error.
///
/// The asker opens an envelope. The first of the handler, the deadline, a cancelled asker, a lost peer and a stop ends it; unless that was
/// the handler, the handler is cancelled.
final class Envelope: Sendable {
    typealias Completion = @Sendable (Result<Answer, any Error>) -> Void

    /// The message, never encoded between coordinators of one process.
    enum Body: Sendable {
        case value(any ResponderMessage)
        case encoded(name: String, PayloadCodec, Payload)

        var name: String {
            switch self {
            case .value(let message): type(of: message).name
            case .encoded(let name, _, _): name
            }
        }

        fileprivate var size: Int {
            switch self {
            case .value(let message): Self.size(of: message)
            case .encoded(_, _, let payload): payload.count + Self.overhead
            }
        }

        /// The approximate size of a message besides its payload.
        private static let overhead = 256

        private static func size<M: ResponderMessage>(of message: M) -> Int { MemoryLayout<M>.size + overhead }
    }

    let body: Body
    /// The coordinator that asked first.
    let sender: CoordinatorPath
    let deadline: MonotonicTime?
    /// The W3C trace context, which isn't parsed here.
    let trace: Bytes
    /// Whether the asker doesn't wait for the handler: the answer then is that the message was accepted.
    let isOneWay: Bool
    /// The flow that takes the replies when the asker accepts several.
    let flow: ReplyFlow?
    /// Whether the message is one between runtimes.
    let isBuiltin: Bool
    /// The size that counts against limits, in bytes: that of the payload where it's encoded, else the value's own.
    let size: Int

    private enum Phase {
        case unopened(ended: (any Error)?)
        case open(Completion)
        case ended(isFailure: Bool)
    }

    private struct State {
        var phase = Phase.unopened(ended: nil)
        var canceller: (@Sendable () -> Void)?
        var timer: Timers.Timer?
        var owner: OpenAsks?
        /// The function that is called once when the message isn't under way any more.
        var released: (@Sendable () -> Void)?
        var isReleased = false
    }

    private let state = Lock(State())

    init(
        _ body: Body,
        sender: CoordinatorPath,
        deadline: MonotonicTime?,
        trace: Bytes = TraceContext.current?.bytes ?? [],
        isOneWay: Bool = false,
        flow: ReplyFlow? = nil,
        isBuiltin: Bool = false
    ) {
        self.body = body
        self.sender = sender
        self.deadline = deadline
        self.trace = trace
        self.isOneWay = isOneWay
        self.flow = flow
        size = body.size
        if case .encoded(let name, _, _) = body {
            self.isBuiltin = Builtins.isName(name)
        } else {
            self.isBuiltin = isBuiltin
        }
    }

    /// Whether the message has ended; a handler need not begin then.
    var hasEnded: Bool {
        state.withLock { state in
            switch state.phase {
            case .unopened(let ended): ended != nil
            case .open: false
            case .ended: true
            }
        }
    }

    /// Whether a handler need not begin: the asker doesn't wait any more, or a one-way message was never accepted.
    var isWithdrawn: Bool {
        state.withLock { state in
            switch state.phase {
            case .unopened(let ended): ended != nil
            case .open: false
            case .ended(let isFailure): isFailure || !isOneWay
            }
        }
    }

    /// Sets the function that is called at the end.
    ///
    /// If the end came before, the function is called now.
    ///
    /// - Parameter owner: The asks that end when their coordinator stops.
    func open(owner: OpenAsks? = nil, _ completion: @escaping Completion) {
        let early = state.withLock { state -> (any Error)? in
            guard case .unopened(let ended) = state.phase else { return nil }
            if let ended {
                state.phase = .ended(isFailure: true)
                return ended
            }
            state.phase = .open(completion)
            state.owner = owner
            return nil
        }
        if let early { return completion(.failure(early)) }
        if let owner, !owner.insert(self) { return end(.failure(CoordinatorError.hasStopped(sender))) }
        armTimer()
    }

    /// Ends the message, unless it has ended.
    ///
    /// The handler isn't cancelled, since it's the caller.
    func complete(_ result: Result<Answer, any Error>) {
        // A one-way message that was accepted still waits for its handler.
        if case .success = result, isOneWay {} else { release() }
        finish(result, cancels: false)
    }

    /// Ends the message and cancels its handler.
    func end(_ result: Result<Answer, any Error>) {
        release()
        finish(result, cancels: true)
    }

    /// Sets the function that is called, once, when the message isn't under way any more: a mailbox had room for it, its handler has begun,
    /// it has left for another process, or it has ended.
    func whenReleased(_ released: @escaping @Sendable () -> Void) {
        let isLate = state.withLock { state -> Bool in
            if !state.isReleased { state.released = released }
            return state.isReleased
        }
        if isLate { released() }
    }

    /// Marks the message as not under way any more.
    func release() {
        state.withLock { state in
            state.isReleased = true
            defer { state.released = nil }
            return state.released
        }?()
    }

    /// Ends the message because the asker was cancelled.
    func cancel() {
        let wasUnopened = state.withLock { state -> Bool in
            guard case .unopened(nil) = state.phase else { return false }
            state.phase = .unopened(ended: CancellationError())
            return true
        }
        if !wasUnopened { end(.failure(CancellationError())) }
    }

    /// Sets the function that cancels the work on the message; calls it at once if the message has ended meanwhile.
    func work(cancelledBy canceller: @escaping @Sendable () -> Void) {
        let hasEnded = state.withLock { state -> Bool in
            if case .ended = state.phase, !isOneWay { return true }
            state.canceller = canceller
            return false
        }
        if hasEnded { canceller() }
    }

    private func finish(_ result: Result<Answer, any Error>, cancels: Bool) {
        let (completion, canceller, timer, owner) = state.withLock {
            state -> (Completion?, (@Sendable () -> Void)?, Timers.Timer?, OpenAsks?) in
            guard case .open(let completion) = state.phase else { return (nil, nil, nil, nil) }
            if case .failure = result { state.phase = .ended(isFailure: true) } else { state.phase = .ended(isFailure: false) }
            defer {
                if !isOneWay || cancels { state.canceller = nil }
                state.timer = nil
                state.owner = nil
            }
            return (completion, cancels ? state.canceller : nil, state.timer, state.owner)
        }
        guard let completion else { return }
        if let timer { Timers.shared.cancel(timer) }
        owner?.remove(self)
        completion(result)
        canceller?()
    }

    private func armTimer() {
        guard let deadline else { return }
        let timer = Timers.shared.schedule(at: deadline) { [weak self] in
            guard let self else { return }
            end(.failure(CoordinatorError(.timedOut, "\(body.name), asked by \(sender), was not answered in time")))
        }
        let isTooLate = state.withLock { state -> Bool in
            guard case .open = state.phase else { return true }
            state.timer = timer
            return false
        }
        if isTooLate { Timers.shared.cancel(timer) }
    }
}

extension Envelope {
    /// Opens an envelope, sends it on its way and waits for its end.
    ///
    /// Cancelling the waiting task cancels the handler.
    ///
    /// The message is sent before the first suspension: two asks that begin one after the other are sent one after the other.
    func delivered(owner: OpenAsks?, by dispatch: (Envelope) -> Void) async throws -> Answer {
        let ending = OneShot<Result<Answer, any Error>>()
        try Task.checkCancellation()
        open(owner: owner) { ending.settle($0) }
        if !hasEnded { dispatch(self) }
        if let outcome = ending.outcome {
            // Yields, so that a loop that retries lets other tasks run.
            if case .failure = outcome { await Task.yield() }
            return try outcome.restored().get()
        }
        return try await withTaskCancellationHandler {
            try await ending.value.restored().get()
        } onCancel: {
            cancel()
        }
    }
}

extension Envelope {
    /// Sends a one-way message.
    ///
    /// - Returns: Whether a coordinator responds to the message.
    static func isAccepted(_ send: () async throws -> Answer) async throws -> Bool {
        do {
            _ = try await send()
            return true
        } catch let error as CoordinatorError where error.code == .unhandled {
            return false
        }
    }
}

extension CoordinatorError {
    static func hasStopped(_ path: CoordinatorPath) -> CoordinatorError {
        CoordinatorError(.stopped, "\(path) has stopped")
    }
}

/// A message's bytes, which are released once the handler has the message itself: both together would take twice what the mailbox counts.
final class Payload: Sendable {
    /// The number of bytes at the start.
    let count: Int
    private let content: Lock<Bytes>

    init(_ bytes: Bytes) {
        count = bytes.count
        content = Lock(bytes)
    }

    var bytes: Bytes { content.withLock { $0 } }

    /// Returns the bytes and releases them.
    func take() -> Bytes {
        content.withLock { content in
            defer { content = [] }
            return content
        }
    }
}
