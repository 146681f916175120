import ConcurrencySupport
import Links
import Synchronization
import TestSupport
import Testing
import WireProtocol

@testable import Coordinators

/// Tests of the code after the decoder: well-formed frames in senseless order, with senseless numbers.
@Suite("Peers: senseless frames", .serialized, .timeLimit(minutes: 3))
struct PeerFuzzTests {
    @Test(
        "Senseless frames don't trap, the stored data stays bounded, and everything ends with the link",
        arguments: [UInt64(1), 2, .random(in: 3 ... .max), .random(in: 3 ... .max)]
    )
    func walk(_ seed: UInt64) async throws {
        var frames = SenselessFrames(SeededGenerator(seed: seed, "senseless frames"))
        let end = ContinuousClock.now + .milliseconds(rounds(short: 500, all: 2_000, long: 30_000))
        var sent = 0
        var (parts, closed): (Int, [String: Int]) = (0, [:])
        let before = Resident.bytes
        // An overloaded machine may have had time for links of one kind only.
        while ContinuousClock.now < end || sent == 0 || parts == 0 {
            let outcome = try await play(&frames, count: 400, "seed \(seed)")
            sent += outcome.sent
            if frames.usesParts { parts += outcome.sent }
            if let error = outcome.closed { closed["\(error.code)", default: 0] += 1 }
        }
        print("senseless frames, seed \(seed): \(sent) were sent, \(parts) of them on links with parts; links closed: \(closed)")
        #expect(sent > 0 && parts > 0)
        // Everything together, kept for ever, would be many times as much. The sanitizer keeps several times as much itself.
        #expect(Sanitizer.isOn || Resident.bytes - before < 256 << 20, "seed \(seed)")
    }

    @Test("The inputs of the fuzzer that send frames to a peer trap nothing either", arguments: try FuzzCorpus.inputs("Peer"))
    func corpus(_ input: FuzzCorpus.Input) async throws {
        var frames = SenselessFrames(BytesAsDice(input.bytes))
        _ = try await play(&frames, count: max(input.bytes.count / 8, 1), input.name)
    }

    /// Sends frames over a link of their own, and waits until everything has ended.
    private func play<Dice>(
        _ frames: inout SenselessFrames<Dice>,
        count: Int,
        _ what: String
    ) async throws -> (sent: Int, closed: LinkError?) {
        var sent = 0
        var closed: LinkError?
        frames.beginLink()
        try await RawPeer.with(announcesCredit: frames.coin(), messageReceived: Self.handle, notified: Self.notice) { raw in
            var outcomes = (0..<20).map { number in raw.forward("ask \(number)", flow: number % 2 == 0 ? ReplyFlow { _ in 0 } : nil).1 }
            raw.peer.link.useParts(upTo: 1 << 20, and: 0)
            for number in 0..<5 { outcomes.append(raw.forward("send \(number)", isOneWay: true).1) }
            for _ in 0..<count {
                let lane = frames.usesParts || frames.coin() ? Link.Lane.bulk : .control
                let isSent = (try? raw.link.send(lane: lane) { frames.next($0) }) != nil
                if !isSent { break }
                sent += 1
            }
            // All of it has been read, unless the link was closed for it.
            try? raw.link.send(Frame(.ping(Probe(timestampNanoseconds: 0, kind: .link)), correlation: 1 << 63))
            try await eventually("it's read, or refused; \(what)") {
                raw.closed != nil || raw.frames.contains { $0.correlation == 1 << 63 }
            }
            let state = raw.peer.state.withLock { ($0.incoming.count, $0.admission.builtinBytes, $0.admission.inspections) }
            #expect(state.0 <= CreditWindow.link.messages + 1_000, "\(what)")
            #expect((0...Peer.builtinBytesLimit + (1 << 20)).contains(state.1), "\(what)")
            #expect((0...Peer.inspectionsLimit).contains(state.2), "\(what)")
            closed = raw.closed
            raw.link.close()
            try await eventually("the link has ended; \(what)") { raw.closed != nil }
            try await eventually("every ask has ended; \(what)") { outcomes.allSatisfy { $0.outcome != nil } }
            #expect(raw.counts.openAsks.load(ordering: .relaxed) == 0, "\(what)")
            #expect(raw.counts.links.load(ordering: .relaxed) == 0, "\(what)")
        }
        return (sent, closed)
    }

    /// The owner of a peer, which does with a worker's notices what a host does.
    @Sendable private static func notice(_ name: String, _ codec: PayloadCodec, _ payload: Bytes) {
        if let report = try? PayloadCoder.decode(DeadLetterReport.self, from: payload, codec: codec) { letters.add(report) }
        _ = try? PayloadCoder.decode(TreeEvent.self, from: payload, codec: codec)
        guard let value = try? PayloadCoder.decode(JSONValue.self, from: payload, codec: .json) else { return }
        _ = (TimeoutBudget(value), DismissalRequest(DismissalRequest.operation, value), ProcessReport("process-started", value))
    }

    private static let letters = DeadLetters(instruments: Instruments([], tap: Tap(uplink: nil)), uplink: nil)

    /// Some handlers end at once, some when they are cancelled, and some stream.
    @Sendable private static func handle(_ envelope: Envelope, _ log: RawPeer.Log) {
        switch envelope.body.name.utf8.count % 4 {
        case 0: envelope.complete(.success(.none))
        case 1: envelope.end(.failure(CoordinatorError(.unhandled, "nobody")))
        case 2:
            for number in 0..<100 { _ = try? envelope.flow?.pass(.value(number)) }
            envelope.complete(.success(.none))
        default: log.envelopes.withLock { $0.append(envelope) }
        }
    }
}

private enum Resident {
    /// The memory that this process occupies.
    static var bytes: Int {
        let fields = (Files.text(of: "/proc/self/statm") ?? "").split(separator: " ")
        return fields.count > 1 ? (Int(fields[1]) ?? 0) * 4_096 : 0
    }
}
