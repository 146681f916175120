import ConcurrencySupport
import Coordinators
import CoordinatorsTesting
import TestSupport
import Testing

@Suite("The order in which children end", .timeLimit(minutes: 3))
struct StopOrderTests {
    @Test(
        "A thousand children that were started later end together, before those of the start hook, which end in reverse",
        arguments: [false, true]
    )
    func laterChildren(_ drains: Bool) async throws {
        let ends = try await House.ends(drains: drains) { runtime, _ in try await runtime.ask(House.Fill(count: 1_000)) }
        let later = ends.filter { Int($0.key) != nil }
        #expect(later.count == 1_000 && later.values.allSatisfy { $0 == .zero })
        #expect(ends["c"] == .milliseconds(300) && ends["b"] == .milliseconds(600) && ends["a"] == .milliseconds(900))
    }

    @Test("By the machine's clock a thousand children that take 300 ms each end together, in less than two seconds")
    func thousand() async throws {
        guard TestTier.current >= .all else { return }
        try await expectPromptly(within: .patient(.seconds(2))) {
            var time = Duration.zero
            try await withRuntime(House.self) { runtime in
                let crowd = Tenant.crowds.withLock { crowds in
                    crowds.append((1_000, OneShot()))
                    return crowds.count - 1
                }
                try await runtime.ask(House.FillByClock(crowd: crowd, count: 1_000), timeout: .seconds(60))
                let begin = MachineClock.now
                await runtime.stop()
                time = MachineClock.now - begin
                #expect(Tenant.crowds.withLock { $0[crowd].missing } == 0, "none ends before all have begun to")
            }
            print("1,000 children with 300 ms each: \(time)")
            return time
        }
    }

    @Test("A policy has all children end one after the other")
    func chain() async throws {
        let ends = try await House.ends(.chain) { runtime, _ in try await runtime.ask(House.Fill(count: 3)) }
        #expect(ends.sorted { $0.value < $1.value }.map(\.key) == ["2", "1", "0", "c", "b", "a"])
        #expect(ends["a"] == .milliseconds(1_500))
    }

    @Test("A child that was stopped and is started again keeps its place; one that was removed is a later one")
    func startedAgain() async throws {
        let ends = try await House.ends { runtime, time in
            async let stop = runtime.stop("/b")
            async let replacement: Void = runtime.ask(House.ReplaceA())
            await time.advance(by: .seconds(1))
            _ = try await (stop, replacement)
            try await runtime.start("/b")
        }
        #expect(ends == ["a": .zero, "c": .milliseconds(300), "b": .milliseconds(600)])
    }

    @Test("The members of a pool end together")
    func pool() async throws {
        let ends = try await House.ends { runtime, _ in try await runtime.ask(House.StartPool(size: 5)) }
        #expect((1...5).allSatisfy { ends["\($0)"] == .zero })
    }
}

private actor House: Coordinator {
    struct Configuration: CoordinatorConfiguration {
        var order = SupervisionPolicy.StopOrder.chainOfStart
        /// Where the children note the beginnings of their stops; `nil`: there are none.
        var record: Int?
    }

    struct Fill: ResponderMessage { var count: Int }
    struct FillByClock: ResponderMessage {
        var crowd: Int
        var count: Int
    }
    struct StartPool: ResponderMessage { var size: Int }
    struct ReplaceA: ResponderMessage {}

    let context: Context

    init(_ context: Context) { self.context = context }

    static let responders: Responders = [
        .respond(to: Fill.self) { me, fill in for number in 0..<fill.count { try await me.start("\(number)") } },
        .respond(to: FillByClock.self) { me, fill in
            for number in 0..<fill.count { try await me.context.start(Tenant.self, as: "\(number)") { $0.crowd = fill.crowd } }
        },
        .respond(to: StartPool.self) { me, pool in
            let record = me.context.configuration.record
            try await me.context.start(Lodger.self, as: "pool", in: .pool(pool.size)) { $0.record = record }
        },
        .respond(to: ReplaceA.self) { me, _ in
            try await me.context.remove("a")
            try await me.start("a")
        },
    ]

    func start() async throws {
        try context.supervise(by: SupervisionPolicy(stopOrder: context.configuration.order))
        guard context.configuration.record != nil else { return }
        for key in ["a", "b", "c"] { try await start(key) }
    }

    private func start(_ key: String) async throws {
        let record = context.configuration.record
        try await context.start(Lodger.self, as: key) { $0.record = record }
    }

    /// Runs a house, and returns when the stop of each child has begun, counted from the first.
    static func ends(
        _ order: SupervisionPolicy.StopOrder = .chainOfStart,
        drains: Bool = false,
        _ body: (CoordinatorRuntime, ManualTime) async throws -> Void
    ) async throws -> [String: Duration] {
        let time = ManualTime()
        let record = Lodger.records.withLock { records in
            records.append([:])
            return records.count - 1
        }
        var options = CoordinatorRuntime.Options()
        if drains { options.shutdown = .draining(.seconds(60)) }
        try await withRuntime(House.self, options: options, configure: { ($0.order, $0.record) = (order, record) }, time: time) { runtime in
            try await body(runtime, time)
            Lodger.records.withLock { $0[record] = [:] }
            async let end: Void = runtime.stop()
            await time.advance(by: .seconds(600))
            await end
        }
        let begun = Lodger.records.withLock { $0[record] }
        let first = try #require(begun.values.min())
        return begun.mapValues { first.duration(to: $0) }
    }
}

/// A child whose stop takes 300 ms.
private actor Lodger: Coordinator {
    struct Configuration: CoordinatorConfiguration { var record: Int? }

    /// The beginnings of stops, by key, of one test each.
    static let records = Lock<[[String: CoordinatorClock.Instant]]>([])

    let context: Context

    init(_ context: Context) { self.context = context }

    func stopped() async {
        let now = context.clock.now
        if let record = context.configuration.record { Self.records.withLock { $0[record][context.path.key] = now } }
        try? await context.clock.sleep(until: now.advanced(by: .milliseconds(300)), tolerance: nil)
    }
}

/// A child whose stop takes 300 ms by the machine's clock, from the time at which all of its crowd are stopping.
private actor Tenant: Coordinator {
    struct Configuration: CoordinatorConfiguration { var crowd = 0 }

    /// Of each crowd the number of those that aren't stopping, and what the others wait for.
    static let crowds = Lock<[(missing: Int, complete: OneShot<Void>)]>([])

    let context: Context

    init(_ context: Context) { self.context = context }

    func stopped() async {
        let (isLast, complete) = Self.crowds.withLock { crowds in
            crowds[context.configuration.crowd].missing -= 1
            return (crowds[context.configuration.crowd].missing == 0, crowds[context.configuration.crowd].complete)
        }
        if isLast { complete.settle(()) }
        await complete.value
        try? await realTime(.milliseconds(300), because: "this is a child that takes its time to end")
    }
}
