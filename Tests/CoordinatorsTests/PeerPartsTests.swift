import ConcurrencySupport
import Links
import Synchronization
import TestSupport
import Testing
import WireProtocol

@testable import Coordinators

/// Messages and answers that are larger than a frame, over a real socket: what ends them midway, and what the asker is told.
@Suite("Peers: messages in parts", .timeLimit(minutes: 2))
struct PeerPartsTests {
    private static let maximum = 8 << 20
    /// More than the socket takes while nobody reads.
    private static let large = 4 << 20

    private static func with(_ body: (RawPeer) async throws -> Void) async throws {
        try await RawPeer.with { raw in
            raw.peer.link.limitFrames(to: FrameLimits.smallestFrameSize)
            raw.link.limitFrames(to: FrameLimits.smallestFrameSize)
            for link in [raw.peer.link, raw.link] { link.useParts(upTo: maximum, and: UInt64(maximum)) }
            try await body(raw)
        }
    }

    enum End: String, CaseIterable, CustomTestStringConvertible {
        case cancelled, timedOut, linkLost
        var testDescription: String { rawValue }

        var code: CoordinatorError.Code? {
            switch self {
            case .cancelled: nil
            case .timedOut: .timedOut
            case .linkLost: .peerLost
            }
        }
    }

    enum Way: String, CaseIterable, CustomTestStringConvertible {
        case ask, send
        var testDescription: String { rawValue }
    }

    @Test(
        "A request that ends before its last part has left wasn't executed, and what waited behind it goes on",
        arguments: Way.allCases,
        End.allCases
    )
    func midway(_ way: Way, _ end: End) async throws {
        try await Self.with { raw in
            let payload = Bytes(repeating: 0x20, count: Self.large)
            var ended: RawPeer.Outcome?
            var next: RawPeer.Outcome?
            try await raw.withoutReading {
                let (envelope, outcome) = raw.forward("Large", to: "/route", isOneWay: way == .send, payload: payload)
                (_, next) = raw.forward("Next", to: "/route", isOneWay: way == .send)
                #expect(!envelope.mayBeExecuted)
                switch end {
                case .cancelled: envelope.cancel()
                case .timedOut: envelope.timeOut()
                case .linkLost: raw.peer.close()
                }
                ended = outcome
            }
            try await eventually("the asker is told") { ended?.outcome != nil }
            guard case .failure(let error)? = ended?.outcome else {
                Issue.record("it was answered")
                return
            }
            if let code = end.code {
                let error = try #require(error as? CoordinatorError)
                #expect(error.code == code && !error.maybeExecuted, "\(error)")
            } else {
                #expect(error is CancellationError)
            }
            if end == .linkLost {
                try await eventually("so is the next") { next?.code == .peerLost }
            } else {
                try await eventually("the next one arrives") { raw.asked.values.contains("Next") }
                #expect(next?.outcome == nil)
            }
            #expect(!raw.asked.values.contains("Large"))
            #expect(raw.counts.openAsks.load(ordering: .relaxed) == (end == .linkLost ? 0 : 1))
        }
    }

    @Test("Small messages pass a large one that the other side reads slowly, and those of its route arrive after it")
    func passing() async throws {
        try await Self.with { raw in
            let payload = Bytes(repeating: 0x20, count: Self.large)
            try await raw.withoutReading {
                raw.forward("Large", to: "/route", payload: payload)
                raw.forward("Behind", to: "/route")
                raw.forward("Beside", to: "/other")
            }
            try await eventually("all have arrived") { raw.asked.count == 3 }
            let names = raw.frames.compactMap { frame -> String? in
                if case .ask = frame.content { raw.asked[frame.correlation] } else { nil }
            }
            #expect(names == ["Beside", "Large", "Behind"])
        }
    }

    @Test("Replies, elements and ends of streams may be larger than a frame")
    func answers() async throws {
        try await Self.with { raw in
            let text = String(repeating: "x", count: 100_000)
            try raw.ask("Ask", 1, bytes: 100_000)
            try raw.ask("Stream", 2, flags: .stream)
            try await eventually("they came") { raw.envelopes.count == 2 }
            let stream = try #require(raw.envelopes.first { $0.flow != nil })
            try await stream.flow?.send(.value(text))
            stream.complete(.failure(RemoteError(type: "Large", description: text)))
            raw.envelopes.first { $0.flow == nil }?.complete(.success(.value(text)))
            try await eventually("they are answered") {
                raw.frames.count { frame in
                    switch frame.content {
                    case .reply(.success(let bytes)): frame.correlation == 1 && bytes.count == text.utf8.count + 2
                    case .streamItem(let bytes): frame.correlation == 2 && bytes.count == text.utf8.count + 2
                    case .streamEnd(let failure?): frame.correlation == 2 && failure.message == Failures.bounded(text)
                    default: false
                    }
                } == 3
            }
            let order = raw.frames.compactMap { frame -> String? in
                switch frame.content {
                case .streamItem: "item"
                case .streamEnd: "end"
                default: nil
                }
            }
            #expect(order == ["item", "end"])
        }
    }

    @Test("What is larger than the maximum is refused before anything leaves")
    func maximum() async throws {
        try await Self.with { raw in
            let (envelope, outcome) = raw.forward("Large", payload: Bytes(repeating: 0x20, count: Self.maximum))
            #expect(outcome.code == .messageTooLarge && !envelope.mayBeExecuted)
            try await raw.settle()
            #expect(raw.asked.isEmpty && raw.closed == nil)
        }
    }

    private static let greatest = 64 << 20

    private static func withLargeParts(_ body: (RawPeer) async throws -> Void) async throws {
        try await RawPeer.with { raw in
            for link in [raw.peer.link, raw.link] { link.useParts(upTo: greatest, and: UInt64(greatest)) }
            try await body(raw)
        }
    }

    @Test("64 MiB cross both ways, and small messages pass")
    func largest() async throws {
        try await Self.withLargeParts { raw in
            let value = Bytes(repeating: 0x20, count: Self.greatest - 400)
            let (_, outcome) = raw.forward("Large", to: "/route", payload: value)
            raw.forward("Beside", to: "/other")
            try await eventually("both have arrived") { raw.asked.count == 2 }
            let asks = raw.frames.compactMap { frame -> (name: String?, correlation: UInt64, isWhole: Bool)? in
                guard case .ask(let ask) = frame.content else { return nil }
                return (raw.asked[frame.correlation], frame.correlation, ask.payload == value)
            }
            #expect(asks.map(\.name) == ["Beside", "Large"] && asks.last?.isWhole == true)
            try raw.link.send(Frame(.reply(.success(value)), correlation: try #require(asks.last?.correlation), codec: .json))
            try await eventually("the answer is there") { outcome.outcome != nil }
            guard case .success(.encoded(_, let bytes))? = outcome.outcome else {
                Issue.record("it wasn't answered")
                return
            }
            #expect(bytes.count == value.count)
        }
    }

    // MARK: Streams

    @Test("A stream whose large elements aren't read waits by their bytes, and goes on as they're read, with all that waits")
    func bytesOfStream() async throws {
        try await Self.withLargeParts { raw in
            try raw.ask("Stream", 2, flags: .stream)
            try await eventually("it came") { !raw.envelopes.isEmpty }
            let flow = try #require(raw.envelopes.first?.flow)
            var elements: Int { raw.frames.count { if case .streamItem = $0.content { true } else { false } } }
            let element = Answer.encoded(.json, Bytes(repeating: 0x20, count: 6 << 20))
            // Small ones are bounded by their number alone, and the third large one is the last for which there is room.
            try await flow.send(.value("small"))
            for _ in 0..<3 { try await flow.send(element) }
            let sent = Collected<Int>()
            // Each runs at once, up to where it waits.
            let waiting = (0..<3).map { number in
                Task.immediate {
                    try await flow.send(.value(number))
                    sent.append(number)
                }
            }
            #expect(sent.all.isEmpty)
            try await eventually("the four have arrived") { elements == 4 }
            // The small one makes no room for bytes, and the first large one for all that wait.
            for _ in 0..<2 {
                #expect(sent.all.isEmpty)
                try raw.link.send(Frame(.credit(Credit(target: 0, messages: 1, bytes: 0)), correlation: 2))
                try await raw.settle()
            }
            for task in waiting { try await task.value }
            try await flow.send(element)
            let next = Task.immediate { try await flow.send(.value("next")) }
            next.cancel()
            await #expect(throws: CancellationError.self) { try await next.value }
            try await eventually("all that were sent have arrived") { elements == 8 }
        }
    }

    @Test("A stream of the other side that sends large elements without end is ended, and the link lives on")
    func flood() async throws {
        try await Self.withLargeParts { raw in
            let received = Lock(0)
            let flow = ReplyFlow { answer in
                received.withLock { $0 += answer.receivedBytes }
                return answer.receivedBytes
            }
            let (_, outcome) = raw.forward("Stream", flow: flow)
            try await eventually("it is asked") { !raw.asked.isEmpty }
            let correlation = try #require(raw.asked.first?.key)
            let element = Bytes(repeating: 0x20, count: 16 << 20)
            for number in 1...ReplyFlow.receivedLimit / element.count {
                try raw.link.send(Frame(.streamItem(element), correlation: correlation, codec: .json))
                try await eventually("it has arrived") { received.withLock { $0 } == number * element.count }
            }
            #expect(outcome.outcome == nil)
            try raw.link.send(Frame(.streamItem(element), correlation: correlation, codec: .json))
            try await eventually("it has ended") { outcome.outcome != nil }
            #expect(outcome.code == .mailboxFull)
            try await raw.settle()
            #expect(received.withLock { $0 } == ReplyFlow.receivedLimit && raw.closed == nil)
        }
    }

    // MARK: Credit

    @Test("A large message takes a mebibyte of the windows of its route and its link, and the rest of one for large messages")
    func windows() {
        let size = CreditWindow.largestSize + 24 << 20
        var sender = SendWindows<Int>(waitsForWindow: true)
        _ = sender.add(.link, route: "")
        var receiver = ReceiveCredits()
        var waiting: [Int] = []
        // 24 MiB beyond the first each: any room is enough, so that three fit into 64.
        for number in 0..<4 {
            let leaves = sender.enqueue(number, route: "route \(number)", size: size)
            #expect(leaves == (number < 3))
            if !leaves { waiting.append(number) }
            #expect(receiver.spend("route \(number)", size) == leaves)
        }
        // Small ones aren't kept from leaving.
        #expect(sender.takeOpen(route: "small", size: 100) && receiver.spend("small", 100))
        let credit = receiver.release("route 0", size)
        #expect(credit.map(\.route) == ["route 0", CreditWindow.largeRoute])
        #expect(credit.map(\.bytes) == [CreditWindow.largestSize, 24 << 20])
        let free = credit.flatMap { sender.add(CreditWindow(messages: $0.messages, bytes: $0.bytes), route: $0.route) }
        #expect(free == waiting && receiver.spend("route 3", size))
        // One that isn't wanted any more keeps no other from leaving.
        for route in ["route 6", "route 7"] { _ = sender.enqueue(6, route: route, size: size) }
        let behind = sender.enqueue(7, route: "route 7", size: 1)
        #expect(!behind && sender.release { $0 != 6 } == [7] && sender.count == 0)
        sender.takeBack(1, route: "route 7")
        // What is taken back has its room again.
        sender.takeBack(size, route: "route 3")
        let leaves = sender.enqueue(5, route: "route 5", size: size)
        #expect(leaves)
    }
}
