import Links
import Synchronization
import WireProtocol

/// The process at the other end of a link: asks go there and come from there, each answered once.
final class Peer: Sendable {
    /// What a peer's owner does about frames.
    struct Owner: Sendable {
        /// A message has come.
        ///
        /// `target`: below which coordinator, empty for the owner's own choice.
        let messageReceived: @Sendable (_ envelope: Envelope, _ target: String, _ isDirect: Bool) -> Void
        /// The other side wants something of the runtime.
        let inspected: @Sendable (_ operation: String, _ target: String, _ payload: JSONValue) async throws -> JSONValue
        /// Everything that is neither a message, an answer nor a ping.
        let frameReceived: @Sendable (Frame) -> Void
        /// The link has ended; the open asks have been ended before.
        let closed: @Sendable (LinkError) -> Void
    }

    private enum Open {
        case envelope(Envelope)
        case inspection(Ending<Result<JSONValue, any Error>>)
    }

    private struct State {
        var next: UInt64 = 1
        /// Asks of this side, by correlation.
        var outgoing: [UInt64: Open] = [:]
        /// Asks of the other side, by correlation.
        var incoming: [UInt64: Envelope] = [:]
        var isClosed = false
    }

    /// How many asks one side may have open.
    static let openAsksLimit = 65_536

    let link: Link
    /// How messages to the other side are encoded.
    let codec: PayloadCodec
    private let owner: Owner
    private let name: String
    private let tasks = OwnedTasks()
    private let state = Mutex(State())

    /// - Parameter name: the other side, as errors call it.
    init(_ link: Link, codec: PayloadCodec, name: String, owner: Owner) {
        self.link = link
        self.codec = codec
        self.name = name
        self.owner = owner
    }

    var handler: Link.Handler {
        Link.Handler(
            frameReceived: { [self] _, frame in receive(frame) },
            closed: { [self] _, error in
                endOpenAsks()
                owner.closed(error)
            }
        )
    }

    /// Sends a control frame.
    ///
    /// - Returns: why it could not be sent; a link that has closed is known by its own ways.
    @discardableResult
    func send(_ frame: Frame) -> LinkError? {
        do throws(LinkError) {
            try link.send(frame, lane: .control)
            return nil
        } catch {
            return error
        }
    }

    /// Sends a message to the other side.
    ///
    /// - Returns: false when the link has closed and the message has not left: it can be sent elsewhere.
    func forward(_ envelope: Envelope, to target: String, isDirect: Bool) -> Bool {
        let (messageCodec, payload): (PayloadCodec, Bytes)
        do {
            (messageCodec, payload) = try encoded(envelope.body)
        } catch {
            envelope.end(.failure(error))
            return true
        }
        let correlation: UInt64
        switch open(.envelope(envelope)) {
        case .opened(let number): correlation = number
        case .closed: return false
        case .full:
            envelope.end(.failure(CoordinatorError(.tooManyOpenAsks, "\(Self.openAsksLimit) asks to \(name) are open")))
            return true
        }
        do throws(LinkError) {
            try link.send { name in
                Frame(
                    envelope.content(target: name(target), sender: name, payload: payload),
                    correlation: correlation,
                    codec: messageCodec,
                    flags: isDirect ? .direct : []
                )
            }
        } catch {
            // Nobody else may have ended it meanwhile: then it isn't ours to hand back.
            let isOurs = close(correlation) != nil
            guard error.code == .frameTooLarge else { return !isOurs }
            envelope.end(.failure(CoordinatorError(.messageTooLarge, error.message)))
            return true
        }
        envelope.work { [weak self] in
            guard let self, close(correlation) != nil else { return }
            send(Frame(.cancel, correlation: correlation))
        }
        return true
    }

    /// Asks the other side's runtime for something.
    func inspect(_ operation: String, _ target: String, _ payload: JSONValue = .null, timeout: Duration?) async throws -> JSONValue {
        let ending = Ending<Result<JSONValue, any Error>>()
        let bytes = try PayloadCoder.encode(payload, as: .json)
        guard case .opened(let correlation) = open(.inspection(ending)) else { throw lost(maybeExecuted: false) }
        do throws(LinkError) {
            try link.send(lane: .control) { name in
                Frame(
                    .inspect(Inspect(target: name(target), operation: operation, payload: bytes)),
                    correlation: correlation,
                    codec: .json
                )
            }
        } catch {
            ending.settle(.failure(lost(maybeExecuted: false)))
        }
        let timer = timeout.map { timeout in
            Timers.shared.schedule(at: .now + timeout) { [name] in
                ending.settle(.failure(CoordinatorError(.timedOut, "\(name) did not answer within \(timeout)")))
            }
        }
        defer {
            if let timer { Timers.shared.cancel(timer) }
            close(correlation)
        }
        return try await ending.value.get()
    }

    /// Closes the link; every open ask ends.
    func close() {
        endOpenAsks()
        link.close()
    }

    private func encoded(_ body: Envelope.Body) throws(CoordinatorError) -> (PayloadCodec, Bytes) {
        switch body {
        case .value(let message): (codec, try PayloadCoder.encode(message, as: codec))
        case .encoded(_, let codec, let bytes): (codec, bytes)
        }
    }

    private enum Opening {
        case opened(UInt64)
        case full
        case closed
    }

    private func open(_ ask: Open) -> Opening {
        state.withLock { state in
            if state.isClosed { return .closed }
            guard state.outgoing.count < Self.openAsksLimit else { return .full }
            state.next += 1
            state.outgoing[state.next] = ask
            return .opened(state.next)
        }
    }

    @discardableResult
    private func close(_ correlation: UInt64) -> Open? {
        state.withLock { $0.outgoing.removeValue(forKey: correlation) }
    }

    private func lost(maybeExecuted: Bool) -> CoordinatorError {
        CoordinatorError(.peerLost, "\(name) can't be reached: its process has ended, or its link has", maybeExecuted: maybeExecuted)
    }

    private func endOpenAsks() {
        let (outgoing, incoming) = state.withLock { state in
            state.isClosed = true
            defer { (state.outgoing, state.incoming) = ([:], [:]) }
            return (state.outgoing, state.incoming)
        }
        for ask in outgoing.values {
            switch ask {
            case .envelope(let envelope): envelope.end(.failure(lost(maybeExecuted: true)))
            case .inspection(let ending): ending.settle(.failure(lost(maybeExecuted: true)))
            }
        }
        for envelope in incoming.values { envelope.end(.failure(lost(maybeExecuted: true))) }
    }
}

// MARK: - Receiving

extension Peer {
    private func receive(_ frame: Frame) {
        switch frame.content {
        case .ask(let ask):
            let deadline = ask.timeoutMicroseconds == 0 ? nil : MonotonicTime.now + .microseconds(Int64(clamping: ask.timeoutMicroseconds))
            accept(frame, ask.target, ask.sender, ask.message, deadline, ask.trace, ask.payload, isOneWay: false)
        case .send(let send):
            accept(frame, send.target, send.sender, send.message, nil, send.trace, send.payload, isOneWay: true)
        case .reply(let reply): accept(reply, to: frame)
        case .cancel: state.withLock { $0.incoming.removeValue(forKey: frame.correlation) }?.cancel()
        case .inspect(let inspect): answer(inspect, in: frame)
        case .ping(let probe): send(Frame(.pong(probe), correlation: frame.correlation))
        default: owner.frameReceived(frame)
        }
    }

    private func accept(
        _ frame: Frame,
        _ target: NameID,
        _ sender: NameID,
        _ message: NameID,
        _ deadline: MonotonicTime?,
        _ trace: Bytes,
        _ payload: Bytes,
        isOneWay: Bool
    ) {
        guard let target = link.text(of: target), let sender = link.text(of: sender), let message = link.text(of: message) else {
            let error = CoordinatorError(.coding, "a message uses a name that was never defined on this link")
            return reply(.failure(error), to: frame)
        }
        let envelope = Envelope(
            .encoded(name: message, frame.codec, payload),
            sender: CoordinatorPath(sender) ?? .root,
            deadline: deadline,
            trace: trace,
            isOneWay: isOneWay
        )
        let isOpen = state.withLock { state -> Bool in
            guard !state.isClosed, state.incoming.count < Self.openAsksLimit else { return false }
            state.incoming[frame.correlation] = envelope
            return true
        }
        guard isOpen else {
            return reply(.failure(CoordinatorError(.tooManyOpenAsks, "\(Self.openAsksLimit) asks are open on this link")), to: frame)
        }
        envelope.open { [weak self] result in
            guard let self else { return }
            state.withLock { _ = $0.incoming.removeValue(forKey: frame.correlation) }
            reply(result, to: frame)
        }
        owner.messageReceived(envelope, target, frame.flags.contains(.direct))
    }

    private func reply(_ result: Result<Answer, any Error>, to frame: Frame) {
        let reply: Reply
        do {
            reply = .success(try result.get().encoded(as: frame.codec))
        } catch {
            reply = .failure(Failures.encode(error, codec: frame.codec))
        }
        do throws(LinkError) {
            try link.send(Frame(.reply(reply), correlation: frame.correlation, codec: frame.codec))
        } catch {
            guard error.code == .frameTooLarge else { return }
            let failure = Failures.encode(CoordinatorError(.messageTooLarge, "the reply: \(error.message)"), codec: frame.codec)
            try? link.send(Frame(.reply(.failure(failure)), correlation: frame.correlation, codec: frame.codec))
        }
    }

    private func accept(_ reply: Reply, to frame: Frame) {
        let outcome: Result<Answer, any Error> =
            switch reply {
            case .success(let bytes): .success(.encoded(frame.codec, bytes))
            case .failure(let failure): .failure(Failures.decode(failure, codec: frame.codec))
            }
        switch close(frame.correlation) {
        case .envelope(let envelope):
            envelope.complete(envelope.isOneWay ? outcome.map { _ in .none } : outcome)
        case .inspection(let ending):
            ending.settle(
                Result { () throws -> JSONValue in
                    try outcome.get().decoded(as: JSONValue.self)
                }
            )
        case nil:
            // Cancelled or timed out meanwhile, or the answer to a start.
            owner.frameReceived(frame)
        }
    }

    private func answer(_ inspect: Inspect, in frame: Frame) {
        let target = link.text(of: inspect.target) ?? ""
        tasks.add { [self] in
            let result: Result<Answer, any Error>
            do {
                let payload = inspect.payload.isEmpty ? .null : try PayloadCoder.decode(JSONValue.self, from: inspect.payload, codec: .json)
                result = .success(.value(try await owner.inspected(inspect.operation, target, payload)))
            } catch {
                result = .failure(error)
            }
            reply(result, to: frame)
        }
    }
}

extension Envelope {
    fileprivate func content(target: NameID, sender name: (String) -> NameID, payload: Bytes) -> Content {
        let sender = name(sender.description)
        let message = name(body.name)
        if isOneWay {
            return .send(Send(target: target, sender: sender, message: message, trace: trace, payload: payload))
        }
        // At least 1: 0 would be no deadline.
        let remaining = deadline.map { UInt64(max(($0 - .now).nanosecondsClamped / 1_000, 1)) } ?? 0
        return .ask(
            Ask(target: target, sender: sender, message: message, timeoutMicroseconds: remaining, trace: trace, payload: payload)
        )
    }
}
