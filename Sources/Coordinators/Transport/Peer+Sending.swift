import Acknowledgement
import ConcurrencySupport
import Links
import Synchronization
import WireProtocol

extension Peer {
    /// The outcome of an attempt to send a message.
    private enum Departure {
        /// The link has taken the message.
        case left
        /// The link has taken the message, which isn't answered.
        case leftUnanswered
        /// The sender isn't informed: the message waits for credit or for the end of the link, or has ended before it was sent.
        case unchanged
        /// The message can never be sent.
        case refused(CoordinatorError)
        /// The message has waited for credit, and may not leave any more.
        case diverted(Outgoing)
        /// The link has closed, and the message can be sent elsewhere.
        case handedBack
    }

    /// Sends a message to the other side, or has it wait until the other side has room for it.
    ///
    /// - Parameters:
    ///   - above: The rows that await a message that climbs, if they are known: a one-way message that the first of them answers is accepted
    ///     once the link has taken it.
    ///   - undelivered: A function that takes back a message that was waiting when the link closed; without it the message is lost then.
    /// - Returns: False when the link has closed and the message has not left: it can be sent elsewhere.
    func forward(
        _ envelope: Envelope,
        to target: String,
        isDirect: Bool,
        above: ResponderDirectory.Entry? = nil,
        undelivered: (@Sendable () -> Void)? = nil
    ) -> Bool {
        // The other side would take the message for one of the runtime's, for which it gives no credit.
        let name = envelope.body.wireName
        guard envelope.isBuiltin || !Builtins.isName(name) else {
            let message = "names that begin with \(ReservedName.prefix) are the runtime's own: call \(name) another way"
            envelope.end(.failure(CoordinatorError(.unsupported, message)))
            return true
        }
        // The other side would close the link.
        if envelope.isBuiltin, !correspondent.takes(Builtin(named: envelope.body.name)) {
            envelope.end(.failure(CoordinatorError(.unsupported, "\(self.name) doesn't take \(envelope.body.name) from here")))
            return true
        }
        do {
            let (codec, payload) = try encoded(envelope.body, as: above?.isOfThisBuild == true ? .compact : codec)
            let message = Outgoing(
                envelope: envelope,
                name: name,
                target: target,
                isDirect: isDirect,
                isUnanswered: envelope.isOneWay && above?.isIntercepted == false,
                codec: codec,
                payload: payload,
                undelivered: undelivered
            )
            let (departure, correlation) = state.withLock { depart(message, &$0) }
            if let correlation { attend(envelope, correlation) }
            link.flush()
            return complete(envelope, after: departure)
        } catch {
            envelope.end(.failure(error))
            return true
        }
    }

    /// Opens a message and hands it to the link, unless it has to wait; called under the lock of the state.
    ///
    /// - Returns: The outcome, and the number of the message if it's open now.
    private func depart(_ message: Outgoing, _ state: inout State) -> (Departure, UInt64?) {
        let envelope = message.envelope
        guard !state.phase.isClosed, envelope.isBuiltin || !state.phase.isDraining else { return (.handedBack, nil) }
        if message.isUnanswered, state.windows.takeOpen(route: message.route, size: message.size) {
            return (transmit(message, 0, &state), nil)
        }
        guard state.outgoing.count < Self.openAsksLimit else {
            return (.refused(CoordinatorError(.tooManyOpenAsks, "\(Self.openAsksLimit) asks to \(name) are open")), nil)
        }
        var message = message
        state.messages += 1
        message.number = state.messages
        let correlation = state.outgoing.insert(.message(message))
        counts.openAsks.add(1, ordering: .relaxed)
        guard envelope.isBuiltin || state.windows.enqueue(correlation, route: message.route, size: message.size) else {
            return (.unchanged, correlation)
        }
        return (transmit(message, correlation, &state), correlation)
    }

    /// Hands an open message to the link; called under the lock of the state, so that messages are handed over in the order in which they
    /// were let go.
    private func transmit(_ message: Outgoing, _ correlation: UInt64, _ state: inout State) -> Departure {
        guard message.envelope.beginHandling() else {
            takeBack(message, correlation, &state)
            return .unchanged
        }
        var label = message.envelope.delivery?.depart(at: .now)
        if label?.since != nil { label?.goesToLife(since: .nanoseconds(place.load(ordering: .relaxed))) }
        do throws(LinkError) {
            try link.append(lane: message.envelope.isBuiltin ? .control : .bulk, from: message.isUnanswered ? nil : message.envelope) {
                name in
                let envelope = message.envelope
                return Frame(
                    envelope.content(target: name(message.target), called: message.name, intern: name, payload: message.payload, label),
                    correlation: message.isUnanswered ? 0 : correlation,
                    codec: message.codec,
                    flags: envelope.lingers && answersCancelled ? message.flags.union(.lingering) : message.flags,
                    sequence: label?.sequence ?? 0,
                    acknowledgement: label?.floor ?? 0
                )
            }
        } catch {
            message.envelope.takeBack()
            // The link is about to report that it has closed: the message is handed back then, in order with all others.
            guard let refusal = CoordinatorError(refusing: message, because: error) else {
                return correlation == 0 ? .handedBack : .unchanged
            }
            takeBack(message, correlation, &state)
            return .refused(refusal)
        }
        guard !message.isUnanswered else {
            forget(correlation, &state)
            return .leftUnanswered
        }
        var message = message
        message.payload = []
        message.hasLeft = true
        state.outgoing[correlation] = .message(message)
        return .left
    }

    /// The messages of coordinators that wait until the other side has given room for them.
    var messagesWithoutRoom: [Envelope] {
        state.withLock { state in
            guard state.windows.count > 0 else { return [] }
            return state.outgoing.elements.compactMap { open in
                if case .message(let message) = open, !message.hasLeft, !message.envelope.isBuiltin { message.envelope } else { nil }
            }
        }
    }

    /// Forgets a message that doesn't leave, and returns its room: the other side would never give the credit back.
    private func takeBack(_ message: Outgoing, _ correlation: UInt64, _ state: inout State) {
        forget(correlation, &state)
        if !message.envelope.isBuiltin { state.windows.takeBack(message.size, route: message.route) }
    }

    /// Forgets a message that isn't open any more; one that has left at once never was.
    private func forget(_ correlation: UInt64, _ state: inout State) {
        if state.outgoing.remove(correlation) != nil { counts.openAsks.subtract(1, ordering: .relaxed) }
    }

    /// Informs a message's sender of the outcome; never called under a lock.
    ///
    /// - Returns: False when the message can be sent elsewhere.
    private func complete(_ envelope: Envelope, after departure: Departure) -> Bool {
        switch departure {
        case .left: envelope.release()
        case .leftUnanswered:
            envelope.release()
            envelope.complete(.success(.none))
        case .unchanged: break
        case .refused(let error):
            envelope.end(.failure(error))
            state.withLock { $0.takeAllAnswered() }?.settle(())
        case .diverted(let message): owner.messageDiverted(message)
        case .handedBack: return false
        }
        return true
    }

    /// Changes the windows, and sends the messages that have room then; called under the lock of the state.
    ///
    /// - Parameter change: Returns the messages that have room.
    /// - Returns: The outcome for each message that had room.
    private func transmitFree(
        _ state: inout State,
        after change: (inout SendWindows<UInt64>, _ isOpen: (UInt64) -> Bool) -> [UInt64]
    ) -> [(Envelope, Departure)] {
        var departures: [(Envelope, Departure)] = []
        // Messages that were given up meanwhile aren't open any more.
        let open = state.outgoing
        var free = change(&state.windows) { open.contains($0) }
        while !free.isEmpty {
            for correlation in free {
                guard case .message(let message)? = state.outgoing[correlation] else { continue }
                guard owner.mayStillLeave(message) else {
                    forget(correlation, &state)
                    state.windows.takeBack(message.size, route: message.route)
                    departures.append((message.envelope, .diverted(message)))
                    continue
                }
                departures.append((message.envelope, transmit(message, correlation, &state)))
            }
            // A message that was too large has left its room to the next.
            let open = state.outgoing
            free = state.windows.release { open.contains($0) }
        }
        return departures
    }

    /// Tells the other side to stop when it has handled everything that was sent before.
    func drain(_ stop: Stop, _ flags: Flags) {
        state.withLock { state in
            state.phase.drain()
            try? link.append { _ in Frame(.stop(stop), flags: flags) }
        }
        link.flush()
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
        let departures = state.withLock { state -> [(Envelope, Departure)] in
            // Messages that wait while the other side drains are handed back when the link closes.
            if state.phase.isDraining { return [] }
            let credit = CreditWindow(messages: window.messages, bytes: window.bytes)
            return transmitFree(&state) { windows, isOpen in windows.add(credit, route: route, where: isOpen) }
        }
        link.flush()
        complete(departures)
    }

    private func complete(_ departures: [(Envelope, Departure)]) {
        for (envelope, departure) in departures { _ = complete(envelope, after: departure) }
        guard !departures.isEmpty else { return }
        // Messages that aren't answered have been open only while they waited.
        state.withLock { $0.takeAllAnswered() }?.settle(())
        owner.roomGiven()
    }

    /// Sends a request to the other side's runtime, and waits for the answer.
    ///
    /// - Parameter lane: The bulk lane for a request that must not overtake messages.
    func inspect(
        _ operation: String,
        _ target: String,
        _ payload: JSONValue = .null,
        timeout: Duration?,
        lane: Link.Lane = .control
    ) async throws -> JSONValue {
        let bytes = try PayloadCoder.encode(payload, as: .json)
        return try await request(target, timeout: timeout, lane: lane) { target in
            .inspect(Inspect(target: target, operation: operation, payload: bytes))
        }
    }

    /// Sends a frame of the runtime, and waits for its reply.
    @discardableResult
    func request(
        _ target: String,
        timeout: Duration?,
        lane: Link.Lane = .control,
        _ content: (_ target: NameID) -> Content
    ) async throws -> JSONValue {
        let ending = OneShot<Result<JSONValue, any Error>>()
        let opened = state.withLock { state -> UInt64? in
            guard !state.phase.isClosed, state.outgoing.count < Self.openAsksLimit else { return nil }
            return state.outgoing.insert(.request(ending))
        }
        guard let correlation = opened else { throw lost(maybeExecuted: false) }
        do throws(LinkError) {
            try link.send(lane: lane) { name in Frame(content(name(target)), correlation: correlation, codec: .json) }
        } catch {
            let refusal = error.code == .nameTooLong ? CoordinatorError(.noSuchPath, error.message) : lost(maybeExecuted: false)
            ending.settle(.failure(refusal))
        }
        let timer = timeout.map { timeout in
            Timers.shared.schedule(at: .now + timeout) { [name] in
                let text = "\(name) did not answer within \(timeout)"
                ending.settle(.failure(CoordinatorError(.timedOut, text, maybeExecuted: true)))
            }
        }
        defer {
            if let timer { Timers.shared.cancel(timer) }
            close(correlation)
        }
        return try await ending.value.get()
    }

    /// Relays the asker's actions to the other side: a cancellation, and the credit for replies that were read.
    private func attend(_ envelope: Envelope, _ correlation: UInt64) {
        envelope.work(.forwarded(self, correlation))
        envelope.flow?.relayGrants { [self] count in
            send(Frame(.credit(Credit(target: 0, messages: UInt32(clamping: count), bytes: 0)), correlation: correlation))
        }
    }

    func giveUp(_ correlation: UInt64) {
        let (message, allAnswered, departures) = state.withLock { state -> (Outgoing?, OneShot<Void>?, [(Envelope, Departure)]) in
            guard case .message(let message)? = state.outgoing.remove(correlation) else { return (nil, nil, []) }
            var departures: [(Envelope, Departure)] = []
            if message.hasLeft, let payload = link.abandon(correlation) {
                // The other side doesn't get the message, and never gives back its credit.
                let isDraining = state.phase.isDraining
                departures = transmitFree(&state) { windows, isOpen in
                    windows.takeBack(Envelope.size(ofPayload: payload), route: message.route)
                    return isDraining ? [] : windows.release(where: isOpen)
                }
            } else if message.hasLeft {
                // In the lane whose frames overtake others: what the asker does next, such as resuming the receiver, must not begin the message.
                try? link.append(lane: .control) { _ in Frame(.cancel, correlation: correlation, flags: .ahead) }
                // In the lane of the message, so that it comes behind it.
                try? link.append { _ in Frame(.cancel, correlation: correlation) }
            } else if message.size > CreditWindow.largestSize, !state.phase.isDraining {
                // It may have kept smaller ones waiting behind it, for which there is room.
                departures = transmitFree(&state) { windows, isOpen in windows.release(where: isOpen) }
            }
            // Those that wait for credit are forgotten once they are many.
            let open = state.outgoing
            if state.windows.count >= 2 * open.count + 64 { state.windows.removeAll { !open.contains($0) } }
            return (message, state.takeAllAnswered(), departures)
        }
        guard let message else { return }
        counts.openAsks.subtract(1, ordering: .relaxed)
        allAnswered?.settle(())
        link.flush()
        complete(departures)
        if !message.hasLeft { owner.roomGiven() }
    }

    func cancelToItsEnd(_ correlation: UInt64) -> Bool {
        guard answersCancelled else { return false }
        let isTold = state.withLock { state in
            // One that has left in parts, but not whole, is given up.
            guard case .message(let message)? = state.outgoing[correlation], message.hasLeft, message.envelope.mayBeExecuted else {
                return false
            }
            return (try? link.append { _ in Frame(.cancel, correlation: correlation) }) != nil
        }
        if isTold { link.flush() }
        return isTold
    }

    private func encoded(_ body: Envelope.Body, as codec: PayloadCodec) throws(CoordinatorError) -> (PayloadCodec, Bytes) {
        switch body {
        case .value(let message): (codec, try PayloadCoder.encode(message, as: codec))
        case .encoded(_, let codec, let payload): (codec, payload.bytes)
        }
    }
}

extension Envelope: LargeFrameSender {
    // Until the last part leaves, it's proved that no handler has begun.
    func leavesLater() { takeBack() }

    func leavesNow() -> Bool { beginHandling() }
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
    var route: String { Peer.route(target, name) }

    var size: Int { Envelope.size(ofPayload: payload.count) }

    fileprivate var flags: Flags {
        var flags: Flags = isDirect ? .direct : []
        if envelope.flow != nil { flags.insert(.stream) }
        if envelope.delivery != nil { flags.insert(.acknowledged) }
        return flags
    }
}

extension Peer {
    /// Returns the route of a message, on both sides alike.
    static func route(_ target: String, _ message: String) -> String { target.isEmpty ? message : target }

    /// Returns a trace context if the other side takes it: for a longer one it would close the link, and a message is worth more than its
    /// trace.
    static func acceptable(_ trace: Bytes) -> Bytes { trace.count <= traceLimit ? trace : [] }
}

extension Envelope {
    fileprivate func content(
        target: NameID,
        called name: String,
        intern: (String) -> NameID,
        payload: Bytes,
        _ label: DeliveryLabel?
    ) -> Content {
        let sender = intern(sender.description)
        let message = intern(name)
        let trace = Peer.acceptable(trace)
        if isOneWay {
            return .send(Send(target: target, sender: sender, message: message, trace: trace, payload: payload))
        }
        // At least 1, because 0 means that there is no deadline.
        let remaining = deadline.map { UInt64(max(($0 - .now).nanosecondsClamped / 1_000, 1)) } ?? 0
        return .ask(
            Ask(
                target: target,
                sender: sender,
                message: message,
                timeoutMicroseconds: remaining,
                trace: trace,
                payload: payload,
                origin: label?.origin ?? 0,
                since: label?.sinceOnWire ?? 0
            )
        )
    }
}
