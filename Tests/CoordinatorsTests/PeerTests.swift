import ConcurrencySupport
import Links
import Synchronization
import TestSupport
import Testing
import WireProtocol

@testable import Coordinators

/// A peer and what the other end of its link may do to it, over a real socket.
@Suite("Peers", .serialized, .timeLimit(minutes: 2))
struct PeerTests {
    // MARK: What the other side may have under way

    @Test("A link whose peer sends asks of 900 KiB without credit is closed, with the reason, and no more is kept than is allowed")
    func flood() async throws {
        try await RawPeer.with { raw in
            let flooding = Task {
                var correlation: UInt64 = 0
                while raw.closed == nil {
                    correlation += 1
                    do { try raw.ask("Flood", correlation, bytes: 900 << 10) } catch { break }
                    await Task.yield()
                }
            }
            try await eventually("the link is closed") { raw.closed != nil }
            flooding.cancel()
            await flooding.value
            #expect(raw.closed?.code == .violation)
            #expect(raw.closed?.message.contains("Flood") == true)
            // One may be larger than the window of its route; the second has no room.
            #expect(raw.envelopes.count == 1)
        }
    }

    @Test("Messages within the credit are accepted on all routes together, and one more is not")
    func wholeLink() async throws {
        try await RawPeer.with { raw in
            for number in 0..<16 {
                for message in 0..<1_024 { try raw.ask("route \(number)", UInt64(number * 1_024 + message + 1)) }
            }
            try await raw.settle()
            #expect(raw.closed == nil)
            #expect(raw.envelopes.count == CreditWindow.link.messages)
            try raw.ask("another", 1_000_000)
            try await eventually("the link is closed") { raw.closed?.code == .violation }
            #expect(raw.envelopes.count == CreditWindow.link.messages)
        }
    }

    @Test("Handled messages make room for as many again")
    func givenBack() async throws {
        try await RawPeer.with(messageReceived: { envelope, _ in envelope.complete(.success(.none)) }) { raw in
            var credit = CreditWindow.link.share.messages
            var sent: UInt64 = 0
            var seen = 0
            while sent < 20_000 {
                while credit > 0 {
                    sent += 1
                    credit -= 1
                    try raw.ask("route", sent)
                }
                try await eventually("credit comes") {
                    let frames = raw.frames
                    for frame in frames[seen...] { if case .credit(let given) = frame.content { credit += Int(given.messages) } }
                    seen = frames.count
                    return credit > 0 || raw.closed != nil
                }
                try #require(raw.closed == nil)
            }
        }
    }

    @Test("Messages of the runtime are bounded too, and so are its requests")
    func builtins() async throws {
        try await RawPeer.with { raw in
            for number in 1...32 {
                do { try raw.ask("coordinators.OpenRoute", UInt64(number), bytes: 1_000_000) } catch { break }
            }
            try await eventually("the link is closed") { raw.closed?.code == .violation }
            #expect(raw.envelopes.count <= 17)
        }
        let gate = OneShot<Void>()
        try await RawPeer.with(inspected: {
            await gate.value
            return .null
        }) { raw in
            for number in 1...5_000 { try raw.link.send(Frame(.inspect(Inspect(target: 0, operation: "x")), correlation: UInt64(number))) }
            try await eventually("those beyond the bound are refused") {
                raw.frames.count { if case .reply(.failure(let failure)) = $0.content { failure.code == "tooManyOpenAsks" } else { false } }
                    == 904
            }
            gate.settle(())
            try await eventually("the others are answered") { raw.frames.count == 5_000 }
            #expect(raw.closed == nil)
        }
    }

    @Test("A number that is in use, and a malformed trace, close the link", arguments: [false, true])
    func violations(_ isTrace: Bool) async throws {
        try await RawPeer.with { raw in
            try raw.ask("Message", 1)
            try await raw.settle()
            #expect(raw.closed == nil)
            if isTrace { try raw.ask("Message", 2, trace: Bytes([UInt8](repeating: 1, count: 2_000))) } else { try raw.ask("Message", 1) }
            try await eventually("the link is closed") { raw.closed?.code == .violation }
        }
    }

    @Test("A peer that reads nothing is given up before it costs all memory")
    func unread() async throws {
        try await RawPeer.with { raw in
            try await raw.withoutReading {
                let block = Bytes([UInt8](repeating: 0, count: 1_000_000))
                for number in 0..<400 where raw.closed == nil {
                    raw.peer.send(Frame(.reply(.success(block)), correlation: UInt64(number)), lane: .bulk)
                }
                #expect(raw.closed?.code == .violation)
            }
        }
    }

    @Test("Events that aren't read are refused beyond a few megabytes, and accepted again when there is room")
    func notices() async throws {
        try await RawPeer.with { raw in
            let event = Bytes([UInt8](repeating: 0x20, count: 100_000))
            var taken = 0
            try await raw.withoutReading {
                let error = #expect(throws: LinkError.self) {
                    for _ in 0..<1_000 {
                        try raw.peer.notify("event", .json, event)
                        taken += 1
                    }
                }
                #expect(error?.code == .congested)
                // The kernel holds some more.
                #expect(taken < 100)
                // What isn't an event has its own bounds.
                #expect(raw.peer.send(Frame(.reply(.success(event))), lane: .bulk) == nil)
                #expect(raw.peer.send(Frame(.ack)) == nil)
            }
            try await eventually("there is room again") { (try? raw.peer.notify("event", .json, event)) != nil }
            #expect(raw.closed == nil)
        }
    }

    @Test("When a message closes the link of a side that reads nothing, what is told may send on the same link")
    func unreadMessages() async throws {
        try await RawPeer.with { raw in
            let told = Lock(0)
            try await raw.withoutReading {
                let payload = Payload(Bytes([UInt8](repeating: 0x20, count: 1_000_000)))
                for _ in 0..<400 where raw.closed == nil {
                    let asker = Envelope.Asker.function { _ in
                        told.withLock { $0 += 1 }
                        raw.forward("Again")
                    }
                    let envelope = Envelope(.encoded(name: "Message", .json, payload), asker: asker, sender: "/sender", deadline: nil)
                    _ = raw.peer.forward(envelope, to: "", isDirect: false)
                }
                #expect(raw.closed?.code == .violation)
            }
            #expect(told.withLock { $0 } > 200)
        }
    }

    @Test("A stream that floods ends with an error, and the link lives on")
    func stream() async throws {
        try await RawPeer.with { raw in
            let read = Lock(0)
            let flow = ReplyFlow { _ in
                read.withLock { $0 += 1 }
                return 0
            }
            let (_, outcome) = raw.forward("Stream", flow: flow)
            try await eventually("it is asked") { raw.asked.values.contains("Stream") }
            let correlation = try #require(raw.asked.first?.key)
            for _ in 0..<10_000 { try raw.link.send(Frame(.streamItem([0x31]), correlation: correlation, codec: .json)) }
            try await eventually("it has ended") { outcome.outcome != nil }
            #expect(outcome.code == .mailboxFull)
            try await eventually("the source is told") { raw.frames.contains { $0.content == .cancel && $0.correlation == correlation } }
            try await raw.settle()
            #expect(read.withLock { $0 } <= 2 * ReplyFlow.window)
            #expect(raw.closed == nil)
        }
    }

    @Test(
        "A name that is defined out of order, or is too long, closes the link",
        arguments: [DefineName(id: 7, text: "gap"), DefineName(id: 1, text: String(repeating: "n", count: 1_025))]
    )
    func definitions(_ definition: DefineName) async throws {
        try await RawPeer.with { raw in
            try raw.link.send(Frame(.defineName(definition)))
            try await eventually("the link is closed") { raw.closed?.code == .malformed }
        }
    }

    // MARK: What leaves

    @Test("A message with a name of the runtime's own is refused alone, since it would never get credit")
    func runtimeNames() async throws {
        try await RawPeer.with { raw in
            let outcome = RawPeer.Outcome()
            let asker = Envelope.Asker.function { outcome.settle($0) }
            let envelope = Envelope(.value(Impostor()), asker: asker, sender: "/sender", deadline: nil)
            #expect(raw.peer.forward(envelope, to: "", isDirect: false))
            #expect(outcome.code == .unsupported)
            try await raw.settle()
            #expect(raw.asked.isEmpty && raw.closed == nil)
        }
    }

    @Test("A stream whose error is larger than a frame ends with an error that says so")
    func largeStreamError() async throws {
        try await RawPeer.with { raw in
            raw.peer.link.limitFrames(to: 4_096)
            try raw.ask("Stream", 1, flags: .stream)
            try await eventually("it came") { raw.envelopes.count == 1 }
            raw.envelopes[0].complete(.failure(RemoteError(type: "Large", description: String(repeating: "x", count: 5_000))))
            try await eventually("it ends") {
                raw.frames.contains { if case .streamEnd(let failure?) = $0.content { failure.code == "messageTooLarge" } else { false } }
            }
            #expect(raw.closed == nil)
        }
    }

    @Test("A name, a path or a frame beyond the other side's limits fails alone")
    func limits() async throws {
        try await RawPeer.with { raw in
            let (_, slow) = raw.forward("Slow")
            let long = String(repeating: "n", count: 1_100)
            #expect(raw.forward(long).1.code == .messageTooLarge)
            #expect(raw.forward("Message", to: "/" + long).1.code == .noSuchPath)
            await expect(.noSuchPath) {
                try await raw.peer.inspect("inspect", "/" + long, timeout: .seconds(20))
            }
            raw.link.close()
            try await eventually("the slow one is lost with the link only") { slow.code == .peerLost }
        }
        try await RawPeer.with { raw in
            raw.peer.link.limitFrames(to: 4_096)
            let large = Bytes([UInt8](repeating: 0x20, count: 5_000))
            #expect(throws: LinkError.self) { try raw.peer.notify("event", .json, large) }
            let (_, outcome) = raw.forward("Small")
            try raw.ask("Answer me", 1)
            try await eventually("it came") { raw.envelopes.count == 1 }
            raw.envelopes[0].complete(.success(.value(String(repeating: "x", count: 5_000))))
            try await eventually("the answer is a failure") {
                raw.frames.contains {
                    guard case .reply(.failure(let failure)) = $0.content else { return false }
                    return failure.code == "messageTooLarge" && failure.payload.first == 1
                }
            }
            #expect(raw.closed == nil && outcome.outcome == nil)
        }
    }

    @Test("Messages wait until the peer has announced its limits, and then leave in order")
    func waitsForWindow() async throws {
        try await RawPeer.with(announcesCredit: true) { raw in
            for number in 0..<10 { raw.forward("early \(number)", to: "/route") }
            try await raw.settle()
            #expect(raw.asked.isEmpty)
            try raw.link.send(Frame(.credit(Credit(target: 0, messages: .max, bytes: .max))))
            try await eventually("all have come") { raw.asked.count == 10 }
            #expect(raw.asked.sorted { $0.key < $1.key }.map(\.value) == (0..<10).map { "early \($0)" })
        }
    }

    @Test("Asks that credit lets go while the link closes end, every one of them")
    func creditWhileClosing() async throws {
        for _ in 0..<20 {
            try await RawPeer.with(announcesCredit: true) { raw in
                let outcomes = (0..<500).map { raw.forward("ask \($0)", to: "/route").1 }
                async let credited: Void = { raw.peer.receive(Credit(target: 0, messages: .max, bytes: .max), for: 0) }()
                async let closed: Void = { raw.peer.link.close() }()
                _ = await (credited, closed)
                try await eventually("every ask has ended") { outcomes.allSatisfy { $0.outcome != nil } }
                #expect(raw.counts.openAsks.load(ordering: .relaxed) == 0)
            }
        }
    }

    @Test("A message that is given up before it left never leaves, and behind each that has left comes a cancellation")
    func cancellations() async throws {
        try await RawPeer.with { raw in
            let ended = Envelope(.encoded(name: "ended", .json, Payload([0x7B, 0x7D])), sender: "/sender", deadline: nil)
            ended.cancel()
            #expect(raw.peer.forward(ended, to: "", isDirect: false))
            await withTaskGroup(of: Void.self) { group in
                for number in 0..<2_000 {
                    group.addTask {
                        let envelope = Envelope(
                            .encoded(name: "\(number)", .json, Payload([0x7B, 0x7D])),
                            sender: "/sender",
                            deadline: nil
                        )
                        async let cancelling: Void = { envelope.cancel() }()
                        _ = raw.peer.forward(envelope, to: "", isDirect: false)
                        await cancelling
                    }
                }
            }
            try await raw.settle()
            try await raw.settle()
            #expect(!raw.asked.values.contains("ended"))
            var open: Set<UInt64> = []
            for frame in raw.frames {
                switch frame.content {
                case .ask: open.insert(frame.correlation)
                // One goes ahead of all other messages, and may overtake even its ask.
                case .cancel: open.remove(frame.correlation)
                default: break
                }
            }
            #expect(open.isEmpty, "\(open.count) asks run on uncancelled")
            #expect(raw.counts.openAsks.load(ordering: .relaxed) == 0)
        }
    }

    @Test("A withdrawal is on its way before its asker has the end, and nothing that the asker sends then overtakes it")
    func withdrawals() async throws {
        let ways: [(Envelope) -> Void] = [{ $0.timeOut() }, { $0.cancel() }, { $0.end(.failure(CoordinatorError.hasStopped("/sender"))) }]
        try await RawPeer.with { raw in
            let envelopes = ways.indices.map { number in
                Envelope(
                    .encoded(name: "\(number)", .json, Payload([0x7B, 0x7D])),
                    asker: .function { _ in
                        raw.peer.send(Frame(.ping(Probe(timestampNanoseconds: UInt64(1_000 + number), kind: .link))))
                    },
                    sender: "/sender",
                    deadline: nil
                )
            }
            for envelope in envelopes { _ = raw.peer.forward(envelope, to: "", isDirect: false) }
            try await raw.settle()
            // What waits for the other end is overtaken by what the runtime sends.
            try await raw.withoutReading {
                for _ in 0..<64 { try raw.peer.notify("load", .json, Bytes(repeating: 0x20, count: 64 << 10), isBounded: false) }
                for (envelope, withdraw) in zip(envelopes, ways) { withdraw(envelope) }
            }
            try await raw.settle()
            for number in ways.indices {
                let ask = raw.asked.first { $0.value == "\(number)" }?.key
                let withdrawal = raw.frames.firstIndex { frame in
                    if case .cancel = frame.content { frame.correlation == ask } else { false }
                }
                let next = raw.frames.firstIndex { frame in
                    if case .ping(let probe) = frame.content { probe.timestampNanoseconds == UInt64(1_000 + number) } else { false }
                }
                #expect(try #require(withdrawal) < #require(next))
            }
        }
    }

    @Test("An ask that was cancelled ahead of its arrival isn't handled, and one that comes behind the cancellations is")
    func cancelledAhead() async throws {
        try await RawPeer.with { raw in
            func cancel(_ flags: Flags) throws { try raw.link.send(Frame(.cancel, correlation: 7, flags: flags)) }
            try cancel(.ahead)
            try raw.ask("withdrawn", 7)
            try raw.ask("other", 8)
            try cancel([])
            // A peer of another kind may use a number again.
            try raw.ask("later", 7)
            try cancel(.ahead)
            try raw.ask("last", 9)
            try await raw.settle()
            #expect(raw.envelopes.map(\.body.name) == ["other", "later", "last"])
            #expect(raw.envelopes.map(\.hasEnded) == [false, true, false])
        }
    }

    @Test(
        "Asks that a peer has left unanswered at its farewell end with the peer's exit reason",
        arguments: [ExitReason.shutdown, .failed("x")]
    )
    func farewell(_ reason: ExitReason) async throws {
        try await RawPeer.with { raw in
            let (_, outcome) = raw.forward("Ask")
            try await raw.settle()
            raw.peer.bidFarewell(reason)
            raw.link.close()
            await raw.peer.readToEnd(within: .seconds(20))
            #expect(outcome.code == (reason.isNormal ? .stopped : .peerLost))
        }
    }
}

private struct Impostor: ResponderMessage {
    static let name = "\(ReservedName.prefix)Impostor"
}
