import Links
import Synchronization
import WireProtocol

extension Peer {
    /// Sends a message to the other side, or has it wait until the other side has room for it.
    ///
    /// - Parameter undelivered: takes back a message that was waiting when the link closed; without it the message is lost then.
    /// - Returns: false when the link has closed and the message has not left: it can be sent elsewhere.
    func forward(_ envelope: Envelope, to target: String, isDirect: Bool, undelivered: (@Sendable () -> Void)? = nil) -> Bool {
        // The other side would take it for one of the runtime's, for which nobody gives credit.
        guard envelope.isBuiltin || !Builtins.isName(envelope.body.name) else {
            let message = "names that begin with \(Builtins.prefix) are the runtime's own: call \(envelope.body.name) another way"
            envelope.end(.failure(CoordinatorError(.unsupported, message)))
            return true
        }
        let (codec, payload): (PayloadCodec, Bytes)
        do {
            (codec, payload) = try encoded(envelope.body)
        } catch {
            envelope.end(.failure(error))
            return true
        }
        return turn.withLock { _ in
            if state.withLock({ $0.isDraining }), !envelope.isBuiltin { return false }
            let message: Outgoing
            let opening = open { .message(outgoing($0)) }
            func outgoing(_ correlation: UInt64) -> Outgoing {
                Outgoing(
                    envelope: envelope,
                    target: target,
                    isDirect: isDirect,
                    codec: codec,
                    payload: payload,
                    correlation: correlation,
                    undelivered: undelivered
                )
            }
            switch opening {
            case .opened(let correlation): message = outgoing(correlation)
            case .closed: return false
            case .full:
                envelope.end(.failure(CoordinatorError(.tooManyOpenAsks, "\(Self.openAsksLimit) asks to \(name) are open")))
                return true
            }
            attend(message)
            let mayLeave = envelope.isBuiltin || state.withLock { $0.windows.take(message, route: message.route, size: message.size) }
            return mayLeave ? transmit(message) : true
        }
    }

    /// Gives back to a route, and sends what that lets go.
    ///
    /// - Returns: what has not left, because the link has closed.
    private func transmitFree(_ route: String, _ window: SendWindows<Outgoing>.Window) -> [Outgoing] {
        var handedBack: [Outgoing] = []
        var free = state.withLock { state in
            // What was given up meanwhile isn't open any more.
            let open = state.outgoing
            return state.windows.add(window, route: route) { open[$0.correlation] != nil }
        }
        while !free.isEmpty {
            handedBack += free.filter { !transmit($0) }
            // One that was too large has left its room to the next.
            free = state.withLock { state in
                let open = state.outgoing
                return state.windows.release { open[$0.correlation] != nil }
            }
        }
        return handedBack
    }

    /// Tells the other side to stop after it has handled everything that was sent before.
    func drain(_ stop: Stop) {
        turn.withLock { _ in
            state.withLock { $0.isDraining = true }
            try? link.send(Frame(.stop(stop), flags: .drain))
        }
    }

    /// Tells the other side something; nobody answers.
    ///
    /// - Parameter isBounded: whether it's refused while too much of its kind waits for the other side.
    /// - Throws: `LinkError` when the link has closed, it's too large, or too much of its kind waits.
    func notify(_ name: String, _ codec: PayloadCodec, _ payload: Bytes, isBounded: Bool = true) throws(LinkError) {
        try link.send(lane: isBounded ? .notice : .bulk) { intern in
            Frame(.event(Event(subject: 0, name: intern(name), payload: payload)), codec: codec)
        }
    }

    /// The other side has room for more.
    func receive(_ credit: Credit, for correlation: UInt64) {
        let window = (messages: Int(credit.messages), bytes: Int(clamping: credit.bytes))
        if correlation != 0 {
            // A reader of a stream that is answered here.
            state.withLock { $0.incoming[correlation] }?.flow?.grant(window.messages)
            return
        }
        let route = credit.target == 0 ? "" : link.text(of: credit.target)
        guard let route else { return }
        let handedBack = turn.withLock { _ in
            // What waits then is handed back when the link closes.
            state.withLock { $0.isDraining } ? [] : transmitFree(route, .init(messages: window.messages, bytes: window.bytes))
        }
        for message in handedBack { message.undelivered?() }
    }

    /// Asks the other side's runtime for something.
    func inspect(_ operation: String, _ target: String, _ payload: JSONValue = .null, timeout: Duration?) async throws -> JSONValue {
        let bytes = try PayloadCoder.encode(payload, as: .json)
        return try await request(target, timeout: timeout) { target in
            .inspect(Inspect(target: target, operation: operation, payload: bytes))
        }
    }

    /// Sends a control frame that is answered, and waits for the answer.
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

    /// - Returns: false when the link has closed and the message is handed back.
    private func transmit(_ message: Outgoing) -> Bool {
        let envelope = message.envelope
        guard beginLeaving(message) else { return true }
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
            state.withLock { $0.leaving = nil }
            // Nobody else may have ended it meanwhile: then it isn't ours to hand back.
            let isOurs = close(message.correlation) != nil
            guard let refusal = CoordinatorError(refusing: message, because: error) else { return !isOurs }
            // The other side never sees it, and would never give back what it took.
            takeBack(message)
            envelope.end(.failure(refusal))
            return true
        }
        envelope.release()
        endLeaving(message)
        return true
    }

    /// - Returns: false when nobody wants the message any more.
    private func beginLeaving(_ message: Outgoing) -> Bool {
        if message.envelope.isWithdrawn { close(message.correlation) }
        let isWanted = state.withLock { state -> Bool in
            guard state.outgoing[message.correlation] != nil else { return false }
            state.leaving = (message.correlation, isGivenUp: false)
            return true
        }
        if !isWanted { takeBack(message) }
        return isWanted
    }

    private func endLeaving(_ message: Outgoing) {
        let isGivenUp = state.withLock { state -> Bool in
            if case .message(var open) = state.outgoing[message.correlation] {
                open.hasLeft = true
                state.outgoing[message.correlation] = .message(open)
            }
            defer { state.leaving = nil }
            return state.leaving?.isGivenUp == true
        }
        if isGivenUp { try? link.send(Frame(.cancel, correlation: message.correlation)) }
    }

    private func takeBack(_ message: Outgoing) {
        if !message.envelope.isBuiltin { state.withLock { $0.windows.takeBack(message.size, route: message.route) } }
    }

    /// Whoever gives a message up, cancels it on the other side; whoever reads its replies, makes room there.
    private func attend(_ message: Outgoing) {
        let correlation = message.correlation
        message.envelope.work { [weak self] in self?.giveUp(correlation) }
        message.envelope.flow?.relayGrants { [weak self] count in
            self?.send(Frame(.credit(Credit(target: 0, messages: UInt32(clamping: count), bytes: 0)), correlation: correlation))
        }
    }

    /// Cancels a message on the other side, behind the message itself; one that has not left never does.
    private func giveUp(_ correlation: UInt64) {
        let (hasLeft, allAnswered) = state.withLock { state -> (Bool?, OneShot<Void>?) in
            guard case .message(let message)? = state.outgoing.removeValue(forKey: correlation) else { return (nil, nil) }
            if state.leaving?.correlation == correlation { state.leaving?.isGivenUp = true }
            return (message.hasLeft, state.takeAllAnswered())
        }
        allAnswered?.settle(())
        guard let hasLeft else { return }
        counts.openAsks.subtract(1, ordering: .relaxed)
        // In the lane of the message, which control would overtake.
        if hasLeft { try? link.send(Frame(.cancel, correlation: correlation)) }
        forgetGivenUp()
    }

    /// What was given up while it waited for room must not pile up.
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
    /// Why a message can't leave at all; `nil`: it's only the link that is gone.
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
    /// Whose window it takes from: the coordinator's that it's for, or, while it climbs, its name's, which one coordinator responds to.
    var route: String { Peer.route(target, envelope.body.name) }

    var size: Int { Peer.size(payload) }

    fileprivate var flags: Flags {
        var flags: Flags = isDirect ? .direct : []
        if envelope.flow != nil { flags.insert(.stream) }
        return flags
    }
}

extension Peer {
    static func route(_ target: String, _ message: String) -> String { target.isEmpty ? message : target }

    /// What a message takes of a window, on both sides alike.
    static func size(_ payload: Bytes) -> Int { payload.count + 64 }
}

extension Envelope {
    fileprivate func content(target: NameID, sender name: (String) -> NameID, payload: Bytes) -> Content {
        let sender = name(sender.description)
        let message = name(body.name)
        // The other side would close the link for one that is longer; a message is worth more than its trace.
        let trace = trace.count <= Peer.traceLimit ? trace : []
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
