import ConcurrencySupport
import CoordinatorsTesting
import Fixtures
import Logging
import Processes
import TestSupport
import Testing
import WireProtocol

@testable import Coordinators

/// Handlers that run on past their cancellation, each in its own way, in each place.
@Suite("Stuck handlers", .timeLimit(minutes: 2))
struct StuckHandlerTests {
    enum Place: String, CaseIterable, Sendable { case inProcess, encoded, worker }

    /// Runs a tree, which lets all handlers go on at its end.
    private static func run(
        _ place: Place,
        members: Int? = nil,
        arePairs: Bool = false,
        _ options: CoordinatorRuntime.Options = Support.options,
        time: ManualTime? = nil,
        _ body: (CoordinatorRuntime, Notebook) async throws -> Void
    ) async throws {
        let notebook = try Notebook.temporary()
        defer { notebook.remove() }
        var configuration = StubbornRoot.Configuration()
        (configuration.notebook, configuration.hasWorkers) = (notebook, place != .inProcess)
        (configuration.members, configuration.arePairs) = (members, arePairs)
        let workers: TestWorkers? = place == .encoded ? .encoded : nil
        try await withRuntime(StubbornRoot.self, configuration: configuration, options: options, workers: workers, time: time) { runtime in
            defer { notebook.note("go on") }
            try await body(runtime, notebook)
        }
    }

    private static func inTurn(_ isTurn: Bool, _ body: @Sendable () async throws -> Void) async throws {
        if isTurn { try await BlockedThread.run(body) } else { try await body() }
    }

    /// Has an ask time out whose handler has begun.
    private static func giveUp(_ notebook: Notebook, _ ask: @Sendable @escaping (Duration) async throws -> String) async throws {
        // Enough for the handler to begin on a busy machine.
        await expect(.timedOut) { try await ask(.seconds(2)) }
        #expect(!notebook.lines.isEmpty)
    }

    /// Has a handler that runs on, and gives it up.
    private static func giveUp(_ way: Stubborn.Way, _ runtime: CoordinatorRuntime, _ notebook: Notebook) async throws {
        switch way {
        case .awaits, .blocks:
            let hold = Stubborn.Hold(blocks: way == .blocks)
            try await giveUp(notebook) { try await runtime.ask(hold, at: "/hall", timeout: $0) }
        case .blocksAtOnce:
            try await giveUp(notebook) { try await runtime.ask(Stubborn.HoldAtOnce(), at: "/hall", timeout: $0) }
        case .asksBlocked:
            try await giveUp(notebook) { try await runtime.ask(Stubborn.AskAbove(), at: "/hall/clerk", timeout: $0) }
            #expect(notebook.words(at: "/hall") == ["holds"])
        case .streams:
            for try await item in try runtime.stream(Stubborn.HoldStream(), at: "/hall", timeout: nil) {
                #expect(item == "holding")
                break
            }
        }
    }

    @Test(
        "A handler that runs on past its cancellation costs a worker its process, and any other its readiness until it ends",
        arguments: Stubborn.Way.allCases,
        Place.allCases
    )
    func stuck(_ way: Stubborn.Way, _ place: Place) async throws {
        try await Self.inTurn(way.blocksThread && place != .worker) {
            let noted = NotedMessages()
            let options = Support.options.with { $0.instruments = [noted] }
            try await Self.run(place, options) { runtime, notebook in
                let before = try await runtime.ask(Fixture.WhereAmI(), at: "/hall")
                // Asked while the first one holds: later, it could be answered by the next life.
                let other = Task { try await Self.other(runtime, notebook, place) }
                try await Self.giveUp(way, runtime, notebook)
                guard place == .worker else {
                    // The coordinator that blocks the thread is to blame, not the one that waits for it.
                    try await eventually("it's told") { await runtime.health().findings.map(\.path) == ["/hall"] }
                    let health = await runtime.health()
                    #expect(health.isLive && !health.isReady && health.findings.first?.stuckHandlers == 1, "\(health)")
                    try await eventually("instruments are told") { noted.count > 0 }
                    // While no thread is free, the one that waits can't be told from one that runs.
                    #expect((1...(way == .asksBlocked ? 2 : 1)).contains(noted.count), "\(noted.count)")
                    notebook.note("go on")
                    try await eventually("it's ready again") { await runtime.health().isReady }
                    #expect(try await runtime.ask(Fixture.WhereAmI(), at: "/hall") == before)
                    return
                }
                _ = try await runtime.whereIsIt("/hall", after: before)
                #expect(try await runtime.snapshot(of: "/hall").lastExit == .hung)
                await expect(.peerLost) { try await other.value }
                try await eventually("the next life is ready") { await runtime.health().isReady }
            }
        }
    }

    /// Asks a worker that holds an ask already; its end is that of the worker.
    private static func other(_ runtime: CoordinatorRuntime, _ notebook: Notebook, _ place: Place) async throws -> String {
        guard place == .worker else { return "" }
        try await eventually("it holds") { !notebook.lines.isEmpty }
        return try await runtime.ask(Stubborn.Hold(blocks: false), at: "/hall", timeout: .seconds(60))
    }

    @Test("A pool gives a member nothing more while a handler runs on there, and the others answer", arguments: Place.allCases)
    func pools(_ place: Place) async throws {
        try await Self.run(place, members: 3) { runtime, notebook in
            try await Self.giveUp(notebook) { try await runtime.ask(Stubborn.Hold(blocks: false), at: "/pool", timeout: $0) }
            let holder = try #require(notebook.lines.first?.split(separator: " ").first.map(String.init))
            for _ in 0..<12 {
                let place = try await runtime.ask(Fixture.WhereAmI(), at: "/pool", timeout: .seconds(20))
                // A worker may be another by now.
                #expect(place.path != holder || place.incarnation == 2)
            }
            notebook.note("go on")
            try await eventually("all members get messages again") {
                var places: Set<String> = []
                for _ in 0..<3 { places.insert(try await runtime.ask(Fixture.WhereAmI(), at: "/pool", timeout: .seconds(20)).path) }
                return places.count == 3
            }
        }
    }

    @Test("A pool gives a member nothing more whose handler is stuck, though it would take another message")
    func pairs() async throws {
        try await Self.run(.inProcess, members: 2, arePairs: true) { runtime, notebook in
            try await Self.giveUp(notebook) { try await runtime.ask(Stubborn.Hold(blocks: false), at: "/pool", timeout: $0) }
            try await eventually("it's told") { await !runtime.health().isReady }
            let holder = try #require(await runtime.health().findings.first?.path)
            for _ in 0..<6 { #expect(try await runtime.ask(Fixture.WhereAmI(), at: "/pool").path != holder.description) }
            notebook.note("go on")
            try await eventually("it gets messages again") {
                try await runtime.ask(Fixture.WhereAmI(), at: "/pool").path == holder.description
            }
        }
    }

    @Test("The grace counts from the cancellation; a handler without a deadline, and a one-way message's, have none")
    func grace() async throws {
        let time = ManualTime()
        try await Self.run(.inProcess, time: time) { runtime, notebook in
            let open = Task { try await runtime.ask(Stubborn.Hold(blocks: false), at: "/hall", timeout: .seconds(3_600)) }
            #expect(try await runtime.send(Stubborn.Hold(blocks: false), at: "/hall"))
            let ask = Task { try await runtime.ask(Stubborn.Hold(blocks: false), at: "/hall", timeout: .seconds(1)) }
            try await eventually("all hold") { notebook.lines.count == 3 }
            await time.advance(by: .seconds(1))
            await expect(.timedOut) { try await ask.value }
            await time.advance(by: .milliseconds(250))
            #expect(await runtime.health().isReady)
            await time.advance(by: .milliseconds(100))
            #expect(await runtime.health().findings.map(\.stuckHandlers) == [1])
            await time.advance(by: .seconds(60))
            #expect(await runtime.health().findings.map(\.stuckHandlers) == [1])
            notebook.note("go on")
            #expect(try await open.value == "gone on")
        }
    }

    @Test("A process that is told to ends with a handler that runs on")
    func ending() async throws {
        let directory = try TemporaryDirectory()
        var specification = ProcessSpecification(executable: Support.worker.path, standardOutput: .null, standardError: .null)
        specification.environment = [
            Fixture.bootstrapVariable: directory.path, Fixture.stuckVariable: "1", "PATH": "/usr/bin:/bin",
        ]
        try await withChild(specification) { parent in
            try await eventually("it has ended") { parent.exitStatus == .exited(code: 1) }
        }
    }

    /// The coordinators that are to blame, in the order of the verdicts.
    private final class Verdicts: Sendable {
        let paths = Lock<[CoordinatorPath]>([])
    }

    /// A coordinator whose handler runs on, or that has one of the coordinator below it in its row.
    private final class Suspect: WatchedReceiver {
        let path: CoordinatorPath
        let above: Suspect?
        let blamed = Lock<[CoordinatorPath]>([])
        let hasEnded = Lock(false)
        let verdicts: Verdicts

        init(_ path: CoordinatorPath, below above: Suspect? = nil, _ verdicts: Verdicts) {
            (self.path, self.above, self.verdicts) = (path, above, verdicts)
        }

        var typeName: String { "Suspect" }
        var incarnation: UInt32 { 1 }
        var logger: Logger { Logger(label: "suspect") }
        var cancellationGrace: Duration { .milliseconds(200) }
        var placesOfHandlers: [any WatchedReceiver] { above.map { [self, $0] } ?? [self] }
        var handlesAnyAtOnce: Bool { false }

        func overrun(of subject: HandlerWatch.Subject) -> HandlerWatch.Overrun { hasEnded.withLock { $0 } ? .ended : .running }

        func noteStuck(_ subject: HandlerWatch.Subject, culprit: (any WatchedReceiver)?) -> Bool {
            blamed.withLock { $0.append(culprit?.path ?? path) }
            return true
        }

        func tell(_ verdict: HandlerWatch.Verdict) { verdicts.paths.withLock { $0.append(verdict.receiver.path) } }

        func passExecutor(_ job: @Sendable () -> Void) async { if above != nil { job() } }
        func cancel(_ handler: UInt64, of envelope: Envelope) {}
        func noteCancellation(of envelope: Envelope) -> Bool { false }
        func handlerWaits() {}
        func handlerWaitsNoMore() {}
        func noteWaitForChild(of handler: UInt64, begins: Bool) {}
        func follow(cycleSearch: JSONValue, _ ask: (UInt64) -> Envelope?) async -> JSONValue { .null }
    }

    @Test("While no thread is free a handler's own coordinator is to blame, and then the one that blocks its thread")
    func lateThread() async throws {
        let threads = Lock<[@Sendable () -> Void]>([])
        let watch = HandlerWatch(.monotonic) { hasPassed in threads.withLock { $0.append(hasPassed) } }
        let verdicts = Verdicts()
        let hall = Suspect("/hall", verdicts)
        let clerk = Suspect("/hall/clerk", below: hall, verdicts)
        let message = Envelope(.value(Stubborn.AskAbove()), asker: .task, sender: "/", deadline: nil)
        watch.add(HandlerWatch.Subject(of: clerk, envelope: message, handler: 1))
        try await eventually("it's told") { verdicts.paths.withLock { $0 } == ["/hall/clerk"] }
        for hasPassed in threads.withLock({ $0 }) { hasPassed() }
        try await eventually("who blocks is told") { verdicts.paths.withLock { $0 } == ["/hall/clerk", "/hall"] }
        #expect(clerk.blamed.withLock { $0 } == ["/hall/clerk", "/hall"])
        // One that blocks its own executor is to blame at once when a thread is free, and not twice.
        watch.add(HandlerWatch.Subject(of: hall, envelope: message, handler: 2))
        try await eventually("its thread is asked for") { threads.withLock { $0.count } == 2 }
        threads.withLock { $0[1] }()
        try await eventually("it's told too") { verdicts.paths.withLock { $0.count } == 3 }
        #expect(hall.blamed.withLock { $0 } == ["/hall"])
    }

    @Test("Of a step that takes longer than it should, because the process was stopped, only a part counts")
    func awake() {
        var time = AwakeTime()
        var now = MonotonicTime(nanoseconds: 0)
        func pass(_ duration: Duration) {
            now = now + duration
            time.pass(until: now)
        }
        pass(.seconds(100))
        #expect(time.elapsed == .zero)
        for _ in 0..<4 { pass(AwakeTime.step) }
        #expect(time.elapsed == AwakeTime.step * 4)
        pass(.seconds(3_600))
        #expect(time.elapsed == AwakeTime.step * 6)
        time.rest()
        pass(.seconds(1))
        #expect(time.elapsed == AwakeTime.step * 6)
    }
}

/// The number of messages whose handlers an instrument was told of.
private final class NotedMessages: CoordinatorInstrument {
    private let counter = Lock(0)

    var count: Int { counter.withLock { $0 } }

    func stuck(_ message: MessageInfo) { counter.withLock { $0 += 1 } }

    nonisolated(nonsending) func around<R: Sendable>(
        _ message: MessageInfo,
        next: nonisolated(nonsending) () async throws -> R
    ) async throws -> R { try await next() }

    func around<R: Sendable>(_ message: MessageInfo, next: () throws -> R) throws -> R { try next() }
}
