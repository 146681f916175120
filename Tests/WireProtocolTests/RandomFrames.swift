import TestSupport
import WireProtocol

extension SeededGenerator {
    /// Returns a frame of a random kind with random fields.
    mutating func frame() -> Frame {
        let content = content(Int.random(in: 0..<Self.kinds, using: &self))
        var flags = Flags(rawValue: number())
        // An ask has the flag if it has an origin, and only then.
        if case .ask(let ask) = content {
            if ask.origin == 0 { flags.remove(.acknowledged) } else { flags.insert(.acknowledged) }
        }
        return Frame(
            content,
            correlation: next(),
            codec: PayloadCodec(rawValue: number()),
            flags: flags,
            incarnation: number(),
            sequence: next(),
            acknowledgement: next(),
            epoch: number()
        )
    }

    /// The number of kinds of content that ``content(_:)`` makes.
    static let kinds = 27

    mutating func content() -> Content { content(Int.random(in: 0..<Self.kinds, using: &self)) }

    mutating func content(_ kind: Int) -> Content {
        switch kind {
        case 0:
            let versions = [number() as UInt8, number()].sorted()
            return .hello(
                Hello(
                    minimumVersion: versions[0],
                    maximumVersion: versions[1],
                    secret: bytes(upTo: 40),
                    processID: number(),
                    processStartTime: number(),
                    buildID: text(),
                    maximumFrameSize: number()
                )
            )
        case 1: return .welcome(Welcome(version: number(), buildID: text(), maximumFrameSize: number(), heartbeatMilliseconds: number()))
        case 2:
            let origin: UInt64 = number()
            return .ask(
                Ask(
                    target: number(),
                    sender: number(),
                    message: number(),
                    timeoutMicroseconds: number(),
                    trace: slice(upTo: 200),
                    payload: slice(),
                    origin: origin,
                    since: origin == 0 ? 0 : number()
                )
            )
        case 3: return .reply(Bool.random(using: &self) ? .success(slice()) : .failure(failure()))
        case 4: return .streamItem(slice())
        case 5: return .streamEnd(Bool.random(using: &self) ? nil : failure())
        case 6: return .send(Send(target: number(), sender: number(), message: number(), trace: slice(upTo: 200), payload: slice()))
        case 7: return .ack
        case 8: return .cancel
        case 9: return .event(Event(subject: number(), name: number(), payload: slice()))
        case 10: return .subscribe(Subscribe(subject: number(), name: number(), isActive: Bool.random(using: &self)))
        case 11: return .start(Start(path: text(), type: text(), startTimeoutMilliseconds: number(), configuration: slice()))
        case 12: return .stop(Stop(target: number(), graceMilliseconds: number()))
        case 13: return .pause(Pause(target: number(), reason: number()))
        case 14: return .resume(Resume(target: number(), reason: number()))
        case 15: return .ready
        case 16: return .finish(slice())
        case 17: return .exited(Exited(reason: exit()))
        case 18: return .dependency(Dependency(name: number(), version: number(), payload: slice()))
        case 19: return .inspect(Inspect(target: number(), operation: text(), payload: slice()))
        case 20: return .ping(Probe(timestampNanoseconds: number(), kind: Probe.Kind(rawValue: number())))
        case 21: return .pong(Probe(timestampNanoseconds: number(), kind: Probe.Kind(rawValue: number())))
        case 22: return .credit(Credit(target: number(), messages: number(), bytes: number()))
        case 23: return .goodbye(text())
        case 24: return .defineName(DefineName(id: max(1, number()), text: text()))
        case 25:
            let place: Part.Place = [.first, .middle, .last, .abandoned][Int.random(in: 0..<4, using: &self)]
            return .part(Part(place, place == .abandoned ? [] : [1] + slice()))
        default:
            let count = Int.random(in: 0..<5, using: &self)
            let rows = (0..<count).map { _ in Directory.Row(text(), Directory.Row.Traits(rawValue: number())) }
            return .directory(Directory(distance: number(), buildID: text(), isLast: Bool.random(using: &self), rows: rows))
        }
    }

    /// Returns a small, a large or any number: the ends are where mistakes live.
    mutating func number<Value: FixedWidthInteger>() -> Value {
        switch Int.random(in: 0..<4, using: &self) {
        case 0: .min
        case 1: .max
        case 2: Value(truncatingIfNeeded: next() & 0x7F)
        default: .random(in: .min ... .max, using: &self)
        }
    }

    private mutating func slice(upTo count: Int = 300) -> Bytes { bytes(upTo: count)[...] }

    private mutating func failure() -> Failure { Failure(code: text(), type: text(), message: text(upTo: 200), payload: slice()) }

    private mutating func exit() -> Exit { Exit(kind: Exit.Kind(rawValue: number()), code: number(), message: text()) }
}
