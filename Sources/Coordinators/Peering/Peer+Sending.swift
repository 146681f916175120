import ConcurrencySupport
import Links
import Synchronization
import WireProtocol

extension Peer {
    /// The outcome of an attempt to send a message.
    private enum Departure {
        /// The link has taken the message.
        case left
        /// The sender isn't informed: the message waits for credit, or has ended before it was sent.
        case unchanged
        /// The message can never be sent.
        case refused(CoordinatorError)
        /// The link has closed, and the message can be sent elsewhere.
        case handedBack
    }

    /// Sends a message to the other side, or has it wait until the other side has room for it.
    ///
    /// - Parameter undelivered: A function that takes back a message that was waiting when the link closed; without it the message is lost
    ///   then.
    /// - Returns: False when the link has closed and the message has not left: it can be sent elsewhere.
    func forward(_ envelope: Envelope, to target: String, isDirect: Bool, undelivered: (@Sendable () -> Void)? = nil) -> Bool {
        // The other side would take the message for one of the runtime's, for which it gives no credit.
        guard envelope.isBuiltin || !Builtins.isName(envelope.body.name) else {
            let message = "names that begin with \(Builtins.prefix) are the runtime's own: call \(envelope.body.name) another way"
            envelope.end(.failure(CoordinatorError(.unsupported, message)))
            return true
        }
        do {
            let (codec, payload) = try encoded(envelope.body)
            let message = Outgoing(
                envelope: envelope,
                target: target,
                isDirect: isDirect,
                codec: codec,
                payload: payload,
                undelivered: undelivered
            )
            return inTurn {
                depart(message)
            } then: {
                complete(envelope, after: $0)
            }
        } catch {
            envelope.end(.failure(error))
            return true
        }
    }

    /// Opens a message and hands it to the link, unless it has to wait; called only under the turn.
    private func depart(_ message: Outgoing) -> Departure {
        let isBuiltin = message.envelope.isBuiltin
        if !isBuiltin, state.withLock({ $0.phase.isDraining }) { return .handedBack }
        var message = message
        switch open(message) {
        case .opened(let correlation): message.correlation = correlation
        case .closed: return .handedBack
        case .full: return .refused(CoordinatorError(.tooManyOpenAsks, "\(Self.openAsksLimit) asks to \(name) are open"))
        }
        attend(message)
        let mayLeave = isBuiltin || state.withLock { $0.windows.take(message, route: message.route, size: message.size) }
        return mayLeave ? transmit(message) : .unchanged
    }

    private func open(_ message: Outgoing) -> Opening {
        open { correlation in
            var message = message
            message.correlation = correlation
            return .message(message)
        }
    }

    /// Informs a message's sender of the outcome; never called under the turn.
    ///
    /// - Returns: False when the message can be sent elsewhere.
    private func complete(_ envelope: Envelope, after departure: Departure) -> Bool {
        switch departure {
        case .left: envelope.release()
        case .unchanged: break
        case .refused(let error): envelope.end(.failure(error))
        case .handedBack: return false
        }
        return true
    }

    /// Adds to a route's window, and sends the messages that have room then; called only under the turn.
    ///
    /// - Returns: The outcome for each message that had room.
    private func transmitFree(_ route: String, _ window: SendWindows<Outgoing>.Window) -> [(Outgoing, Departure)] {
        var departures: [(Outgoing, Departure)] = []
        var free = state.withLock { state in
            // Messages that were given up meanwhile aren't open any more.
            let open = state.outgoing
            return state.windows.add(window, route: route) { open[$0.correlation] != nil }
        }
        while !free.isEmpty {
            for message in free { departures.append((message, transmit(message))) }
            // A message that was too large has left its room to the next.
            free = state.withLock { state in
                let open = state.outgoing
                return state.windows.release { open[$0.correlation] != nil }
            }
        }
        return departures
    }

    /// Tells the other side to stop when it has handled everything that was sent before.
    func drain(_ stop: Stop) {
        inTurn {
            state.withLock { $0.phase.drain() }
            try? link.send(Frame(.stop(stop), flags: .drain))
        } then: {
        }
    }

    /// Sends a notification of the runtime, or, without a name, an event of a coordinator; there is no answer.
    ///
    /// - Parameter isBounded: Whether the notification is refused while too many bytes of its kind wait for the other side.
    /// - Throws: `LinkError` when the link has closed, the notification is too large, or too many bytes of its kind wait.
    func notify(_ name: String, _ codec: PayloadCodec, _ payload: Bytes, isBounded: Bool = true) throws(LinkError) {
        try link.send(lane: isBounded ? .notice : .bulk) { intern in
            Frame(.event(Event(subject: 0, name: intern(name), payload: payload)), codec: codec)
        }
    }

    /// Takes credit that the other side gives.
    func receive(_ credit: Credit, for correlation: UInt64) {
        let window = (messages: Int(credit.messages), bytes: Int(clamping: credit.bytes))
        if correlation != 0 {
            // The credit is of the reader of a stream that is answered here.
            state.withLock { $0.incoming[correlation] }?.flow?.grant(window.messages)
            return
        }
        let route = credit.target == 0 ? "" : link.text(of: credit.target)
        guard let route else { return }
        inTurn {
            // Messages that wait while the other side drains are handed back when the link closes.
            state.withLock { $0.phase.isDraining } ? [] : transmitFree(route, .init(messages: window.messages, bytes: window.bytes))
        } then: { departures in
            for (message, departure) in departures where !complete(message.envelope, after: departure) {
                handBack(message, because: state.withLock { $0.phase.farewell })
            }
        }
    }

    /// Sends a request to the other side's runtime, and waits for the answer.
    func inspect(_ operation: String, _ target: String, _ payload: JSONValue = .null, timeout: Duration?) async throws -> JSONValue {
        let bytes = try PayloadCoder.encode(payload, as: .json)
        return try await request(target, timeout: timeout) { target in
            .inspect(Inspect(target: target, operation: operation, payload: bytes))
        }
    }

    /// Sends a control frame, and waits for its reply.
    @discardableResult
    func request(_ target: String, timeout: Duration?, _ content: (_ target: NameID) -> Content) async throws -> JSONValue {
        let ending = OneShot<Result<JSONValue, any Error>>()
        guard case .opened(let correlation) = open({ _ in .request(ending) }) else { throw lost(maybeExecuted: false) }
        do throws(LinkError) {
            try link.send(lane: .control) { name in Frame(content(name(target)), correlation: correlation, codec: .json) }
        } catch {
            let refusal = error.code == .nameTooLong ? CoordinatorError(.noSuchPath, error.message) : lost(maybeExecuted: false)
            ending.settle(.failure(refusal))
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

    /// Hands an open message to the link; called only under the turn.
    private func transmit(_ message: Outgoing) -> Departure {
        let envelope = message.envelope
        guard beginLeaving(message) else { return .unchanged }
        do throws(LinkError) {
            try link.send(lane: envelope.isBuiltin ? .control : .bulk) { name in
                Frame(
                    envelope.content(target: name(message.target), sender: name, payload: message.payload),
                    correlation: message.correlation,
                    codec: message.codec,
                    flags: message.flags
                )
            }
        } catch {
            state.withLock { $0.handover.leaving = nil }
            // A message that has been ended meanwhile, by its asker or with the link, is not handed back.
            let isOpen = close(message.correlation) != nil
            guard let refusal = CoordinatorError(refusing: message, because: error) else { return isOpen ? .handedBack : .unchanged }
            // The other side never sees the message, and would never give its credit back.
            takeBack(message)
            return .refused(refusal)
        }
        endLeaving(message)
        return .left
    }

    /// Marks a message as being handed to the link.
    ///
    /// - Returns: False when the message has ended meanwhile.
    private func beginLeaving(_ message: Outgoing) -> Bool {
        if message.envelope.isWithdrawn { close(message.correlation) }
        let isWanted = state.withLock { state -> Bool in
            guard state.outgoing[message.correlation] != nil else { return false }
            state.handover.leaving = (message.correlation, isGivenUp: false)
            return true
        }
        if !isWanted { takeBack(message) }
        return isWanted
    }

    /// Marks a message as handed to the link, and sends the cancellation that came meanwhile.
    private func endLeaving(_ message: Outgoing) {
        let isGivenUp = state.withLock { state -> Bool in
            if case .message(var open) = state.outgoing[message.correlation] {
                open.hasLeft = true
                state.outgoing[message.correlation] = .message(open)
            }
            defer { state.handover.leaving = nil }
            return state.handover.leaving?.isGivenUp == true
        }
        if isGivenUp { try? link.send(Frame(.cancel, correlation: message.correlation)) }
    }

    /// Returns to the windows the room of a message that is never sent.
    private func takeBack(_ message: Outgoing) {
        if !message.envelope.isBuiltin { state.withLock { $0.windows.takeBack(message.size, route: message.route) } }
    }

    /// Relays the asker's actions to the other side: a cancellation, and the credit for replies that were read.
    private func attend(_ message: Outgoing) {
        let correlation = message.correlation
        message.envelope.work { [weak self] in self?.giveUp(correlation) }
        message.envelope.flow?.relayGrants { [weak self] count in
            self?.send(Frame(.credit(Credit(target: 0, messages: UInt32(clamping: count), bytes: 0)), correlation: correlation))
        }
    }

    /// Cancels a message: on the other side when it has left, else here, so that it never leaves.
    private func giveUp(_ correlation: UInt64) {
        let (hasLeft, allAnswered) = state.withLock { state -> (Bool?, OneShot<Void>?) in
            guard case .message(let message)? = state.outgoing.removeValue(forKey: correlation) else { return (nil, nil) }
            if state.handover.leaving?.correlation == correlation { state.handover.leaving?.isGivenUp = true }
            return (message.hasLeft, state.takeAllAnswered())
        }
        allAnswered?.settle(())
        guard let hasLeft else { return }
        counts.openAsks.subtract(1, ordering: .relaxed)
        // In the lane of the message, so that the cancellation doesn't overtake it.
        if hasLeft { try? link.send(Frame(.cancel, correlation: correlation)) }
        forgetGivenUp()
    }

    /// Forgets messages that were given up while they waited for credit, once they are many.
    private func forgetGivenUp() {
        state.withLock { state in
            guard state.windows.count >= 2 * state.outgoing.count + 64 else { return }
            let open = state.outgoing
            state.windows.removeAll { open[$0.correlation] == nil }
        }
    }

    private func encoded(_ body: Envelope.Body) throws(CoordinatorError) -> (PayloadCodec, Bytes) {
        switch body {
        case .value(let message): (codec, try PayloadCoder.encode(message, as: codec))
        case .encoded(_, let codec, let payload): (codec, payload.bytes)
        }
    }
}

extension CoordinatorError {
    /// Creates the reason why a message can never leave; `nil` when only the link is gone.
    fileprivate init?(refusing message: Peer.Outgoing, because error: LinkError) {
        switch error.code {
        case .frameTooLarge: self.init(.messageTooLarge, error.message)
        case .nameTooLong where message.target.utf8.count > FrameLimits.default.maximumNameLength: self.init(.noSuchPath, error.message)
        case .nameTooLong: self.init(.messageTooLarge, error.message)
        default: return nil
        }
    }
}

extension Peer.Outgoing {
    /// The route whose window the message takes from: the path that it's for, or, while it climbs, its name.
    var route: String { Peer.route(target, envelope.body.name) }

    var size: Int { Peer.size(payload) }

    fileprivate var flags: Flags {
        var flags: Flags = isDirect ? .direct : []
        if envelope.flow != nil { flags.insert(.stream) }
        return flags
    }
}

extension Peer {
    /// Returns the route of a message, on both sides alike.
    static func route(_ target: String, _ message: String) -> String { target.isEmpty ? message : target }

    /// Returns the number of bytes that a message takes of a window, on both sides alike.
    static func size(_ payload: Bytes) -> Int { payload.count + 64 }
}

extension Envelope {
    fileprivate func content(target: NameID, sender name: (String) -> NameID, payload: Bytes) -> Content {
        let sender = name(sender.description)
        let message = name(body.name)
        // For a longer one the other side would close the link, and a message is worth more than its trace.
        let trace = trace.count <= Peer.traceLimit ? trace : []
        if isOneWay {
            return .send(Send(target: target, sender: sender, message: message, trace: trace, payload: payload))
        }
        // At least 1, because 0 means that there is no deadline.
        let remaining = deadline.map { UInt64(max(($0 - .now).nanosecondsClamped / 1_000, 1)) } ?? 0
        return .ask(
            Ask(target: target, sender: sender, message: message, timeoutMicroseconds: remaining, trace: trace, payload: payload)
        )
    }
}
