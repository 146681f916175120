extension FrameDecoder {
    /// Reads the body of a frame.
    @inline(__always)
    static func content(of kind: FrameKind, from body: inout ByteReader, limits: FrameLimits) throws(WireError) -> Content {
        switch kind {
        case .ask:
            .ask(
                Ask(
                    target: try body.integer(),
                    sender: try body.integer(),
                    message: try body.integer(),
                    timeoutMicroseconds: try body.integer(),
                    trace: try body.field(),
                    payload: body.rest()
                )
            )
        case .send:
            .send(
                Send(
                    target: try body.integer(),
                    sender: try body.integer(),
                    message: try body.integer(),
                    trace: try body.field(),
                    payload: body.rest()
                )
            )
        case .reply:
            try body.flag("a reply's outcome") ? .reply(.failure(try failure(from: &body, limits: limits))) : .reply(.success(body.rest()))
        case .streamItem: .streamItem(body.rest())
        case .finish: .finish(body.rest())
        case .ack: .ack
        case .cancel: .cancel
        case .ready: .ready
        default: try rareContent(of: kind, from: &body, limits: limits)
        }
    }

    /// Reads the body of a frame that carries no traffic.
    @inline(never)
    private static func rareContent(of kind: FrameKind, from body: inout ByteReader, limits: FrameLimits) throws(WireError) -> Content {
        let nameLimit = limits.maximumNameLength
        switch kind {
        case .hello:
            return .hello(try hello(from: &body, limits: limits))
        case .welcome:
            let version = try body.integer(UInt8.self)
            let size = try body.integer(UInt32.self)
            let heartbeat = try body.integer(UInt32.self)
            let build = try body.text(limit: nameLimit)
            return .welcome(Welcome(version: version, buildID: build, maximumFrameSize: size, heartbeatMilliseconds: heartbeat))
        case .streamEnd:
            return .streamEnd(try body.flag("a stream's failure") ? try failure(from: &body, limits: limits) : nil)
        case .event:
            return .event(Event(subject: try body.integer(), name: try body.integer(), payload: body.rest()))
        case .subscribe:
            return .subscribe(Subscribe(subject: try body.integer(), name: try body.integer(), isActive: try body.flag("isActive")))
        case .watch:
            return .watch(Watch(subject: try body.integer()))
        case .terminated:
            return .terminated(Terminated(subject: try body.integer(), reason: try exit(from: &body)))
        case .start:
            let timeout = try body.integer(UInt32.self)
            let path = try body.text(limit: nameLimit)
            let type = try body.text(limit: nameLimit)
            return .start(Start(path: path, type: type, startTimeoutMilliseconds: timeout, configuration: body.rest()))
        case .stop:
            return .stop(Stop(target: try body.integer(), graceMilliseconds: try body.integer()))
        case .pause:
            return .pause(Pause(target: try body.integer(), reason: try body.integer()))
        case .resume:
            return .resume(Resume(target: try body.integer(), reason: try body.integer()))
        case .exited:
            return .exited(Exited(reason: try exit(from: &body)))
        case .dependency:
            return .dependency(Dependency(name: try body.integer(), version: try body.integer(), payload: body.rest()))
        case .inspect:
            return .inspect(Inspect(target: try body.integer(), operation: try body.text(limit: nameLimit), payload: body.rest()))
        case .ping:
            return .ping(try probe(from: &body))
        case .pong:
            return .pong(try probe(from: &body))
        case .credit:
            return .credit(Credit(target: try body.integer(), messages: try body.integer(), bytes: try body.integer()))
        case .goodbye:
            return .goodbye(try body.text())
        case .defineName:
            let id = try body.integer(NameID.self)
            guard id != 0 else {
                throw WireError(.malformed, "name 0 is the empty string and can't be defined", offset: body.position - 4)
            }
            return .defineName(DefineName(id: id, text: try body.text(limit: nameLimit)))
        case .ask, .reply, .streamItem, .send, .ack, .cancel, .ready, .finish:
            // `content(of:from:limits:)` reads these itself.
            throw WireError(.unknownKind, "kind \(kind) has no rare content", offset: body.position)
        }
    }

    private static func hello(from body: inout ByteReader, limits: FrameLimits) throws(WireError) -> Hello {
        let minimum = try body.integer(UInt8.self)
        let maximum = try body.integer(UInt8.self)
        guard minimum <= maximum else {
            throw WireError(.malformed, "versions \(minimum) to \(maximum) are no range", offset: body.position - 2)
        }
        let processID = try body.integer(Int32.self)
        let startTime = try body.integer(UInt64.self)
        let size = try body.integer(UInt32.self)
        let secretOffset = body.position
        let secret = try body.field()
        guard secret.count <= limits.maximumSecretLength else {
            throw WireError(
                .tooLarge,
                "a secret of \(secret.count) bytes is longer than \(limits.maximumSecretLength)",
                offset: secretOffset
            )
        }
        return Hello(
            minimumVersion: minimum,
            maximumVersion: maximum,
            secret: Array(secret),
            processID: processID,
            processStartTime: startTime,
            buildID: try body.text(limit: limits.maximumNameLength),
            maximumFrameSize: size
        )
    }

    private static func failure(from body: inout ByteReader, limits: FrameLimits) throws(WireError) -> Failure {
        Failure(
            code: try body.text(limit: limits.maximumNameLength),
            type: try body.text(),
            message: try body.text(),
            payload: body.rest()
        )
    }

    private static func exit(from body: inout ByteReader) throws(WireError) -> Exit {
        Exit(kind: Exit.Kind(rawValue: try body.integer()), code: try body.integer(), message: try body.text())
    }

    private static func probe(from body: inout ByteReader) throws(WireError) -> Probe {
        Probe(timestampNanoseconds: try body.integer(), kind: Probe.Kind(rawValue: try body.integer()))
    }
}
