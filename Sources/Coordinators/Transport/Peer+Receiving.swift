import Acknowledgement
import ConcurrencySupport
import Links
import Synchronization
import WireProtocol

extension Peer {
    /// Takes the frames that have arrived together.
    func receive(_ frames: inout IncomingFrames) {
        #if !SLOW_PATH_ONLY
        receiveTogether(&frames)
        #else
        while let frame = frames.next() { receive(frame, of: &frames) }
        #endif
    }

    func receive(_ frame: Frame, of frames: inout IncomingFrames) {
        switch frame.content {
        case .ask(let ask):
            let timeout = ask.timeoutMicroseconds
            let deadline = timeout == 0 ? nil : MonotonicTime.now + .microseconds(Int64(clamping: timeout))
            let label = DeliveryLabel(ask, of: frame)
            accept(frame, ask.target, ask.sender, ask.message, deadline, ask.trace, ask.payload, isOneWay: false, label)
        case .send(let send):
            let (trace, payload) = (frames.ownMemory(for: send.trace), frames.ownMemory(for: send.payload))
            accept(frame, send.target, send.sender, send.message, nil, trace, payload, isOneWay: true, nil)
        default: receive(frame)
        }
    }

    private func receive(_ frame: Frame) {
        switch frame.content {
        case .reply(let reply): accept(reply, to: frame)
        case .streamItem(let bytes): acceptItem(bytes, of: frame)
        case .ack: noteAcceptance(frame.correlation)
        case .streamEnd(let failure): accept(failure.map { .failure($0) }, to: frame)
        case .cancel: state.withLock { $0.takeCancelled(frame.correlation, isAhead: frame.flags.contains(.ahead)) }?.cancel()
        case .credit(let credit): receive(credit, for: frame.correlation)
        case .inspect(let inspect): answer(inspect, in: frame)
        case .event(let event):
            guard let name = event.name == 0 ? "" : link.text(of: event.name) else { return }
            owner.notified(name, frame.codec, event.payload)
        case .ping(let probe) where probe.kind == .executor: answer(probe, frame.correlation)
        case .ping(let probe): send(Frame(.pong(probe), correlation: frame.correlation))
        default:
            if let rule = correspondent.ruleBroken(by: frame) { return link.close(because: rule) }
            owner.frameReceived(frame)
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
        isOneWay: Bool,
        _ label: DeliveryLabel?
    ) {
        guard let (target, sender, message) = link.texts(of: (target, sender, message)) else {
            let error = CoordinatorError(.coding, "a message uses a name that was never defined on this link")
            return reply(.failure(error), to: Arrival(correlation: frame.correlation, codec: frame.codec, route: nil, size: 0))
        }
        let isBuiltin = Builtins.isName(message)
        // What the runtime reads itself never comes in parts.
        if isBuiltin, payload.count > FrameLimits.default.maximumFrameSize {
            return link.close(because: "\(WireNames.first(in: message).shortened) came in parts, and has \(payload.count) bytes")
        }
        if isBuiltin,
            let rule = correspondent.ruleBroken(
                by: message,
                frame.codec,
                payload,
                to: target,
                isDirect: frame.flags.contains(.direct),
                isNumbered: frame.correlation != 0
            )
        {
            return link.close(because: rule)
        }
        let arrival = Arrival(
            correlation: frame.correlation,
            codec: frame.codec,
            route: isBuiltin ? nil : Self.route(target, message),
            size: Envelope.size(ofPayload: payload.count)
        )
        let envelope = Envelope(
            .encoded(name: message, frame.codec, Payload(payload)),
            asker: .peer(self, arrival),
            sender: CoordinatorPath(sender) ?? .root,
            deadline: deadline,
            trace: trace,
            isOneWay: isOneWay,
            isBuiltin: isBuiltin,
            flow: frame.flags.contains(.stream) && label == nil ? flow(to: arrival) : nil,
            delivery: label.map { AcknowledgedDelivery($0) },
            lingers: frame.flags.contains(.lingering)
        )
        switch state.withLock({ $0.admit(envelope, arrival) }) {
        case .violation(let violation): link.close(because: violation)
        case .full: envelope.end(.failure(CoordinatorError(.tooManyOpenAsks, "\(Self.openAsksLimit) asks are open on this link")))
        case .closed:
            // The other side learns from the end of the link that the message is lost, and may send it again.
            if !envelope.wantsAnswer { envelope.end(.failure(lost(maybeExecuted: false))) }
        case .withdrawn: envelope.cancel()
        case .admitted(let isEarliest):
            if isEarliest, let deadline { watch(until: deadline) }
            owner.messagesReceived(envelope, target, frame.flags.contains(.direct))
        }
    }

    func giveBack(_ arrival: Arrival) {
        guard let route = arrival.route else { return state.withLock { $0.admission.builtinBytes -= arrival.size } }
        for credit in state.withLock({ $0.admission.credits.release(route, arrival.size, count: arrival.count) }) {
            try? link.send(lane: .control) { name in
                Frame(.credit(Credit(target: name(credit.route), messages: UInt32(credit.messages), bytes: UInt64(credit.bytes))))
            }
        }
    }

    // MARK: Answering

    func answer(_ arrival: Arrival, of envelope: Envelope, _ result: Result<Answer, any Error>) {
        guard arrival.correlation != 0 else {
            if case .failure(let error) = result { owner.messageLost(envelope, error) }
            return
        }
        state.withLock { _ = $0.incoming.removeValue(forKey: arrival.correlation) }
        if envelope.delivery != nil { return acknowledge(arrival, result) }
        if envelope.flow == nil { reply(result, to: arrival) } else { endStream(result, of: arrival) }
    }

    /// Answers an acknowledged message: it was handled, even if the reply, which only an interceptor reads, can't be sent.
    private func acknowledge(_ arrival: Arrival, _ result: Result<Answer, any Error>) {
        guard case .success(let answer) = result else { return reply(result, to: arrival) }
        if let bytes = try? answer.encoded(as: arrival.codec) {
            let frame = Frame(.reply(.success(bytes)), correlation: arrival.correlation, codec: arrival.codec)
            if send(frame, lane: .bulk)?.code != .frameTooLarge { return }
        }
        reply(.success(.none), to: arrival)
    }

    private func reply(_ result: Result<Answer, any Error>, to frame: Arrival) {
        guard frame.correlation != 0 else { return }
        let reply: Reply
        switch result {
        case .success(let answer):
            do throws(CoordinatorError) {
                reply = .success(try answer.encoded(as: frame.codec))
            } catch {
                reply = .failure(Failures.encode(error.doubted, codec: frame.codec))
            }
        case .failure(let error): reply = .failure(Failures.encode(error, codec: frame.codec))
        }
        answer(frame, with: .reply(reply), called: "the reply") { .reply(.failure($0)) }
    }

    /// Sends the end of an ask of the other side, or, when that is too large for a frame, an error that says so.
    private func answer(_ ask: Arrival, with content: Content, called what: String, failing: (Failure) -> Content) {
        let error = send(Frame(content, correlation: ask.correlation, codec: ask.codec), lane: .bulk)
        guard let error, error.code == .frameTooLarge else { return }
        let refusal = CoordinatorError(.messageTooLarge, "\(what): \(error.message)", maybeExecuted: true)
        let failure = Failures.encode(refusal, codec: ask.codec)
        send(Frame(failing(failure), correlation: ask.correlation, codec: ask.codec), lane: .bulk)
    }

    /// Returns the way of replies to a stream that the other side reads.
    private func flow(to frame: Arrival) -> ReplyFlow {
        ReplyFlow(
            { [self] answer in
                let (codec, bytes) = try answer.wire(for: frame.codec)
                do throws(LinkError) {
                    try link.send(Frame(.streamItem(bytes), correlation: frame.correlation, codec: codec))
                    return bytes.count
                } catch {
                    guard error.code == .frameTooLarge else { throw CancellationError() }
                    throw CoordinatorError(.messageTooLarge, "a reply: \(error.message)", maybeExecuted: true)
                }
            },
            accepted: { [self] in
                // In order with the replies; if the link has closed, the next reply finds that out.
                send(Frame(.ack, correlation: frame.correlation), lane: .bulk)
            }
        )
    }

    private func endStream(_ result: Result<Answer, any Error>, of frame: Arrival) {
        var failure: Failure?
        switch result {
        case .success(.none): break
        // A responder that isn't a stream has answered, once.
        case .success: return reply(result, to: frame)
        case .failure(let error): failure = Failures.encode(error, codec: frame.codec)
        }
        answer(frame, with: .streamEnd(failure), called: "the stream's error") { .streamEnd($0) }
    }

    /// Takes a place among the requests of the other side's runtime that are under way.
    ///
    /// - Returns: Whether there was one.
    private func admitInspection() -> Bool {
        state.withLock { state in
            guard state.admission.inspections < Self.inspectionsLimit else { return false }
            state.admission.inspections += 1
            return true
        }
    }

    /// Answers a probe of the executor when it gets to run a task, as the coordinators' tasks do.
    private func answer(_ probe: Probe, _ correlation: UInt64) {
        // No answer is an answer too: the executor doesn't get through with what it has.
        guard admitInspection() else { return }
        tasks.add { [self] in
            await owner.executorProbed()
            state.withLock { $0.admission.inspections -= 1 }
            send(Frame(.pong(probe), correlation: correlation))
        }
    }

    private func answer(_ inspect: Inspect, in frame: Frame) {
        let frame = Arrival(correlation: frame.correlation, codec: frame.codec, route: nil, size: 0)
        let target = link.text(of: inspect.target) ?? ""
        guard admitInspection() else {
            let error = CoordinatorError(.tooManyOpenAsks, "\(Self.inspectionsLimit) requests are being answered on this link")
            return reply(.failure(error), to: frame)
        }
        tasks.add { [self] in
            defer { state.withLock { $0.admission.inspections -= 1 } }
            let result: Result<Answer, any Error>
            do {
                let payload = inspect.payload.isEmpty ? .null : try PayloadCoder.decode(JSONValue.self, from: inspect.payload, codec: .json)
                let answer =
                    inspect.operation == Self.cycleOperation
                    ? await goOn(with: payload) : try await owner.inspected(inspect.operation, target, payload)
                result = .success(.value(answer))
            } catch {
                result = .failure(error)
            }
            reply(result, to: frame)
        }
    }

    /// Follows an ask of the other side, which looks for a cycle.
    private func goOn(with payload: JSONValue) async -> JSONValue {
        await owner.top()?.follow(cycleSearch: payload) { correlation in state.withLock { $0.incoming[correlation] } } ?? .null
    }

    // MARK: Answers

    private func acceptItem(_ bytes: Bytes, of frame: Frame) {
        guard case .message(let message) = state.withLock({ $0.outgoing[frame.correlation] }) else { return }
        do {
            try message.envelope.flow?.pass(.encoded(frame.codec, bytes))
        } catch {
            message.envelope.end(.failure(error))
        }
    }

    private func noteAcceptance(_ correlation: UInt64) {
        guard case .message(let message) = state.withLock({ $0.outgoing[correlation] }) else { return }
        message.envelope.flow?.accept()
    }

    /// Takes the end of an ask of this side.
    ///
    /// - Parameter reply: The answer; `nil` when a stream has ended regularly.
    private func accept(_ reply: Reply?, to frame: Frame) {
        let outcome: Result<Answer, any Error> =
            switch reply {
            case .success(let bytes): .success(.encoded(frame.codec, bytes))
            case .failure(let failure): .failure(Failures.decode(failure, codec: frame.codec))
            case nil: .success(.none)
            }
        switch close(frame.correlation) {
        case .message(let message):
            if outcome.isNotHere {
                message.envelope.takeBack()
                if isTakenBack(message) { return }
            }
            let result = message.envelope.isOneWay ? outcome.map { _ in .none } : outcome
            #if !SLOW_PATH_ONLY
            if counts.openAsks.load(ordering: .relaxed) == 0 { return ReadingThread.resuming { message.envelope.complete(result) } }
            #endif
            message.envelope.complete(result)
        case .request(let ending):
            if case .success(.encoded(_, let bytes)) = outcome, bytes.count > FrameLimits.default.maximumFrameSize {
                let text = "\(name) has answered a request of the runtime's with \(bytes.count) bytes"
                ending.settle(.failure(CoordinatorError(.messageTooLarge, text, maybeExecuted: true)))
                // Not decoded: this is the link's thread.
                return
            }
            ending.settle(Result { () throws -> JSONValue in try outcome.get().decoded(as: JSONValue.self) })
        case nil:
            // The ask has been cancelled or has timed out meanwhile, or this is the answer to a start.
            owner.frameReceived(frame)
        }
    }
}

extension DeliveryLabel {
    /// Reads the label of a frame; `nil` if the message isn't acknowledged.
    fileprivate init?(_ ask: Ask, of frame: Frame) {
        guard ask.origin != 0 else { return nil }
        let since = ask.since == 0 ? nil : Duration.nanoseconds(Int64(clamping: ask.since))
        self.init(origin: ask.origin, sequence: frame.sequence, floor: frame.acknowledgement, since: since)
    }
}

extension Result where Success == Answer, Failure == any Error {
    /// Whether a node has answered that it doesn't own the coordinator.
    fileprivate var isNotHere: Bool {
        if case .failure(let error as CoordinatorError) = self { error.code == .notHere } else { false }
    }
}

extension Peer: DeadlineWatcher {
    /// Another process lives by the clock.
    var time: TimeSource { .monotonic }

    func keep(_ timer: Timers.Timer, for deadline: MonotonicTime) -> Timers.Timer? {
        // The end of the link has cancelled the former timer, and no later one is kept.
        state.withLock { $0.phase.isClosed ? timer : $0.watch.keep(timer, for: deadline) }
    }

    func pass(_ deadline: MonotonicTime) -> (overdue: [Envelope], next: MonotonicTime?) {
        state.withLock { $0.watch.pass(deadline, $0.incoming.values, now: .now) }
    }
}

extension Peer.State {
    /// The decision about a message that has arrived.
    enum Admittance {
        /// The message is open; its deadline may be the earliest.
        case admitted(isEarliest: Bool)
        /// As many messages are open as may be.
        case full
        /// The link is about to close, and everything that was open has ended.
        case closed
        /// The asker has cancelled the message already.
        case withdrawn
        /// The other side has broken the rule in these words.
        case violation(String)
    }

    /// Charges the other side for a message that has arrived, and opens the message.
    ///
    /// - Parameter last: The size of the last message if there are several.
    mutating func admit(_ envelope: Envelope, _ arrival: Arrival, last: Int? = nil) -> Admittance {
        if arrival.correlation != 0, incoming[arrival.correlation] != nil {
            return .violation("\(envelope.body.name) has the number of an ask that is open")
        }
        if envelope.trace.count > Peer.traceLimit {
            return .violation("\(envelope.body.name) has a trace context of \(envelope.trace.count) bytes")
        }
        if let route = arrival.route {
            guard admission.credits.spend(route, arrival.size, count: arrival.count, last: last) else {
                return .violation(
                    "\(envelope.body.name), of \(arrival.size) bytes, came without credit: as much is under way to \(route) as may be"
                )
            }
        } else {
            let waiting = admission.builtinBytes
            guard waiting < Peer.builtinBytesLimit else {
                return .violation("\(waiting) bytes of \(envelope.body.name) and its like wait")
            }
            admission.builtinBytes += arrival.size
        }
        // Only an ask with a number can be cancelled, and is open here.
        guard !phase.isClosed else { return .closed }
        guard arrival.correlation == 0 || incoming.count < Peer.openAsksLimit else { return .full }
        guard arrival.correlation != 0 else { return .admitted(isEarliest: false) }
        if !withdrawn.isEmpty, withdrawn.contains(arrival.correlation) { return .withdrawn }
        incoming[arrival.correlation] = envelope
        return .admitted(isEarliest: watch.isEarliest(envelope.deadline))
    }
}
