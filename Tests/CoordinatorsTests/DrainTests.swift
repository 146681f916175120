import ConcurrencySupport
import CoordinatorsTesting
import Fixtures
import TestSupport
import Testing

@testable import Coordinators

@Suite("Draining", .timeLimit(minutes: 3))
struct DrainTests {
    @Test("What was taken is finished, and nothing new is taken", arguments: [Where.inProcess, .worker])
    func finishesWhatWasTaken(_ place: Where) async throws {
        try await withRoot { runtime in
            try await runtime.startChild("a", place, drainSeconds: 60)
            let gate = try TemporaryDirectory()
            let ask = Task { try await runtime.perform(.waitFor(gate.file("open")), at: "/a", timeout: .seconds(60)) }
            try await eventually("the ask has begun") { gate.entries.contains("open.begun") }
            let stop = Task { try await runtime.stop("/a") }
            // The stop has begun when it's refused.
            try await eventually("new work is refused") {
                do {
                    _ = try await runtime.ask(Fixture.WhereAmI(), at: "/a")
                    return false
                } catch let error as CoordinatorError {
                    #expect(error.code == .draining && !error.maybeExecuted, "\(error)")
                    return true
                }
            }
            await #expect(throws: CoordinatorError.self) { try await runtime.send(Fixture.Do(.echo("x")), at: "/a") }
            try Files.write("", to: gate.file("open"))
            #expect(try await ask.value == "opened")
            #expect(try await stop.value.state == .inactive)
            #expect(try await runtime.snapshot(of: "/a").lastExit == .shutdown)
        }
    }

    @Test("A handler of the drain may ask those above and below, which are stopped after it", arguments: [Where.inProcess, .worker])
    func subtreeServesTheDrain(_ place: Where) async throws {
        try await withRoot { runtime in
            try await runtime.startChild("a", place, drainSeconds: 60)
            _ = try await runtime.perform(.startGrandchild("b", inWorker: place.isWorker), at: "/a")
            let gate = try TemporaryDirectory()
            let ask = Task { try await runtime.perform(.waitForThenAskBelow(gate.file("open"), "b"), at: "/a", timeout: .seconds(60)) }
            try await eventually("the ask has begun") { gate.entries.contains("open.begun") }
            let stop = Task { try await runtime.stop("/a") }
            try await eventually("the stop has begun") { try await runtime.snapshot(of: "/a").state == .stopping }
            try Files.write("", to: gate.file("open"))
            #expect(try await ask.value == "echo")
            _ = try await stop.value
        }
    }

    @Test("What isn't finished in time is cancelled, within the one budget", arguments: [Where.inProcess, .worker])
    func cancelsWhatIsLeft(_ place: Where) async throws {
        // Spent twice it would take 16 seconds.
        try await expectPromptly(within: .patient(.seconds(15))) {
            var (time, duration) = (Duration.zero, Duration.zero)
            try await withRoot { runtime in
                try await runtime.startChild("a", place, drainSeconds: 8)
                let gate = try TemporaryDirectory()
                let ask = Task { try await runtime.perform(.waitFor(gate.file("open")), at: "/a", timeout: .seconds(60)) }
                try await eventually("the ask has begun") { gate.entries.contains("open.begun") }
                let (began, clock) = (ContinuousClock.now, MachineClock.now)
                _ = try await runtime.stop("/a")
                (duration, time) = (ContinuousClock.now - began, MachineClock.now - clock)
                await #expect(throws: CoordinatorError.self) { try await ask.value }
            }
            #expect(duration > .seconds(6.5))
            return time
        }
    }

    @Test("A drain is cut short by a hastened end")
    func hastened() async throws {
        let runtime = CoordinatorRuntime(RootCoordinator.self, options: Support.options.with { $0.shutdown = .draining(.seconds(600)) })
        try await runtime.start()
        try await runtime.startChild("a", .inProcess)
        let gate = try TemporaryDirectory()
        let ask = Task { try await runtime.perform(.waitFor(gate.file("open")), at: "/a", timeout: .seconds(600)) }
        try await eventually("the ask has begun") { gate.entries.contains("open.begun") }
        let stop = Task { await runtime.stop() }
        try await eventually("the end is hastened") { runtime.hasten(.timeout(.milliseconds(200))) }
        await stop.value
        await #expect(throws: CoordinatorError.self) { try await ask.value }
    }

    @Test("A stream of a child, and what its `run` hook asks, don't hold up the drain of its parent")
    func childrensStreamsDontCount() async throws {
        try await withRuntime(Newsroom.self) { runtime in
            try await eventually("the readers read") { try await runtime.ask(Newsroom.Readers(), at: "/desk") == 3 }
            let began = ContinuousClock.now
            try await runtime.stop("/desk")
            #expect(ContinuousClock.now - began < .seconds(60))
        }
    }

    @Test("A message that was taken and waits is handled, also one way")
    func waitingMessagesAreHandled() async throws {
        try await withRuntime(Newsroom.self) { runtime in
            for number in 0..<100 { #expect(try await runtime.send(Newsroom.Print(number: number), at: "/desk")) }
            let stop = Task { try await runtime.stop("/desk") }
            try await eventually("the stop has begun") { try await runtime.snapshot(of: "/desk").state == .stopping }
            #expect(await Newsroom.printed.value == 0)
            Newsroom.press.settle()
            _ = try await stop.value
            #expect(await Newsroom.printed.value == 100)
            #expect(runtime.deadLetters.count == 0)
        }
    }
}

/// A count that coordinators and a test share.
private actor Count {
    var value = 0

    func add() { value += 1 }
}

/// A root with a desk that streams news to its readers, which read for as long as they live.
private actor Newsroom: Coordinator {
    struct News: ResponderMessage { typealias Reply = Int }
    struct Readers: ResponderMessage { typealias Reply = Int }
    struct Print: ResponderMessage { var number: Int }

    static let printed = Count()
    /// Settled when printing may begin.
    static let press = OneShot<Void>()

    let context: Context

    init(_ context: Context) { self.context = context }

    func start() async throws { try await context.start(Desk.self, as: "desk", shutdown: .draining(.seconds(120))) }

    actor Desk: Coordinator {
        let context: Context
        private var readers = 0

        init(_ context: Context) { self.context = context }

        static let mailbox = MailboxPolicy(running: 1)

        static let responders: Responders = [
            .stream(News.self) { me, _, replies in
                me.readers += 1
                try await replies.send(1)
                try await untilCancelled()
            },
            .respond(to: Readers.self, interleaves: true) { me, _ in me.readers },
            .respond(to: Print.self) { _, _ in
                await Newsroom.press.value
                await Newsroom.printed.add()
            },
        ]

        func start() async throws {
            for number in 1...3 { try await context.start(Reader.self, as: "reader\(number)") }
        }
    }

    actor Reader: Coordinator {
        let context: Context

        init(_ context: Context) { self.context = context }

        func run() async throws {
            for try await _ in context.stream(News()) {}
        }
    }
}
