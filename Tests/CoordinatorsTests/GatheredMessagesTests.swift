import ConcurrencySupport
import CoordinatorsTesting
import Fixtures
import Links
import TestSupport
import Testing
import WireProtocol

@testable import Coordinators

/// One-way messages that are alike, arrive together and share an envelope.
@Suite("One-way messages that are handled together", .serialized, .timeLimit(minutes: 2))
struct GatheredMessagesTests {
    // MARK: On the link

    #if !SLOW_PATH_ONLY
    @Test("Messages that differ only in their payloads share an envelope; each other stands by itself, and all keep their order")
    func gathering() async throws {
        try await RawPeer.with { raw in
            try raw.sendTogether {
                for number in 0..<3 { try raw.append("Note", [UInt8(number)]) }
                try raw.append("Note", [3], sender: "/other")
                try raw.append("Other", [4])
                try raw.append("Other", [5], codec: .compact)
                try raw.append("Other", [6], codec: .compact, trace: [1])
                try raw.append("Other", [7], codec: .compact, trace: [1])
                try raw.append("Other", Array(repeating: 8, count: 5_000), codec: .compact, trace: [1])
                try raw.append("coordinators.Navigate", [9])
            }
            try await eventually("they have come") { raw.envelopes.reduce(0) { $0 + $1.count } == 10 }
            #expect(raw.envelopes.map(\.count) == [3, 1, 1, 1, 2, 1, 1])
            #expect(raw.envelopes.map(\.body.name) == ["Note", "Note", "Other", "Other", "Other", "Other", "coordinators.Navigate"])
            let first = raw.envelopes.flatMap(\.separated).map { $0.payload.first }
            #expect(first == (0..<10).map { UInt8($0) })
        }
    }

    @Test("A name that gets another meaning in between divides messages")
    func redefinition() async throws {
        try await RawPeer.with { raw in
            let send = Send(target: 0, sender: 0, message: 1, payload: [1])
            try raw.link.append { _ in Frame(.defineName(DefineName(id: 1, text: "First"))) }
            for _ in 0..<2 { try raw.link.append { _ in Frame(.send(send), codec: .json) } }
            try raw.link.append { _ in Frame(.defineName(DefineName(id: 1, text: "Second"))) }
            for _ in 0..<2 { try raw.link.append { _ in Frame(.send(send), codec: .json) } }
            raw.link.flush()
            try await eventually("they have come") { raw.envelopes.reduce(0) { $0 + $1.count } == 4 }
            #expect(raw.envelopes.map(\.body.name) == ["First", "Second"])
        }
    }
    #endif

    @Test("Messages that share an envelope take credit one by one, and one without closes the link", arguments: [0, 1])
    func credit(_ excess: Int) async throws {
        try await RawPeer.with { raw in
            let count = CreditWindow.link.share.messages + excess
            try raw.sendTogether { for _ in 0..<count { try raw.append("Note", [1]) } }
            if excess == 0 {
                try await eventually("all have come") { raw.envelopes.reduce(0) { $0 + $1.count } == count }
                // Each is given back.
                for envelope in raw.envelopes { envelope.release() }
                try await eventually("there is credit") {
                    raw.frames.reduce(0) { if case .credit(let credit) = $1.content { $0 + Int(credit.messages) } else { $0 } } == count
                }
                #expect(raw.closed == nil)
            } else {
                try await eventually("the link is closed") { raw.closed?.code == .violation }
                let arrived = raw.envelopes.reduce(0) { $0 + $1.count }
                #expect(arrived < count)
                #if !SLOW_PATH_ONLY
                // Those of the same envelope as the one too many, or that many envelopes of them.
                try await eventually("the loss of the others is told") { !raw.lost.isEmpty }
                #endif
            }
        }
    }

    #if !SLOW_PATH_ONLY
    @Test("A message that stands by itself, or is taken from the others, keeps nothing of theirs alive")
    func ownMemory() async throws {
        try await RawPeer.with { raw in
            try raw.sendTogether {
                try raw.append("Answered", [1], trace: [2, 3], correlation: 1)
                for number in 0..<3 { try raw.append("Note", [UInt8](repeating: UInt8(number), count: 4_000)) }
            }
            try await eventually("they have come") { raw.envelopes.count == 2 }
            #expect(raw.envelopes[0].trace.startIndex == 0)
            #expect(raw.envelopes[0].payload.startIndex == 0)
            #expect(raw.envelopes[1].separated.map { $0.payload.indices } == [0..<4_000, 0..<4_000, 0..<4_000])
        }
    }

    @Test("The owner learns of each lost message that shared an envelope with others, once they are apart")
    func lost() async throws {
        try await RawPeer.with { raw in
            try raw.sendTogether { for _ in 0..<3 { try raw.append("Lost", [1]) } }
            try await eventually("they have come") { raw.envelopes.count == 1 }
            for envelope in raw.envelopes[0].separated { envelope.end(.failure(CoordinatorError(.noSuchPath, "there is none"))) }
            #expect(raw.lost == ["Lost", "Lost", "Lost"])
        }
    }
    #endif

    // MARK: In a coordinator

    @Test("Of messages that are handled together, those whose handler fails are dead letters, and the others are handled")
    func failures() async throws {
        try await withRuntime(CountingRoot.self, options: Support.options) { runtime in
            #expect(try await runtime.perform(.sendNotes(1_000), at: "/leaf", timeout: .seconds(60)) == "sent")
            try await eventually("all are handled") { try await runtime.ask(CountingRoot.Handled()).count == 500 }
            #expect(try await runtime.ask(CountingRoot.Handled()) == (0..<1_000).filter { $0 % 2 == 0 })
            try await eventually("the others are dead letters") { runtime.deadLetters.count == 500 }
        }
    }

    @Test("Messages that wait together for a coordinator are counted, and are all dead letters after its end")
    func stop() async throws {
        try await withRuntime(CountingRoot.self, options: Support.options) { runtime in
            let root = try runtime.root
            root.state.withLock { $0.mailbox.pause() }
            #expect(try await runtime.perform(.sendNotes(640), at: "/leaf", timeout: .seconds(60)) == "sent")
            try await eventually("all wait") { root.state.withLock { $0.mailbox.messageCount } == 640 }
            await runtime.stop()
            #expect(runtime.deadLetters.count == 640)
            #expect(root.state.withLock { $0.mailbox.messageCount } == 0)
        }
    }
}

extension RawPeer {
    /// Sends frames that leave in one batch, as far as they fit.
    fileprivate func sendTogether(_ append: () throws -> Void) throws {
        try append()
        link.flush()
    }

    fileprivate func append(
        _ name: String,
        _ payload: [UInt8],
        sender: String = "/raw",
        codec: PayloadCodec = .json,
        trace: Bytes = [],
        correlation: UInt64 = 0
    ) throws {
        try link.append { intern in
            let send = Send(target: 0, sender: intern(sender), message: intern(name), trace: trace, payload: Bytes(payload))
            return Frame(.send(send), correlation: correlation, codec: codec)
        }
    }
}

extension Envelope {
    fileprivate var payload: Bytes {
        if case .encoded(_, _, let payload) = body { payload.bytes } else { [] }
    }
}

/// Counts notes, and fails for each odd one.
private actor CountingRoot: Coordinator {
    struct Handled: ResponderMessage { typealias Reply = [Int] }
    struct Odd: Error {}

    nonisolated let context: Context
    private var numbers: [Int] = []

    init(_ context: Context) { self.context = context }

    static let responders: Responders = [
        .respond(to: Fixture.Note.self) { me, note in try me.count(note.number) },
        .respond(to: Handled.self) { me, _ in me.numbers },
    ]

    func start() async throws {
        try await context.start(MiddleCoordinator.self, as: "leaf", in: .worker) { $0.greeting = "leaf" }
    }

    private func count(_ number: Int) throws {
        guard number % 2 == 0 else { throw Odd() }
        numbers.append(number)
    }
}
