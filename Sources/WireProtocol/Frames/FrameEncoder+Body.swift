extension FrameEncoder {
    /// Appends the body of a frame.
    ///
    /// Kept apart from the kinds that carry traffic, so that those stay small.
    @inline(never)
    static func appendBody(of content: Content, to batch: inout [UInt8]) {
        switch content {
        case .hello(let hello):
            batch.append(hello.minimumVersion)
            batch.append(hello.maximumVersion)
            batch.appendInteger(hello.processID)
            batch.appendInteger(hello.processStartTime)
            batch.appendInteger(hello.maximumFrameSize)
            batch.appendField(hello.secret[...])
            batch.appendText(hello.buildID)
        case .welcome(let welcome):
            batch.append(welcome.version)
            batch.appendInteger(welcome.maximumFrameSize)
            batch.appendInteger(welcome.heartbeatMilliseconds)
            batch.appendText(welcome.buildID)
        case .reply(.failure(let failure)), .streamEnd(.some(let failure)):
            batch.append(1)
            batch.appendText(failure.code)
            batch.appendText(failure.type)
            batch.appendText(failure.message)
            batch.append(contentsOf: failure.payload)
        case .streamEnd(.none):
            batch.append(0)
        case .event(let event):
            batch.appendInteger(event.subject)
            batch.appendInteger(event.name)
            batch.append(contentsOf: event.payload)
        case .subscribe(let subscribe):
            batch.appendInteger(subscribe.subject)
            batch.appendInteger(subscribe.name)
            batch.append(subscribe.isActive ? 1 : 0)
        case .watch(let watch):
            batch.appendInteger(watch.subject)
        case .terminated(let terminated):
            batch.appendInteger(terminated.subject)
            append(terminated.reason, to: &batch)
        case .start(let start):
            batch.appendInteger(start.startTimeoutMilliseconds)
            batch.appendText(start.path)
            batch.appendText(start.type)
            batch.append(contentsOf: start.configuration)
        case .stop(let stop):
            batch.appendInteger(stop.target)
            batch.appendInteger(stop.graceMilliseconds)
        case .pause(let pause):
            batch.appendInteger(pause.target)
            batch.append(pause.reason)
        case .resume(let resume):
            batch.appendInteger(resume.target)
            batch.append(resume.reason)
        case .exited(let exited):
            append(exited.reason, to: &batch)
        case .dependency(let dependency):
            batch.appendInteger(dependency.name)
            batch.appendInteger(dependency.version)
            batch.append(contentsOf: dependency.payload)
        case .inspect(let inspect):
            batch.appendInteger(inspect.target)
            batch.appendText(inspect.operation)
            batch.append(contentsOf: inspect.payload)
        case .ping(let probe), .pong(let probe):
            batch.appendInteger(probe.timestampNanoseconds)
            batch.append(probe.kind.rawValue)
        case .credit(let credit):
            batch.appendInteger(credit.target)
            batch.appendInteger(credit.messages)
            batch.appendInteger(credit.bytes)
        case .goodbye(let text):
            batch.appendText(text)
        case .defineName(let name):
            batch.appendInteger(name.id)
            batch.appendText(name.text)
        case .ask, .send, .reply(.success), .streamItem, .finish, .ack, .cancel, .ready:
            break  // `append(_:to:)` writes these itself
        }
    }

    private static func append(_ reason: Exit, to batch: inout [UInt8]) {
        batch.append(reason.kind.rawValue)
        batch.appendInteger(reason.code)
        batch.appendText(reason.message)
    }
}
