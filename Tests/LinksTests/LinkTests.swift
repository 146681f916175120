import ConcurrencySupport
import Glibc
import TestSupport
import Testing
import WireProtocol

@testable import Links

@Suite("Links", .serialized, .timeLimit(minutes: 2))
struct LinkTests {
    @Test("Frames arrive in order, with their names")
    func order() async throws {
        try await LinkPair.with { pair in
            let count = 20_000
            for number in 0..<count {
                try pair.child.send { name in
                    Frame(
                        .send(Send(target: name("/t"), sender: name("/s"), message: name("Message.\(number % 100)"))),
                        correlation: UInt64(number)
                    )
                }
            }
            let received = await pair.parentReceived(count)
            #expect(received.map(\.correlation) == (0..<UInt64(count)).map { $0 })
            let names = received.compactMap { frame -> String? in
                guard case .send(let send) = frame.content else { return nil }
                return pair.parent.text(of: send.message)
            }
            #expect(names == (0..<count).map { "Message.\($0 % 100)" })
        }
    }

    @Test("A link with more names than it can hold drops older ones, and every frame keeps its meaning")
    func manyNames() async throws {
        try await LinkPair.with { pair in
            let count = 80_000
            for number in 0..<count {
                let lane: Link.Lane = number % 7 == 0 ? .control : .bulk
                try pair.child.send(lane: lane) { name in
                    Frame(.event(Event(subject: name("name \(number)"), name: 0)), correlation: UInt64(number))
                }
            }
            _ = await pair.parentReceived(count)
            #expect(pair.namesAsRead.count == count)
            let wrong = pair.namesAsRead.first { $0.value != "name \($0.key)" }
            #expect(wrong == nil)
        }
    }

    #if !SLOW_PATH_ONLY
    @Test("Frames that nobody is in a hurry for arrive by themselves, in order with all others")
    func later() async throws {
        try await LinkPair.with { pair in
            let count = 20_000
            for number in 0..<count {
                let frame = Frame(.ack, correlation: UInt64(number))
                if number % 1_000 == 999 {
                    try pair.child.send(frame)
                } else {
                    try pair.child.append { _ in frame }
                    pair.child.flushSoon()
                }
            }
            #expect(await pair.parentReceived(count).map(\.correlation) == (0..<UInt64(count)).map { $0 })
            for number in count..<count + 20 {
                try pair.child.append { _ in Frame(.ack, correlation: UInt64(number)) }
                pair.child.flushSoon()
                try pair.child.append { _ in Frame(.ack, correlation: UInt64(number)) }
                pair.child.flushSoon()
                _ = await pair.parentReceived(count + 2 * (number - count + 1))
            }
        }
    }

    @Test("Frames that nobody is in a hurry for leave after a pause, when they are many, or when none has left between two looks")
    func plans() throws {
        var outbound = Outbound(maximumFrameSize: 1 << 20)
        func append() throws { try outbound.batches.append(Frame(.ack), lane: .bulk, limit: 1 << 20) }
        func transmit() { #expect(outbound.continueTransmission() != nil && outbound.continueTransmission() == nil) }
        try append()
        #expect(outbound.planFlush(now: .now + .milliseconds(1)) == .now)
        transmit()
        let busy = MonotonicTime.now + .seconds(-1)
        try append()
        #expect(outbound.planFlush(now: busy) == .later)
        try append()
        #expect(outbound.planFlush(now: busy) == .none)
        while outbound.batches.count < 8 << 10 { try append() }
        #expect(outbound.planFlush(now: busy) == .now)
        transmit()
        try append()
        #expect(outbound.resumeFlush() == .later)
        #expect(outbound.resumeFlush() == .now)
        transmit()
        try append()
        #expect(outbound.planFlush(now: busy) == .later)
        transmit()
        #expect(outbound.resumeFlush() == .none)
        try append()
        #expect(outbound.planFlush(now: busy) == .later)
        outbound.close(LinkError(.closed, ""))
        #expect(outbound.resumeFlush() == .none)
    }
    #endif

    @Test("A control frame overtakes bulk that waits")
    func lanes() throws {
        var batches = OutboundBatches()
        for number in 0..<10 {
            try? batches.append(Frame(.ack, correlation: UInt64(number)), lane: .bulk, limit: 1 << 20)
        }
        try? batches.append(Frame(.ready, correlation: 99), lane: .control, limit: 1 << 20)
        var decoder = FrameDecoder(batches.next() ?? [])
        let first = try decoder.next()
        #expect(first?.content == .ready)
    }

    @Test("Frames whose order is settled leave together")
    func seals() throws {
        var batches = OutboundBatches()
        let count = 20_000
        for number in 0..<count {
            try batches.append(Frame(.ack, correlation: UInt64(number)), lane: number % 7 == 0 ? .control : .bulk, limit: 1 << 20)
            batches.seal()
        }
        var received: [UInt64] = []
        var sent = 0
        while let batch = batches.next() {
            sent += 1
            #expect(batch.count <= OutboundBatches.batchSize)
            var decoder = FrameDecoder(batch)
            while let frame = try decoder.next() { received.append(frame.correlation) }
        }
        #expect(received == (0..<UInt64(count)).map { $0 })
        #expect(sent < 20)
        #expect(batches.count == 0)
    }

    @Test("Frames carry the link's epoch, one without an epoch is accepted, and one of another life closes the link")
    func epochs() async throws {
        try await LinkPair.with { pair in
            pair.parent.useEpoch(3)
            try pair.child.send(Frame(.ack, correlation: 1))
            pair.child.useEpoch(3)
            try pair.child.send(Frame(.ack, correlation: 2))
            #expect(await pair.parentReceived(2).map(\.epoch) == [0, 3])
            #expect(!pair.parent.isClosed)
            pair.child.useEpoch(2)
            try pair.child.send(Frame(.ack, correlation: 3))
            try await eventually("the link is closed") { pair.parent.isClosed }
            #expect(await pair.parentReceived(2).count == 2)
        }
    }

    @Test("A frame over the limit is refused, and the link lives on")
    func tooLarge() async throws {
        try await LinkPair.with { pair in
            let error = #expect(throws: LinkError.self) {
                try pair.child.send(Frame(.finish(ArraySlice([UInt8](repeating: 0, count: 2 << 20)))))
            }
            #expect(error?.code == .frameTooLarge)
            try pair.child.send(Frame(.finish(ArraySlice([UInt8](repeating: 7, count: 1 << 19))), correlation: 1))
            #expect(await pair.parentReceived(1).first?.correlation == 1)
        }
    }

    @Test("A peer with a wrong secret is dropped without an answer, a silent one after the time-out, and good ones get in")
    func handshake() async throws {
        let address = LinkPair.freshAddress()
        let listener = try LinkListener(address: address, handshakeTimeout: .seconds(2))
        let good: [UInt8] = [1, 2, 3]
        let closed = Lock(0)
        let serving = Task {
            await listener.run { link, hello in
                guard hello.secret == good else { throw LinkError(.handshake, "unknown") }
                link.hand(over: Link.Handler(frameReceived: { _, _ in }, closed: { _, _ in closed.withLock { $0 += 1 } }))
            }
        }
        let link = try await Link.dial(address)
        link.start(Link.Handler(frameReceived: { _, _ in }, closed: { _, _ in }))
        try link.send(Self.hello(good))
        for secret in [[9], nil] as [[UInt8]?] {
            let refused = try await Link.dial(address)
            let (ends, end) = AsyncStream.makeStream(of: LinkError.self)
            refused.start(Link.Handler(frameReceived: { _, _ in }, closed: { _, error in end.yield(error) }))
            if let secret { try refused.send(Self.hello(secret)) }
            var iterator = ends.makeAsyncIterator()
            #expect(await iterator.next()?.code == .peerClosed)
        }
        // The silent peer's time-out has passed for the good one too.
        try link.send(Frame(.ready))
        #expect(closed.withLock { $0 } == 0)
        link.close()
        listener.close()
        await serving.value
    }

    @Test("A link that was closed before it's started tells its handler")
    func closedBefore() async throws {
        let listener = try LinkListener(address: LinkPair.freshAddress())
        let serving = Task { await listener.run { _, _ in throw LinkError(.handshake, "nobody is expected") } }
        let link = try await Link.dial(listener.address)
        link.close()
        let (ends, end) = AsyncStream.makeStream(of: LinkError.self)
        link.start(Link.Handler(frameReceived: { _, _ in }, closed: { _, error in end.yield(error) }))
        end.finish()
        #expect(await ends.reduce(into: []) { $0.append($1.code) } == [.closed])
        listener.close()
        await serving.value
    }

    @Test("A link that is handed on before its welcome has returned stays with the last handler")
    func handedOn() async throws {
        let listener = try LinkListener(address: LinkPair.freshAddress())
        let (frames, received) = AsyncStream.makeStream(of: String.self)
        let serving = Task {
            await listener.run { link, _ in
                for name in ["the first", "the last"] {
                    link.hand(
                        over: Link.Handler(
                            frameReceived: { _, _ in received.yield("\(name) got a frame") },
                            closed: { _, _ in received.yield("\(name) was told of the end") }
                        )
                    )
                }
            }
        }
        let link = try await Link.dial(listener.address)
        link.start(Link.Handler(frameReceived: { _, _ in }, closed: { _, _ in }))
        try link.send(Self.hello([1]))
        try link.send(Frame(.ready))
        var iterator = frames.makeAsyncIterator()
        #expect(await iterator.next() == "the last got a frame")
        link.close()
        #expect(await iterator.next() == "the last was told of the end")
        listener.close()
        await serving.value
    }

    private static func hello(_ secret: [UInt8]) -> Frame {
        Frame(.hello(Hello(secret: secret, processID: 1, processStartTime: 1, buildID: "", maximumFrameSize: 1)))
    }
}
