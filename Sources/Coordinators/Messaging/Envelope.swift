import ConcurrencySupport
import WireProtocol

/// A message on its way, and what becomes of it: it ends exactly once, with an answer or an error.
///
/// Whoever asks opens it; whoever ends it first (the handler, the deadline, a cancelled asker, a lost peer, a stop) wins, and the
/// handler is cancelled unless it was the one.
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

        /// What a message takes beside its payload, roughly.
        private static let overhead = 256

        private static func size<M: ResponderMessage>(of message: M) -> Int { MemoryLayout<M>.size + overhead }
    }

    let body: Body
    /// The coordinator that asked first.
    let sender: CoordinatorPath
    let deadline: MonotonicTime?
    /// W3C trace context, opaque here.
    let trace: Bytes
    /// Nobody waits for the handler: the answer is that it has been taken.
    let isOneWay: Bool
    /// Where the replies go when several are welcome.
    let flow: ReplyFlow?
    /// It's between runtimes: control.
    let isBuiltin: Bool
    /// What it takes of a bound, in bytes: its payload where it's encoded, else the value's own size.
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
        /// Told once that the message isn't under way any more.
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

    /// Whether it has ended; a handler need not begin then.
    var hasEnded: Bool {
        state.withLock { state in
            switch state.phase {
            case .unopened(let ended): ended != nil
            case .open: false
            case .ended: true
            }
        }
    }

    /// Whether a handler need not begin: nobody waits any more, or a one-way message was never taken.
    var isWithdrawn: Bool {
        state.withLock { state in
            switch state.phase {
            case .unopened(let ended): ended != nil
            case .open: false
            case .ended(let isFailure): isFailure || !isOneWay
            }
        }
    }

    /// Names who is told of the end.
    ///
    /// If the end came before, it's told now.
    ///
    /// - Parameter owner: ends the envelope when its coordinator stops.
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

    /// Ends it, unless it has ended.
    ///
    /// The handler goes on if it's the one that ends it.
    func complete(_ result: Result<Answer, any Error>) {
        // A one-way message that was taken still waits for its handler.
        if case .success = result, isOneWay {} else { release() }
        finish(result, cancels: false)
    }

    /// Ends it and cancels whatever works on it.
    func end(_ result: Result<Answer, any Error>) {
        release()
        finish(result, cancels: true)
    }

    /// Names who is told, once, that the message isn't under way any more: a mailbox had room for it, its handler has begun, it has left
    /// for another process, or it has ended.
    func whenReleased(_ released: @escaping @Sendable () -> Void) {
        let isLate = state.withLock { state -> Bool in
            if !state.isReleased { state.released = released }
            return state.isReleased
        }
        if isLate { released() }
    }

    /// The message isn't under way any more.
    func release() {
        state.withLock { state in
            state.isReleased = true
            defer { state.released = nil }
            return state.released
        }?()
    }

    /// Ends it because the asker was cancelled.
    func cancel() {
        let wasUnopened = state.withLock { state -> Bool in
            guard case .unopened(nil) = state.phase else { return false }
            state.phase = .unopened(ended: CancellationError())
            return true
        }
        if !wasUnopened { end(.failure(CancellationError())) }
    }

    /// Notes down how the work on the message is cancelled; does so at once if the message has ended meanwhile.
    func work(cancelledBy canceller: @escaping @Sendable () -> Void) {
        let hasEnded = state.withLock { state -> Bool in
            if case .ended = state.phase, !isOneWay { return true }
            state.canceller = canceller
            return false
        }
        if hasEnded { canceller() }
    }

    /// Cancels the work without ending the message: the handler of a one-way message when its coordinator stops.
    func cancelWork() {
        state.withLock { state in
            defer { state.canceller = nil }
            return state.canceller
        }?()
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
            end(.failure(CoordinatorError(.timedOut, "\(body.name) was not answered in time")))
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
    /// It's on its way before the first suspension: two asks that begin one after the other are sent one after the other.
    func delivered(owner: OpenAsks?, by dispatch: (Envelope) -> Void) async throws -> Answer {
        let ending = OneShot<Result<Answer, any Error>>()
        try Task.checkCancellation()
        open(owner: owner) { ending.settle($0) }
        if !hasEnded { dispatch(self) }
        if let outcome = ending.outcome {
            // A loop that tries again and again must let others run, or nobody else would.
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

extension CoordinatorError {
    static func hasStopped(_ path: CoordinatorPath) -> CoordinatorError {
        CoordinatorError(.stopped, "\(path) has stopped")
    }
}
