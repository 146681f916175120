import WireProtocol

/// Frames of all kinds whose numbers are either extreme or those of something that exists.
struct SenselessFrames<Dice: RandomNumberGenerator> {
    private var dice: Dice
    /// Whether messages have numbers that none had before: otherwise a number that is in use ends the link soon.
    private var hasFreshNumbers = false
    private var fresh: UInt64 = 1 << 40
    /// Whether frames come in parts on this link; they must keep their order then, and so have one lane.
    private(set) var usesParts = false
    /// The parts that are still to come of a frame that has begun.
    private var parts: [Part] = []

    init(_ dice: Dice) { self.dice = dice }

    /// Begins anew, for another link.
    mutating func beginLink() { (hasFreshNumbers, usesParts, parts) = (coin(), coin(), []) }

    mutating func coin() -> Bool { Bool.random(using: &dice) }

    private mutating func pick<Element>(_ elements: [Element]) -> Element { elements[Int.random(in: 0..<elements.count, using: &dice)] }

    private mutating func number() -> UInt64 { pick([0, 1, 2, 3, 5, 10, 20, 25, 63, 64, 65, 1 << 31, 1 << 32, .max - 1, .max]) }

    private mutating func payload() -> Bytes {
        switch Int.random(in: 0..<20, using: &dice) {
        case 0: Bytes([UInt8](repeating: 0x5B, count: 100_000))
        case 1: Bytes([UInt8](repeating: 0xFF, count: Int.random(in: 0..<1_000, using: &dice)))
        case 2: Bytes("{\"count\":18446744073709551615,\"letters\":[]}".utf8)
        case 3: Bytes("{\"timeoutMilliseconds\":-9223372036854775808,\"patienceMilliseconds\":9223372036854775807}".utf8)
        default: Bytes("{}".utf8)
        }
    }

    private mutating func name() -> String {
        pick([
            "", "/raw", "a", "ab", "abc", "abcd", "coordinators.Navigate", "coordinators.OpenRoute", "coordinators.tap",
            "coordinators.dead-letters", "coordinators.lives",
        ])
    }

    /// An id that was defined, or was never.
    private mutating func id(_ intern: (String) -> NameID) -> NameID { coin() || coin() ? intern(name()) : pick([0, 1, 7, 65_536, .max]) }

    private mutating func failure() -> Failure {
        Failure(
            code: pick(["", "unhandled", "cancelled", "no such code"]),
            type: pick(["", "Si", "Swift.Int"]),
            message: "m",
            payload: payload()
        )
    }

    mutating func next(_ intern: (String) -> NameID) -> Frame {
        if usesParts, parts.isEmpty, pick([0, 1, 2, 3]) == 0 { cut(frame(of: pick([0, 1, 2, 3, 5, 6, 7, 8, 9, 15]), intern)) }
        if !parts.isEmpty, coin() { return Frame(.part(parts.removeFirst())) }
        return frame(of: Int.random(in: 0..<20, using: &dice), intern)
    }

    /// Cuts a frame into parts, of which one is seldom lost, doubled or changed.
    private mutating func cut(_ frame: Frame) {
        var bytes: [UInt8] = []
        FrameEncoder.append(frame, to: &bytes)
        let first = Int.random(in: 1..<bytes.count, using: &dice)
        let second = Int.random(in: first..<bytes.count, using: &dice)
        parts = [Part(.first, bytes[..<first]), Part(.middle, bytes[first..<second]), Part(.last, bytes[second...])]
        parts.removeAll { $0.bytes.isEmpty }
        switch Int.random(in: 0..<32, using: &dice) {
        case 0: parts.removeFirst()
        case 1: parts.append(parts[0])
        case 2: parts[parts.count - 1].bytes = payload()
        case 3...5: parts[parts.count - 1] = Part(.abandoned)
        default: break
        }
    }

    private mutating func frame(of kind: Int, _ intern: (String) -> NameID) -> Frame {
        let content: Content
        switch kind {
        case 0...4:
            content = .ask(
                Ask(
                    target: id(intern),
                    sender: id(intern),
                    message: id(intern),
                    timeoutMicroseconds: number(),
                    trace: coin() ? [] : Bytes([UInt8](repeating: 7, count: pick([1, 25, 1_024]))),
                    payload: payload()
                )
            )
        case 5, 6: content = .send(Send(target: id(intern), sender: id(intern), message: id(intern), trace: [], payload: payload()))
        case 7: content = .reply(coin() ? .success(payload()) : .failure(failure()))
        case 8: content = .streamItem(payload())
        case 9: content = .streamEnd(coin() ? nil : failure())
        case 10: content = .cancel
        case 11...13: content = .credit(Credit(target: id(intern), messages: UInt32(truncatingIfNeeded: number()), bytes: number()))
        case 14: content = .inspect(Inspect(target: id(intern), operation: pick(["", "inspect", "process-started"]), payload: payload()))
        case 15: content = .event(Event(subject: id(intern), name: id(intern), payload: payload()))
        case 16:
            content = .exited(Exited(reason: Exit(kind: .init(rawValue: UInt8(truncatingIfNeeded: number())), code: .min, message: "m")))
        case 17: content = .stop(Stop(target: id(intern), graceMilliseconds: UInt32(truncatingIfNeeded: number())))
        case 18: content = .ping(Probe(timestampNanoseconds: number(), kind: .init(rawValue: 255)))
        default:
            content = pick([
                .ack, .ready, .goodbye("g"), .finish([]), .resume(Resume(target: 1, reason: 255)),
                .subscribe(Subscribe(subject: 9, name: 9, isActive: true)),
            ])
        }
        var correlation = coin() ? UInt64.random(in: 0..<40, using: &dice) : number()
        switch content {
        case .ask, .send:
            fresh += 1
            if hasFreshNumbers { correlation = fresh }
        default: break
        }
        return Frame(
            content,
            correlation: correlation,
            codec: PayloadCodec(rawValue: pick([0, 1, 2, 3, 255])),
            flags: Flags(rawValue: UInt8(truncatingIfNeeded: number())),
            incarnation: UInt32(truncatingIfNeeded: number())
        )
    }
}
