import ConcurrencySupport
import Coordinators
import CoordinatorsTesting
import Fixtures
import TestSupport
import Testing

/// What code outside of the tree does with it.
@Suite("The tree from outside", .serialized, .timeLimit(minutes: 2))
struct OutsideHandleTests {
    // MARK: Handles

    @Test("A handle asks, sends and streams, in this process and in a worker", arguments: Where.allCases)
    func handle(_ place: Where) async throws {
        try await withRoot("child", in: place) { runtime in
            let child = try runtime.coordinator(MiddleCoordinator.self, at: "/child")
            #expect(child.path == "/child")
            let pid = try await child.ask(Fixture.WhereAmI()).pid
            let snapshot = try await runtime.snapshot(of: "/child")
            #expect(pid == snapshot.processID)
            await expect(.unhandled) { _ = try await child.ask(Fixture.Notes()) }
            let isAnswered = try await child.send(Fixture.Note(1))
            #expect(!isAnswered, "only its own rows are searched")
            #expect(try await child.snapshot().path == "/child")
            try await runtime.restart("/child")
            #expect(try await runtime.snapshot(of: "/child").incarnation == 2)
            let successor = try await child.ask(Fixture.WhereAmI())
            #expect(place == .inProcess || successor.pid != pid)
        }
    }

    @Test("A message that can't be encoded reaches a coordinator of this process, and not one of another")
    func notEncoded() async throws {
        try await withRuntime(OutsideRoot.self, options: Support.options) { runtime in
            let local = try runtime.coordinator(OutsideChild.self, at: "/local")
            #expect(try await local.ask(Uncodable(value: 7)) == 7)
            var replies: [Int] = []
            for try await reply in try local.stream(Uncodable.Stream(count: 3)) { replies.append(reply.value) }
            #expect(replies == [0, 1, 2])
            #expect(try await runtime.ask(Uncodable(value: 8), at: "/local") == 8)
            let worker = try runtime.coordinator(MiddleCoordinator.self, at: "/worker")
            await #expect(throws: (any Error).self) { _ = try await worker.ask(Uncodable(value: 7)) }
        }
    }

    @Test("Events arrive outside of the tree")
    func events() async throws {
        try await withRuntime(OutsideRoot.self, options: Support.options) { runtime in
            let child = try runtime.coordinator(OutsideChild.self, at: "/local")
            let events = try await child.events()
            try await child.ask(OutsideChild.Emit(number: 5))
            let first = await events.first { _ in true }
            #expect(first == 5)
            let root = try runtime.coordinator(OutsideRoot.self, at: "/")
            await expect(.noSuchPath) { _ = try await root.events() }
        }
    }

    @Test("A handle is refused for another type, or where there is no coordinator, and fails after the end")
    func refusals() async throws {
        let kept = Lock<CoordinatorHandle<OutsideChild>?>(nil)
        try await withRuntime(OutsideRoot.self, options: Support.options) { runtime in
            await expect(.unknownType) { _ = try runtime.coordinator(OutsideRoot.self, at: "/local") }
            await expect(.unknownType) { _ = try runtime.coordinator(OutsideRoot.self, at: "/worker") }
            await expect(.noSuchPath) { _ = try runtime.coordinator(OutsideChild.self, at: "/nobody") }
            await expect(.noSuchPath) { _ = try runtime.coordinator(OutsideChild.self, at: "/local/nobody") }
            // Only the worker knows.
            let below = try runtime.coordinator(OutsideChild.self, at: "/worker/nobody")
            await expect(.noSuchPath) { try await below.ask(OutsideChild.Emit(number: 1)) }
            kept.withLock { $0 = try? runtime.coordinator(OutsideChild.self, at: "/local") }
        }
        let handle = try #require(kept.withLock { $0 })
        await expect(.stopped) { try await handle.ask(OutsideChild.Emit(number: 1)) }
    }

    @Test("A parent streams from its child")
    func childStream() async throws {
        try await withRuntime(OutsideRoot.self, options: Support.options) { runtime in
            let numbers = try await runtime.ask(OutsideRoot.ReadNumbers(child: "local"))
            #expect(numbers == [0, 1, 2, 3])
        }
    }

    // MARK: Readiness and health

    @Test("Readiness is waited for; it fails with the start, with a stop before the start, and with a cancellation")
    func readiness() async throws {
        let runtime = CoordinatorRuntime(OutsideRoot.self, options: Support.options)
        let waiting = Task { try await runtime.ready() }
        let cancelled = Task { try await runtime.ready() }
        cancelled.cancel()
        await #expect(throws: CancellationError.self) { try await cancelled.value }
        #expect(await runtime.health() == CoordinatorHealth(isLive: true, isReady: false))
        try await runtime.start()
        try await waiting.value
        try await runtime.ready()
        await runtime.stop()
        await expect(.stopped) { try await runtime.ready() }
        #expect(await runtime.health() == CoordinatorHealth(isLive: false, isReady: false))

        let failing = CoordinatorRuntime(OutsideRoot.self, options: Support.options) { $0.fails = true }
        let hoping = Task { try await failing.ready() }
        await #expect(throws: OutsideRoot.Refusal.self) { try await failing.start() }
        await #expect(throws: OutsideRoot.Refusal.self) { try await hoping.value }
        #expect(await failing.health().isLive == false)

        let neverStarted = CoordinatorRuntime(OutsideRoot.self, options: Support.options)
        await neverStarted.stop()
        await expect(.stopped) { try await neverStarted.ready() }
    }

    @Test("Health names what isn't ready, for the whole tree or a part of it")
    func health() async throws {
        try await withRuntime(OutsideRoot.self, options: Support.options) { runtime in
            #expect(await runtime.health() == CoordinatorHealth(isLive: true, isReady: true))
            try await runtime.pause("/worker")
            let health = await runtime.health()
            #expect(health.isLive && !health.isReady)
            #expect(health.findings.map(\.path) == ["/worker"])
            #expect(health.findings.first?.description.hasPrefix("/worker is paused") == true)
            #expect(await runtime.health(of: "/local").isReady)
            let nobody = await runtime.health(of: "/nobody")
            #expect(nobody.isLive && !nobody.isReady && nobody.findings.count == 1)
            try await runtime.resume("/worker")
            // A coordinator that was stopped is meant to be so.
            try await runtime.stop("/worker")
            #expect(await runtime.health().isReady)
        }
    }
}

/// A message that can't cross processes.
private struct Uncodable: ResponderMessage {
    struct Number: Codable, Sendable {
        var value: Int
        init(_ value: Int) { self.value = value }
        init(from decoder: any Decoder) throws { throw Refusal() }
        func encode(to encoder: any Encoder) throws { throw Refusal() }
    }

    struct Stream: ResponderMessage {
        typealias Reply = Number
        var count: Int
    }

    struct Refusal: Error {}

    typealias Reply = Int

    var value: Int

    init(value: Int) { self.value = value }
    init(from decoder: any Decoder) throws { throw Refusal() }
    func encode(to encoder: any Encoder) throws { throw Refusal() }
}

private actor OutsideRoot: Coordinator {
    struct Configuration: CoordinatorConfiguration {
        var fails = false
    }

    struct Refusal: Error, Codable {}

    struct ReadNumbers: ResponderMessage {
        typealias Reply = [Int]
        var child: String
    }

    nonisolated let context: Context

    init(_ context: Context) { self.context = context }

    static let responders: Responders = [
        .respond(to: ReadNumbers.self) { me, request in
            var numbers: [Int] = []
            guard let child = me.context.child(request.child, as: OutsideChild.self) else { return [] }
            for try await number in child.stream(OutsideChild.Count(to: 4)) { numbers.append(number) }
            return numbers
        }
    ]

    func start() async throws {
        if context.configuration.fails { throw Refusal() }
        try await context.start(OutsideChild.self, as: "local")
        try await context.start(MiddleCoordinator.self, as: "worker", in: .worker) { $0.greeting = "worker" }
    }
}

private actor OutsideChild: Coordinator {
    typealias Event = Int

    struct Emit: ResponderMessage { var number: Int }

    struct Count: ResponderMessage {
        typealias Reply = Int
        var to: Int
    }

    nonisolated let context: Context

    init(_ context: Context) { self.context = context }

    static let responders: Responders = [
        .respond(to: Emit.self) { me, request in me.context.delegates.tell(request.number) },
        .respond(to: Uncodable.self) { _, message in message.value },
        .stream(Uncodable.Stream.self) { _, message, replies in
            for number in 0..<message.count { try await replies.send(Uncodable.Number(number)) }
        },
        .stream(Count.self) { _, message, replies in
            for number in 0..<message.to { try await replies.send(number) }
        },
    ]
}
