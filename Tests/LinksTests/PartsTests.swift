import ConcurrencySupport
import TestSupport
import Testing
import WireProtocol

@testable import Links

/// Frames that are larger than the other side takes at once.
@Suite("Frames in parts", .timeLimit(minutes: 2))
struct PartsTests {
    private static let limit = FrameLimits.smallestFrameSize
    private static let maximum = 64 << 10

    /// The kinds of frames that carry values, with so many bytes of one.
    private static let kinds: [(name: String, content: @Sendable (Bytes) -> Content)] = [
        ("ask", { .ask(Ask(target: 0, sender: 0, message: 0, payload: $0)) }),
        ("send", { .send(Send(target: 0, sender: 0, message: 0, payload: $0)) }),
        ("reply", { .reply(.success($0)) }),
        ("stream-item", { .streamItem($0) }),
        ("event", { .event(Event(subject: 0, name: 0, payload: $0)) }),
        ("stream-end", { .streamEnd(Failure(code: "", type: "", message: "", payload: $0)) }),
        ("finish", { .finish($0) }),
    ]

    private static func encoded(_ frame: Frame) -> [UInt8] {
        var bytes: [UInt8] = []
        FrameEncoder.append(frame, to: &bytes)
        return bytes
    }

    /// Returns a frame of this size.
    private static func frame(_ content: (Bytes) -> Content, size: Int, correlation: UInt64 = 0) -> Frame {
        let overhead = encoded(Frame(content([]))).count
        var payload = Bytes(repeating: 1, count: size - overhead)
        // Parts that changed places would be noticed.
        for index in stride(from: 0, to: payload.count, by: 97) { payload[index] = UInt8(truncatingIfNeeded: index >> 3) }
        return Frame(content(payload), correlation: correlation)
    }

    private static func ask(_ route: NameID, _ correlation: UInt64, size: Int = 200) -> Frame {
        frame({ .ask(Ask(target: route, sender: 0, message: 9, payload: $0)) }, size: size, correlation: correlation)
    }

    @Test("A frame of any kind and size arrives as it left, up to the maximum; beyond it's refused, and so is any large one without parts")
    func sizes() async throws {
        try await LinkPair.with { pair in
            pair.child.limitFrames(to: Self.limit)
            let sizes = [Self.limit - 1, Self.limit, Self.limit + 1, 10 * Self.limit, Self.maximum, Self.maximum + 1]
            var sent: [Frame] = []
            for knowsParts in [false, true] {
                if knowsParts {
                    for link in [pair.child, pair.parent] { link.useParts(upTo: Self.maximum, and: UInt64(Self.maximum)) }
                }
                for (name, content) in Self.kinds {
                    for size in sizes {
                        let frame = Self.frame(content, size: size, correlation: UInt64(sent.count))
                        for lane in [Link.Lane.bulk, .control] {
                            let goes = size <= Self.limit || size <= Self.maximum && knowsParts && lane == .bulk
                            do throws(LinkError) {
                                try pair.child.send(frame, lane: lane)
                                #expect(goes, "\(name) of \(size) bytes left in the lane \(lane)")
                                sent.append(frame)
                            } catch {
                                #expect(!goes && error.code == .frameTooLarge, "\(name) of \(size) bytes: \(error)")
                            }
                        }
                    }
                }
            }
            let received = await pair.parentReceived(sent.count)
            #expect(Dictionary(grouping: received, by: \.self) == Dictionary(grouping: sent, by: \.self))
            #expect(!pair.parent.isClosed)
        }
    }

    @Test("Names that get another meaning while large frames leave don't change those frames")
    func names() async throws {
        try await LinkPair.with { pair in
            for link in [pair.child, pair.parent] { link.useParts(upTo: 4 << 20, and: 4 << 20) }
            pair.child.limitFrames(to: Self.limit)
            let payload = Bytes(repeating: 7, count: 8_000)
            let count = 70_000
            for number in 0..<count {
                try pair.child.send { name in
                    let subject = name("name \(number)")
                    let event = Event(subject: subject, name: 0, payload: number % 100 == 0 ? payload : [])
                    return Frame(.event(event), correlation: UInt64(number))
                }
            }
            _ = await pair.parentReceived(count)
            #expect(pair.namesAsRead.count == count)
            let wrong = pair.namesAsRead.first { $0.value != "name \($0.key)" }
            #expect(wrong == nil)
        }
    }

    @Test("No name of a frame gets the number of another name of the same frame")
    func namesOfOneFrame() async throws {
        try await LinkPair.with { pair in
            // As many as there are numbers: the next new name gets that of the first.
            try pair.child.send { name in
                var subject: NameID = 0
                for number in 0..<65_536 { subject = name("name \(number)") }
                return Frame(.event(Event(subject: subject, name: 0)), correlation: 0)
            }
            try pair.child.send { name in
                let subject = name("name 0")
                _ = name("new")
                return Frame(.event(Event(subject: subject, name: 0)), correlation: 1)
            }
            _ = await pair.parentReceived(2)
            #expect(pair.namesAsRead == [0: "name 65535", 1: "name 0"])
        }
    }

    @Test("Large frames wait on while all other names get another meaning, and small ones overtake them all the while")
    func namesInUse() throws {
        var sending = Sending()
        let routes = ["first", "second"].map { sending.outbound.intern($0) }
        let large = routes.enumerated().map { Self.ask($1, UInt64($0 + 1), size: 10_000) }
        for frame in large { try sending.outbound.append(frame, lane: .bulk, nil) }
        var texts: [NameID: String] = [:]
        var arrived: [String] = []
        func note(_ frames: [Frame]) {
            for frame in frames {
                switch frame.content {
                case .defineName(let name): texts[name.id] = name.text
                case .ask(let ask): arrived.append(texts[ask.target] ?? "nothing")
                default: Issue.record("\(frame)")
                }
            }
        }
        // More than there are numbers.
        for number in 0..<70_000 { _ = sending.outbound.intern("name \(number)") }
        #expect(!sending.outbound.large.isEmpty)
        try sending.outbound.append(Self.ask(sending.outbound.intern("small"), 3), lane: .bulk, nil)
        note(try sending.take())
        #expect(arrived == ["small", "first", "second"])
        // Their names may be replaced now.
        #expect(!routes.contains { sending.outbound.large.uses($0) })
        // When frames that wait use all numbers, they leave before any gets another meaning.
        try sending.outbound.append(Self.ask(routes[0], 4, size: 10_000), lane: .bulk, nil)
        try sending.outbound.append(Frame(.ready), lane: .bulk, nil)
        for number in 0...65_536 / 3 {
            #expect(number == 65_536 / 3 || !sending.outbound.large.isEmpty)
            let names = (0..<3).map { sending.outbound.intern("other \(number) \($0)") }
            try sending.outbound.append(Frame(.ask(Ask(target: names[0], sender: names[1], message: names[2]))), lane: .bulk, nil)
        }
        #expect(sending.outbound.large.isEmpty)
    }

    @Test("Parts leave behind all that was sealed before them, though there is room for them")
    func sealed() throws {
        var sending = Sending(limit: 1 << 20, maximum: 8 << 20)
        var sent: [Frame] = []
        var arrived: [Frame] = []
        for number in 0..<3 {
            // Each of the frames uses the name that was defined last; the second time all numbers get another meaning.
            var route: NameID = 0
            for name in 0..<40_000 { route = sending.outbound.intern("\(number) \(name)") }
            sent.append(Self.ask(route, UInt64(number + 1), size: 2 << 20))
            try sending.outbound.append(sent[number], lane: .bulk, nil)
            arrived += try sending.take(batches: 2)
        }
        arrived += try sending.take()
        var defined: Set<NameID> = []
        for frame in arrived {
            switch frame.content {
            case .defineName(let name): defined.insert(name.id)
            case .ask(let ask): #expect(defined.contains(ask.target), "\(frame.correlation)")
            default: Issue.record("\(frame)")
            }
        }
        #expect(arrived.filter { if case .ask = $0.content { true } else { false } } == sent)
    }

    // MARK: The order

    /// Frames, and whether each overtakes a large message to route 5 with the number 1 and a large reply to number 2.
    private static let others: [(frame: Frame, overtakes: Bool)] = [
        (ask(5, 10), false), (ask(6, 11), true), (Frame(.send(Send(target: 5, sender: 0, message: 9))), false),
        (Frame(.send(Send(target: 0, sender: 0, message: 9))), true), (Frame(.cancel, correlation: 1), false),
        (Frame(.cancel, correlation: 11), true), (Frame(.reply(.success([1])), correlation: 2), false),
        (Frame(.reply(.success([1])), correlation: 1), true), (Frame(.streamEnd(nil), correlation: 2), false),
        (Frame(.streamItem([1]), correlation: 3), true), (Frame(.event(Event(subject: 0, name: 0))), true),
        (Frame(.pong(Probe(timestampNanoseconds: 1, kind: .link))), true), (Frame(.stop(Stop(target: 0, graceMilliseconds: 1))), false),
        (Frame(.exited(Exited(reason: Exit(kind: .shutdown)))), false), (Frame(.finish([])), false),
    ]

    @Test("What has to stay behind a large message or reply does, and everything else overtakes it", arguments: others.indices)
    func order(index: Int) throws {
        let (other, overtakes) = Self.others[index]
        var sending = Sending()
        let large = [
            Self.ask(5, 1, size: 10_000), Self.frame({ .reply(.success($0)) }, size: 10_000, correlation: 2),
        ]
        for frame in large { try sending.outbound.append(frame, lane: .bulk, nil) }
        var frames = try sending.take(batches: 1)
        try sending.outbound.append(other, lane: .bulk, nil)
        // What comes after a frame of the runtime's that waits doesn't overtake that either.
        let next = Self.ask(7, 99)
        try sending.outbound.append(next, lane: .bulk, nil)
        frames += try sending.take()
        let isBarrier = !overtakes && [.stop, .exited, .finish].contains(Self.kind(other))
        let first = (overtakes ? [other] : []) + (isBarrier ? [] : [next])
        #expect(frames == first + large + (overtakes ? [] : [other]) + (isBarrier ? [next] : []))
    }

    private enum Kind { case stop, exited, finish, other }

    private static func kind(_ frame: Frame) -> Kind {
        switch frame.content {
        case .stop: .stop
        case .exited: .exited
        case .finish: .finish
        default: .other
        }
    }

    @Test("A batch carries one part at most, and no batch is larger than the other side takes; busy lanes don't keep parts from leaving")
    func batches() throws {
        var outbound = Sending(limit: 1 << 20, maximum: 8 << 20).outbound
        let large = Self.ask(5, 1, size: 2 << 20)
        let others = [60 << 10, 1 << 20].map { Self.frame({ .streamItem($0) }, size: $0, correlation: 7) }
        try outbound.append(large, lane: .bulk, nil)
        // As large as a frame may be, and behind the large one for the order.
        try outbound.append(Self.ask(5, 2, size: 1 << 20), lane: .bulk, nil)
        var batches = 0
        while let batch = outbound.continueTransmission() {
            batches += 1
            #expect(batch.count <= Link.maximumMessageSize())
            let frames = try Sending().decode(batch)
            #expect(frames.count { if case .part = $0.content { true } else { false } } <= 1)
            guard batches < 200 else { break }
            // As much as fits, in both lanes.
            for lane in [Link.Lane.control, .bulk] {
                for frame in others { try outbound.append(frame, lane: lane, nil) }
            }
            if outbound.large.isEmpty { break }
        }
        #expect(outbound.large.isEmpty && batches < 200, "it has left after \(batches) batches")
    }

    // MARK: Ends

    /// The sender of a large frame, who may have withdrawn it.
    private final class Sender: LargeFrameSender {
        let calls = Lock<[String]>([])
        let isWanted: Bool
        init(isWanted: Bool) { self.isWanted = isWanted }
        func leavesLater() { calls.withLock { $0.append("later") } }
        func leavesNow() -> Bool {
            calls.withLock { $0.append("now") }
            return isWanted
        }
    }

    @Test("A message that is given up before, midway or at its last part isn't completed, and the next one of its route leaves")
    func givenUp() throws {
        for batchesBefore in 0...3 {
            for isWanted in [true, false] {
                var sending = Sending()
                let sender = Sender(isWanted: isWanted)
                // Three parts.
                try sending.outbound.append(Self.ask(5, 1, size: 10_000), lane: .bulk, sender)
                try sending.outbound.append(Self.ask(5, 2), lane: .bulk, nil)
                let before = try sending.take(batches: batchesBefore)
                let hasLeft = isWanted && batchesBefore == 3
                let payload = 10_000 - Self.encoded(Self.ask(5, 1, size: 200)).count + Self.payload(of: Self.ask(5, 1))
                #expect(sending.outbound.abandon(1) == (hasLeft ? nil : payload))
                #expect(sending.outbound.abandon(1) == nil)
                let frames = try before + sending.take()
                #expect(frames.map(\.correlation) == (hasLeft ? [1, 2] : [2]), "\(batchesBefore) \(isWanted)")
                #expect(sender.calls.withLock { $0 } == (batchesBefore == 3 ? ["later", "now"] : ["later"]))
                #expect(sending.outbound.large.isEmpty && sending.outbound.large.count == 0)
            }
        }
    }

    private static func payload(of frame: Frame) -> Int {
        if case .ask(let ask) = frame.content { ask.payload.count } else { 0 }
    }

    // MARK: Hostile senders

    private static let hostile: [(name: String, parts: [Part], reason: String)] = {
        let ask = encoded(PartsTests.ask(0, 1))[...]
        let (head, tail) = (ask.prefix(50), ask.dropFirst(50))
        let nested = encoded(Frame(.part(Part(.first, [1]))))[...]
        let name = encoded(Frame(.defineName(DefineName(id: 1, text: "n"))))[...]
        return [
            ("a part without a first one", [Part(.middle, head)], "hasn't begun"),
            ("a last part without a first one", [Part(.last, head)], "hasn't begun"),
            ("nothing abandoned", [Part(.abandoned)], "hasn't begun"),
            ("two frames at a time", [Part(.first, head), Part(.first, head)], "within another one"),
            ("the second frame's last part alone", [Part(.first, head), Part(.last, tail), Part(.last, tail)], "hasn't begun"),
            ("a part after the abandonment", [Part(.first, head), Part(.abandoned), Part(.middle, tail)], "hasn't begun"),
            ("more than the maximum", [Part(.first, head)] + Array(repeating: Part(.middle, ask), count: 400), "more than 65536"),
            ("no frame", [Part(.first, head), Part(.last, head)], "can't be read"),
            ("a frame too short", [Part(.first, head.prefix(4)), Part(.last, head.prefix(4))], "can't be read"),
            ("two frames in one", [Part(.first, ask), Part(.last, ask)], "more than one frame"),
            ("a part in parts", [Part(.first, nested.prefix(9)), Part(.last, nested.dropFirst(9))], "may only come whole"),
            ("a name in parts", [Part(.first, name.prefix(9)), Part(.last, name.dropFirst(9))], "may only come whole"),
        ]
    }()

    @Test("A sender that doesn't keep the rules of parts loses its link, and no frame of it arrives", arguments: hostile.indices)
    func rules(index: Int) async throws {
        let (name, parts, reason) = Self.hostile[index]
        var assembly = FrameAssembly()
        assembly.limit = Self.maximum
        var frames: [Frame] = []
        do throws(LinkError) {
            for part in parts {
                if let bytes = try assembly.add(part) { frames.append(try FrameAssembly.frame(bytes, limits: .default)) }
            }
            Issue.record("\(name) was accepted")
        } catch {
            #expect(error.message.contains(reason), "\(name): \(error)")
            #expect(error.code == .violation || error.code == .malformed)
        }
        #expect(frames.count == (name.hasPrefix("the second frame") ? 1 : 0))
        try await LinkPair.with { pair in
            pair.parent.useParts(upTo: Self.maximum, and: UInt64(Self.maximum))
            for part in parts { try? pair.child.send(Frame(.part(part))) }
            try await eventually("the link is closed") { pair.parent.isClosed }
        }
    }

    @Test("A part on a link whose receiver knows none closes it")
    func unknown() async throws {
        try await LinkPair.with { pair in
            try pair.child.send(Frame(.part(Part(.first, [1]))))
            try await eventually("the link is closed") { pair.parent.isClosed }
        }
    }

    @Test("Random frames that are cut anywhere come back; parts that are mixed up, cut off or changed are errors or frames")
    func random() {
        var random = SeededGenerator()
        var (whole, refused) = (0, 0)
        for round in 0..<rounds(short: 2_000, all: 10_000, long: 100_000) {
            let payload = Self.bytes(upTo: 3_000, &random)
            let frame = Frame(round % 3 == 0 ? .streamItem(payload) : .reply(.success(payload)), correlation: random.next())
            let bytes = Self.encoded(frame)
            var places: Set<Int> = []
            for _ in 0..<Int.random(in: 1..<9, using: &random) { places.insert(Int.random(in: 1..<bytes.count, using: &random)) }
            let cuts = places.sorted()
            var parts = zip([0] + cuts, cuts + [bytes.count]).map { start, end in
                Part(start == 0 ? .first : end == bytes.count ? .last : .middle, bytes[start..<end])
            }
            let isChanged = round % 2 == 1
            if isChanged {
                let index = Int.random(in: parts.indices, using: &random)
                switch Int.random(in: 0..<4, using: &random) {
                case 0: parts.remove(at: index)
                case 1: parts.swapAt(index, Int.random(in: parts.indices, using: &random))
                case 2: parts[index] = Part(.abandoned)
                default: parts[index].bytes = Self.bytes(upTo: 40, &random)
                }
            }
            var assembly = FrameAssembly()
            assembly.limit = Self.maximum
            do throws(LinkError) {
                for part in parts {
                    guard let bytes = try assembly.add(part) else { continue }
                    let arrived = try FrameAssembly.frame(bytes, limits: .default)
                    if !isChanged { #expect(arrived == frame) }
                    whole += 1
                }
            } catch {
                #expect(isChanged, "\(error)")
                refused += 1
            }
        }
        #expect(whole > 0 && refused > 0)
    }

    private static func bytes(upTo count: Int, _ random: inout SeededGenerator) -> Bytes {
        Bytes((0..<Int.random(in: 1...count, using: &random)).map { _ in UInt8.random(in: 0...255, using: &random) })
    }

    /// What leaves on a link, and what its other side makes of it.
    private struct Sending {
        var outbound: Outbound
        private var assembly = FrameAssembly()

        init(limit: Int = PartsTests.limit, maximum: Int = PartsTests.maximum) {
            outbound = Outbound(maximumFrameSize: limit)
            outbound.maximumMessageSize = maximum
            assembly.limit = maximum
        }

        func decode(_ batch: [UInt8]) throws -> [Frame] {
            var decoder = FrameDecoder(batch)
            var frames: [Frame] = []
            while let frame = try decoder.next() { frames.append(frame) }
            return frames
        }

        /// Returns the frames that have arrived whole with so many batches.
        mutating func take(batches: Int = .max) throws -> [Frame] {
            var frames: [Frame] = []
            var count = 0
            while count < batches, let batch = outbound.continueTransmission() {
                count += 1
                for frame in try decode(batch) {
                    guard case .part(let part) = frame.content else {
                        frames.append(frame)
                        continue
                    }
                    if let bytes = try assembly.add(part) { frames.append(try FrameAssembly.frame(bytes, limits: .default)) }
                }
            }
            return frames
        }
    }
}
