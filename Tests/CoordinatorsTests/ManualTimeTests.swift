import ConcurrencySupport
import Coordinators
import CoordinatorsTesting
import TestSupport
import Testing

@Suite("Manual time", .timeLimit(minutes: 3))
struct ManualTimeTests {
    @Test("Thirty minutes of restarts, deadlines, retries and calls pass in a moment, and come in one order")
    func halfAnHour() async throws {
        let clock = ContinuousClock()
        var first: [String] = []
        var fastest = try await clock.measure { first = try await Ward.halfAnHour() }
        for kind in ["tick", "patient begins", "patient crashed", "timedOut", "answered after 3", "slept"] {
            #expect(first.contains { $0.hasSuffix(kind) }, "\(kind) isn't among \(first.prefix(40))")
        }
        #expect(first.count > 300)
        #expect(first.last?.hasPrefix("1800.0") == true)
        for run in 2...100 {
            var record: [String] = []
            fastest = min(fastest, try await clock.measure { record = try await Ward.halfAnHour() })
            try #require(record == first, "run \(run) differs from the first")
        }
        // Of a hundred runs: the others may have shared the processors with other tests.
        #expect(fastest < .patient(.seconds(1)))
    }

    @Test("Time stands still until it's moved, and stops where it was moved to")
    func standsStill() async throws {
        let time = ManualTime()
        try await withRuntime(Sleeper.self, time: time) { runtime in
            async let woken: Void = runtime.ask(Sleeper.Sleep(seconds: 60), timeout: .seconds(100))
            await time.advance(by: .seconds(59))
            #expect(time.elapsed == .seconds(59))
            #expect(try await runtime.ask(Sleeper.Woken()) == 0)
            await time.advance(by: .seconds(1))
            #expect(try await runtime.ask(Sleeper.Woken()) == 1)
            try await woken
        }
    }

    @Test("A start, a shutdown and an idle coordinator have the time that they were given")
    func hooks() async throws {
        let time = ManualTime()
        try await withRuntime(Ward.self, configure: { $0.isQuiet = true }, time: time) { runtime in
            async let slow: Void = runtime.ask(Ward.Begin(seconds: 40), timeout: .seconds(120))
            await time.advance(by: .seconds(29))
            async let idle: Void = runtime.ask(Ward.BeginIdle(), timeout: .seconds(5))
            await time.advance(by: .seconds(1))
            do {
                try await slow
                Issue.record("the start has not timed out")
            } catch let error as CoordinatorError {
                #expect(error.code == .startTimedOut)
            }
            try await idle
            #expect(try await runtime.snapshot(of: "/idle").state == .active)
            await time.advance(by: .seconds(59))
            _ = try await runtime.snapshot(of: "/idle")
            await time.advance(by: .seconds(20))
            await #expect(throws: CoordinatorError.self) { try await runtime.snapshot(of: "/idle") }
        }
    }

    @Test("The end of the tree waits for no real grace")
    func endOfTheTree() async throws {
        let began = ContinuousClock.now
        var options = CoordinatorRuntime.Options()
        options.shutdown = .timeout(.seconds(600))
        try await withRuntime(Sleeper.self, options: options, time: ManualTime()) { runtime in
            let isAccepted = try await runtime.send(Sleeper.Ignore())
            #expect(isAccepted)
        }
        #expect(ContinuousClock.now - began < .patient(.seconds(20)))
    }

    @Test("Trees have times of their own")
    func twoTrees() async throws {
        let (first, second) = (ManualTime(), ManualTime())
        try await withRuntime(Sleeper.self, time: first) { one in
            try await withRuntime(Sleeper.self, time: second) { other in
                async let sleep: Void = one.ask(Sleeper.Sleep(seconds: 10), timeout: .seconds(100))
                async let otherSleep: Void = other.ask(Sleeper.Sleep(seconds: 10), timeout: .seconds(100))
                await second.advance(by: .seconds(10))
                try await otherSleep
                #expect(try await one.ask(Sleeper.Woken()) == 0)
                await first.advance(by: .seconds(10))
                try await sleep
            }
        }
    }

    @Test("A manual time with real workers is refused")
    func realWorkers() async throws {
        let error = await #expect(throws: CoordinatorError.self) {
            try await withRuntime(Sleeper.self, workers: .built("FixtureWorker"), time: ManualTime()) { _ in () }
        }
        #expect(error?.code == .unsupported)
        #expect(error?.message.contains("FixtureWorker") == true)
    }
}

/// A root that records what happens to it and below it.
private actor Ward: Coordinator {
    struct Configuration: CoordinatorConfiguration {
        var isQuiet = false
    }

    struct Record: ResponderMessage { typealias Reply = [String] }
    struct Begin: ResponderMessage { var seconds: Int }
    struct BeginIdle: ResponderMessage {}

    /// Asks that a child answers only at the third attempt.
    struct Fetch: ResponderMessage {
        typealias Reply = Int
        static let isIdempotent = true
        static let timeout = Duration.seconds(60)
        static let retry = RetryPolicy(attempts: 5, backoff: Backoff(minimum: .seconds(2), maximum: .seconds(9)), on: [.mailboxFull])
    }

    struct Never: ResponderMessage { static let timeout = Duration.seconds(7) }

    let context: Context
    private var record: [String] = []
    private lazy var begin = context.clock.now

    init(_ context: Context) { self.context = context }

    static var supervision: SupervisionPolicy {
        SupervisionPolicy(intensity: 1_000_000, backoff: Backoff(minimum: .seconds(1), maximum: .seconds(60)))
    }

    static let responders: Responders = [
        .respond(to: Record.self) { me, _ in me.record },
        .respond(to: Patient.Began.self) { me, _ in me.note("patient begins") },
        .respond(to: Begin.self) { me, begin in
            try await me.context.start(Patient.self, as: "slow") { $0.startSeconds = begin.seconds }
        },
        .respond(to: BeginIdle.self) { me, _ in try await me.context.start(Idle.self, as: "idle") },
        .lifecycle { me, child, change in me.note("\(child.path.key) \(change)".prefix { $0 != "(" }.description) },
    ]

    func start() async throws {
        _ = begin
        if context.configuration.isQuiet { return }
        try await context.start(Patient.self, as: "patient") { $0.lifeSeconds = 20 }
        try await context.start(Nurse.self, as: "nurse")
        context.every(.seconds(10)) { me in me.note("tick") }
        context.every(.seconds(45)) { me in await me.askInVain() }
        context.every(.seconds(100)) { me in await me.fetch() }
        context.task { try await self.sleepNowAndThen() }
    }

    private func note(_ what: String) {
        let time = begin.duration(to: context.clock.now)
        record.append("\(time.components.seconds).\(time.components.attoseconds / 1_000_000_000_000_000) \(what)")
    }

    private func askInVain() async {
        do { try await context.child(Nurse.self)?.ask(Never()) } catch let error as CoordinatorError { note("\(error.code)") } catch {}
    }

    private func fetch() async {
        do { note("answered after \(try await context.child(Nurse.self)?.ask(Fetch()) ?? 0)") } catch { note("\(error)") }
    }

    private func sleepNowAndThen() async throws {
        while true {
            try await context.clock.sleep(for: .seconds(33))
            note("slept")
        }
    }

    /// Runs for half an hour, and returns the record.
    static func halfAnHour() async throws -> [String] {
        let time = ManualTime()
        return try await withRuntime(Ward.self, time: time) { runtime in
            await time.advance(by: .seconds(1_800))
            return try await runtime.ask(Record())
        }
    }
}

/// A child that fails again and again, or takes its time to start.
private actor Patient: Coordinator {
    struct Configuration: CoordinatorConfiguration {
        var startSeconds = 0
        var lifeSeconds = 0
    }

    struct Began: ResponderMessage {}

    let context: Context

    init(_ context: Context) { self.context = context }

    func start() async throws {
        if context.configuration.startSeconds > 0 { try await context.clock.sleep(for: .seconds(context.configuration.startSeconds)) }
        try await context.ask(Began())
    }

    func run() async throws {
        try await context.clock.sleep(for: .seconds(context.configuration.lifeSeconds))
        throw CoordinatorError(.failed, "its life is short")
    }
}

/// A child that never answers, or only at the third attempt.
private actor Nurse: Coordinator {
    let context: Context
    private var attempts = 0

    init(_ context: Context) { self.context = context }

    static let responders: Responders = [
        .respond(to: Ward.Never.self) { me, _ in try await me.context.clock.sleep(for: .seconds(1_000)) },
        .respond(to: Ward.Fetch.self) { me, _ in
            me.attempts += 1
            guard me.attempts % 3 == 0 else { throw CoordinatorError(.mailboxFull, "not yet") }
            return 3
        },
    ]
}

private actor Idle: Coordinator {
    let context: Context
    init(_ context: Context) { self.context = context }
    static var idleTimeout: Duration? { .seconds(60) }
}

private actor Sleeper: Coordinator {
    struct Sleep: ResponderMessage { var seconds: Int }
    struct Woken: ResponderMessage { typealias Reply = Int }
    struct Ignore: ResponderMessage {}

    let context: Context
    private var woken = 0

    init(_ context: Context) { self.context = context }

    static let responders: Responders = [
        .respond(to: Sleep.self) { me, sleep in
            try await me.context.clock.sleep(for: .seconds(sleep.seconds))
            me.woken += 1
        },
        .respond(to: Woken.self) { me, _ in me.woken },
        .respond(to: Ignore.self) { _, _ in await OneShot<Void>().value },
    ]
}
