import Acknowledgement
import ConcurrencySupport
import CoordinatorsTesting
import Fixtures
import Glibc
import Supervision
import TestSupport
import Testing
import WireProtocol

@testable import Coordinators

/// What acknowledged messages promise within one process, and over one border.
@Suite("Acknowledged messages", .timeLimit(minutes: 2))
struct AcknowledgedTests {
    @Test("A message is acknowledged when its handler has ended, with the handler's error", arguments: Where.allCases)
    func handled(_ place: Where) async throws {
        try await withRuntime(LedgerTestRoot.self, options: Support.options) { runtime in
            try await runtime.ask(LedgerTestRoot.Begin(place: place.rawValue), timeout: .patient(.seconds(20)))
            let child = try runtime.coordinator(MiddleCoordinator.self, at: "/child")
            let began = ContinuousClock.now
            #expect(try await child.send(Fixture.Do(.workHard(milliseconds: 100)), acknowledged: true))
            #expect(ContinuousClock.now - began >= .milliseconds(100))
            #expect(try await !child.send(Fixture.NobodyAnswersThis(), acknowledged: true))
            // A handler that finds no responder itself is no missing responder.
            let inner = await #expect(throws: CoordinatorError.self) { try await child.send(Fixture.Do(.unhandled), acknowledged: true) }
            #expect(inner?.code == .unhandled && inner?.maybeExecuted == true)
            // From below: through an interceptor, and to the root.
            let before = try await runtime.ask(Fixture.Add(0))
            #expect(try await runtime.send(Fixture.Add(5), at: "/child", acknowledged: true))
            #expect(try await runtime.ask(Fixture.Add(0)) == before + 6)
            #expect(try await !runtime.send(Fixture.NobodyAnswersThis(), at: "/child", acknowledged: true))
            let refusal = await #expect(throws: Fixture.Refusal.self) {
                try await runtime.send(Fixture.Refuse(asCodable: true), at: "/child", acknowledged: true)
            }
            #expect(refusal?.reason == "not today")
            #expect(runtime.deadLetters.count == 0)
        }
    }

    @Test("A deadline or a cancellation ends the handler, and the sender learns of it", arguments: Where.allCases)
    func ended(_ place: Where) async throws {
        try await withRuntime(LedgerTestRoot.self, options: Support.options) { runtime in
            try await runtime.ask(LedgerTestRoot.Begin(place: place.rawValue), timeout: .patient(.seconds(20)))
            // On a busy machine the deadline may pass before the handler begins, which it never does then: the next has more time.
            var seconds = 1
            try await eventually("a handler that has begun is cancelled", within: .seconds(60)) {
                defer { seconds *= 2 }
                let timeout = Duration.patient(.seconds(seconds))
                await expect(.timedOut) { try await runtime.send(Fixture.Wait(), at: "/child", acknowledged: true, timeout: timeout) }
                return try await runtime.ask(Fixture.CancelledWaits()) > 0
            }
            try await eventually("no handler runs") {
                try await runtime.ask(LedgerTestRoot.Waits()) == runtime.ask(Fixture.CancelledWaits())
            }
            let waits = try await runtime.ask(LedgerTestRoot.Waits())
            let sending = Task { try await runtime.send(Fixture.Wait(), at: "/child", acknowledged: true) }
            try await eventually("it runs") { try await runtime.ask(LedgerTestRoot.Waits()) == waits + 1 }
            sending.cancel()
            await #expect(throws: CancellationError.self) { try await sending.value }
            try await eventually("its handler is cancelled") { try await runtime.ask(Fixture.CancelledWaits()) == waits + 1 }
        }
    }

    @Test("Messages wait for a paused or a serial coordinator; what a full mailbox refuses isn't acknowledged")
    func waiting() async throws {
        try await withRuntime(LedgerTestRoot.self, options: Support.options) { runtime in
            try await runtime.pause("/serial")
            let senders = (0..<6).map { number in
                Task.immediate { try await runtime.send(LedgerTestRoot.Serial(number), at: "/serial", acknowledged: true) }
            }
            // Two wait, and the policy refuses the others: which ones is in their order.
            var outcomes: [Bool?] = []
            for sender in senders.dropFirst(2) { outcomes.append(try? await sender.value) }
            #expect(outcomes == [nil, nil, nil, nil])
            try await runtime.resume("/serial")
            for sender in senders.prefix(2) { #expect(try await sender.value) }
            #expect(try await runtime.ask(LedgerTestRoot.Handled(), at: "/serial") == [0, 1])
        }
    }
}

// MARK: - A message that comes again

extension AcknowledgedTests {
    /// A message as it comes from another process.
    private static func arrival(
        _ sequence: UInt64,
        origin: UInt64 = 7,
        floor: UInt64 = 0,
        since: MonotonicTime? = nil,
        _ number: Int,
        waits: Bool = false,
        to runtime: CoordinatorRuntime
    ) throws -> RawPeer.Outcome {
        let outcome = RawPeer.Outcome()
        let mark = AcknowledgedDelivery(.init(origin: origin, sequence: sequence, floor: floor, since: since?.sinceOrigin))
        let envelope = try Self.envelope(LedgerTestRoot.Slow(number, waits: waits), mark) { outcome.settle($0) }
        try runtime.root.deliver(envelope, to: ["slow"], isDirect: true)
        return outcome
    }

    private static func envelope(
        _ message: LedgerTestRoot.Slow,
        _ delivery: AcknowledgedDelivery,
        ended: @escaping @Sendable (Result<Answer, any Error>) -> Void = { _ in }
    ) throws -> Envelope {
        let payload = Payload(try PayloadCoder.encode(message, as: .json))
        let body = Envelope.Body.encoded(name: LedgerTestRoot.Slow.name, .json, payload)
        return Envelope(body, asker: .function(ended), sender: "/", deadline: nil, delivery: delivery)
    }

    @Test("A message that comes again while it's handled, or after that, is handled once, and gets the same end")
    func again() async throws {
        try await withRuntime(LedgerTestRoot.self, options: Support.options) { runtime in
            let first = try Self.arrival(1, 1, waits: true, to: runtime)
            let second = try Self.arrival(1, since: .now, 1, waits: true, to: runtime)
            try await eventually("it runs") { try await runtime.ask(LedgerTestRoot.Handled(), at: "/slow") == [1] }
            #expect(first.outcome == nil && second.outcome == nil)
            try await runtime.ask(LedgerTestRoot.Open(), at: "/slow")
            try await eventually("both end") { first.outcome != nil && second.outcome != nil }
            let third = try Self.arrival(1, since: .now, 1, to: runtime)
            try await eventually("the third gets the end") { third.outcome != nil }
            for outcome in [first, second, third] { #expect(throws: Never.self) { _ = try outcome.outcome?.get() } }
            #expect(try await runtime.ask(LedgerTestRoot.Handled(), at: "/slow") == [1])
            // A failure is an end, too: nothing is tried again.
            let failed = try Self.arrival(2, -1, to: runtime)
            try await eventually("it fails") { failed.outcome != nil }
            let after = try Self.arrival(2, since: .now, -1, to: runtime)
            try await eventually("it has failed") { after.outcome != nil }
            #expect(throws: (any Error).self) { try after.outcome?.get() }
            #expect(try await runtime.ask(LedgerTestRoot.Handled(), at: "/slow") == [1, -1])
        }
    }

    @Test("A message that may have come to a former life isn't handled, and the sender learns that it may have been")
    func formerLife() async throws {
        try await withRuntime(LedgerTestRoot.self, options: Support.options) { runtime in
            let before = MonotonicTime.now
            _ = try await runtime.restart("/slow")
            let uncertain = try Self.arrival(1, since: before, 1, to: runtime)
            try await eventually("it's refused") { uncertain.outcome != nil }
            #expect(uncertain.code == .peerLost)
            if case .failure(let error)? = uncertain.outcome { #expect((error as? CoordinatorError)?.maybeExecuted == true) }
            // One that can't have been handled is, and so is one that has first left in this life.
            let new = try Self.arrival(2, 2, to: runtime)
            let recent = try Self.arrival(3, since: .now, 3, to: runtime)
            try await eventually("they are handled") { new.outcome != nil && recent.outcome != nil }
            #expect(try await runtime.ask(LedgerTestRoot.Handled(), at: "/slow") == [2, 3])
            // What the sender has ended with is forgotten, and doesn't begin again.
            let next = try Self.arrival(4, floor: 4, 4, to: runtime)
            try await eventually("it's handled") { next.outcome != nil }
            let forgotten = try Self.arrival(3, floor: 4, since: .now, 3, to: runtime)
            try await eventually("it's refused") { forgotten.code == .peerLost }
            #expect(try await runtime.ask(LedgerTestRoot.Handled(), at: "/slow") == [2, 3, 4])
        }
    }

    @Test("The second arrival's cancellation ends the handler, and a lost link doesn't")
    func cancelledLater() async throws {
        try await withRuntime(LedgerTestRoot.self, options: Support.options) { runtime in
            let node = try #require(try runtime.root.inThisProcess(["slow"]))
            func envelope() throws -> Envelope {
                let delivery = AcknowledgedDelivery(.init(origin: 1, sequence: 1, floor: 0, since: nil))
                return try Self.envelope(LedgerTestRoot.Slow(9, waits: true), delivery)
            }
            let (first, second) = (try envelope(), try envelope())
            node.climb(first)
            try await eventually("it runs") { try await runtime.ask(LedgerTestRoot.Handled(), at: "/slow") == [9] }
            node.climb(second)
            #expect(!first.hasEnded && !second.hasEnded)
            second.cancel()
            try await eventually("the handler ends") { first.hasEnded && node.state.withLock { $0.handlers.running.isEmpty } }
        }
    }
}

/// The root of the tests within one process.
actor LedgerTestRoot: Coordinator {
    struct Begin: ResponderMessage {
        var place: String
    }

    struct Slow: ResponderMessage {
        var number: Int
        /// Whether its handler goes on only after ``Open``.
        var waits: Bool
        init(_ number: Int, waits: Bool = false) { (self.number, self.waits) = (number, waits) }
    }

    struct Open: ResponderMessage {}

    struct Serial: ResponderMessage {
        var number: Int
        init(_ number: Int) { self.number = number }
    }

    struct Handled: ResponderMessage {
        typealias Reply = [Int]
    }

    /// Asks for the number of waits that have begun.
    struct Waits: ResponderMessage {
        typealias Reply = Int
    }

    nonisolated let context: Context
    private var total = 0
    private var waits = 0
    private var cancelledWaits = 0

    init(_ context: Context) { self.context = context }

    static let supervision = SupervisionPolicy(.oneForOne, intensity: 1_000, period: .seconds(1), backoff: .none)

    static let responders: Responders = [
        .respond(to: Begin.self) { me, begin in
            try await me.context.start(MiddleCoordinator.self, as: "child", in: begin.place == "worker" ? .worker : .inProcess)
        },
        .respond(to: Fixture.Add.self) { me, add in
            me.total += add.amount
            return me.total
        },
        .respond(to: Waits.self) { me, _ in me.waits },
        .respond(to: Fixture.Wait.self) { me, _ in
            me.waits += 1
            do {
                try await untilCancelled()
            } catch {
                me.cancelledWaits += 1
                throw error
            }
        },
        .respond(to: Fixture.CancelledWaits.self) { me, _ in me.cancelledWaits },
        .respond(to: Fixture.Refuse.self) { _, _ in throw Fixture.Refusal("not today") },
    ]

    func start() async throws {
        try await context.start(SlowCoordinator.self, as: "slow")
        try await context.start(SerialCoordinator.self, as: "serial")
    }
}

/// Notes what it handles, and waits if it's told to.
private actor SlowCoordinator: Coordinator {
    nonisolated let context: Context
    private var handled: [Int] = []
    private let gate = OneShot<Void>()

    init(_ context: Context) { self.context = context }

    static let responders: Responders = [
        .respond(to: LedgerTestRoot.Open.self) { me, _ in _ = me.gate.settle() },
        .respond(to: LedgerTestRoot.Slow.self) { me, slow in
            me.handled.append(slow.number)
            if slow.waits { await me.gate.valueUnlessCancelled() }
            try Task.checkCancellation()
            if slow.number < 0 { throw Fixture.Refusal("negative") }
        },
        .respond(to: LedgerTestRoot.Handled.self) { me, _ in me.handled },
    ]
}

/// Handles one message at a time, and lets two wait.
private actor SerialCoordinator: Coordinator {
    nonisolated let context: Context
    private var handled: [Int] = []

    init(_ context: Context) { self.context = context }

    static let mailbox = MailboxPolicy(running: 1, waiting: 2, whenFull: .fail)

    static let responders: Responders = [
        .respond(to: LedgerTestRoot.Serial.self) { me, serial in
            me.handled.append(serial.number)
            await Task.yield()
        },
        .respond(to: LedgerTestRoot.Handled.self) { me, _ in me.handled },
    ]
}
