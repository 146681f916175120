import Coordinators
import CoordinatorsTesting
import Fixtures
import TestSupport
import Testing

@Suite("The test kit", .timeLimit(minutes: 3))
struct TestKitTests {
    // MARK: Probes

    @Test("A probe stands for all ancestors: it records, answers as told, and is asked")
    func above() async throws {
        let probe = Probe()
        probe.answer(Stock.Price.self) { price in price.item.count }
        try await withRuntime(Till.self, configuration: Till.Configuration(name: "one"), under: probe) { runtime in
            #expect(try await runtime.ask(Till.Scan(item: "apple"), at: .subject) == 5)
            async let paid = runtime.ask(Till.Pay(), at: .subject)
            let request = try await probe.expect(Stock.Charge.self)
            #expect(request.message.cents == 5)
            #expect(request.context.sender == .subject)
            request.reply(true)
            #expect(try await paid)
            #expect(probe.received.map(\.name) == [Stock.Price.name, Stock.Charge.name])
            #expect(probe.waiting.isEmpty)
        }
    }

    @Test("A request that is failed throws the error at its asker")
    func failing() async throws {
        let probe = Probe()
        try await withRuntime(Till.self, configuration: Till.Configuration(name: "one"), under: probe) { runtime in
            let paying = Task { try await runtime.ask(Till.Pay(), at: .subject) }
            try await probe.expect(Stock.Charge.self).fail(Stock.NoMoney(missing: 3))
            let error = await #expect(throws: Stock.NoMoney.self) { try await paying.value }
            #expect(error?.missing == 3)
        }
    }

    @Test("What the test neither answers nor takes is seen as waiting; what never comes is an error that says what came")
    func unexpected() async throws {
        let probe = Probe()
        let time = ManualTime()
        try await withRuntime(Till.self, configuration: Till.Configuration(name: "one"), time: time, under: probe) { runtime in
            async let paid = runtime.ask(Till.Pay(), at: .subject, timeout: .seconds(60))
            await time.advance(by: .zero)
            #expect(probe.waiting.map(\.name) == [Stock.Charge.name])
            #expect(probe.waiting.map(\.sender) == [.subject])
            let error = await #expect(throws: ProbeError.self) {
                try await probe.expect(Stock.Price.self, within: .milliseconds(20))
            }
            #expect(error?.description.contains(Stock.Charge.name) == true)
            await time.advance(by: .seconds(60))
            do {
                _ = try await paid
                Issue.record("it was paid")
            } catch let error as CoordinatorError {
                #expect(error.code == .timedOut)
            }
        }
    }

    @Test("A probe hears events, changes, one-way messages and the output")
    func notices() async throws {
        let probe = Probe()
        try await withRuntime(Till.self, configuration: Till.Configuration(name: "two"), under: probe) { runtime in
            try await runtime.send(Till.Tell(), at: .subject)
            #expect(try await probe.expect(Stock.Said.self).message.word == "two")
            try await eventually("the event") { probe.events(of: String.self) == ["told"] }
            try await runtime.fault(.crash, at: .subject)
            try await eventually("the restart") { probe.changes.contains { $0.change == .restarted } }
            try await runtime.send(Till.Close(), at: .subject)
            #expect(try await probe.output(as: Int.self) == 7)
        }
    }

    @Test("A probe stands for children", arguments: [false, true])
    func standIn(isEncoded: Bool) async throws {
        let tills = Probe()
        tills.answer(Till.Scan.self) { $0.item.count * 2 }
        let standIn = StandIn(for: Till.self, tills)
        try await withRuntime(Mall.self, workers: isEncoded ? .encoded : .inProcess, standIns: [standIn]) { runtime in
            let price = try await runtime.ask(Mall.Buy(item: "pear"))
            #expect(price == 8)
            #expect(tills.received.map(\.name) == [Till.Scan.name])
            #expect(tills.received.map(\.sender) == ["/"])
        }
    }

    // MARK: The encoded border

    @Test("What can't cross fails by name, and what can arrives as it would from another process")
    func border() async throws {
        try await withRuntime(Mall.self, workers: .encoded) { runtime in
            let price = try await runtime.ask(Mall.Buy(item: "apple"), timeout: .seconds(60))
            #expect(price == 5)
            let message = await #expect(throws: CoordinatorError.self) {
                try await runtime.ask(Mall.Buy(item: "uncodable"), timeout: .seconds(60))
            }
            #expect(message?.code == .coding)
            #expect(message?.message.contains(Stock.Price.name) == true)
            let reply = await #expect(throws: CoordinatorError.self) { try await runtime.ask(Mall.Weigh(), timeout: .seconds(20)) }
            #expect(reply?.message.contains("the reply to \(Till.Weigh.name)") == true)
            let error = await #expect(throws: Stock.NoMoney.self) { try await runtime.ask(Mall.Refuse(), timeout: .seconds(60)) }
            #expect(error?.missing == 9)
            let configuration = await #expect(throws: CoordinatorError.self) {
                try await runtime.ask(Mall.StartUncodable(), timeout: .seconds(60))
            }
            #expect(configuration?.message.contains("the configuration of /bad") == true)
        }
    }

    @Test("Without the border the same passes unseen")
    func noBorder() async throws {
        try await withRuntime(Mall.self, workers: .inProcess) { runtime in
            let price = try await runtime.ask(Mall.Buy(item: "uncodable"))
            #expect(price == 9)
        }
    }

    // MARK: Faults

    @Test("A lost and a slow link, behind an encoded border in manual time")
    func linksInProcess() async throws {
        let time = ManualTime()
        try await withRuntime(Mall.self, workers: .encoded, time: time) { runtime in
            let lost = try await runtime.fault(.lostLink, at: "/till")
            await expect(.peerLost) { try await runtime.ask(Mall.Buy(item: "pear")) }
            lost.undo()
            #expect(try await runtime.ask(Mall.Buy(item: "pear")) == 4)
            try await runtime.fault(.slowLink(.seconds(2)), at: "/till")
            async let slow = runtime.ask(Mall.Buy(item: "pear"), timeout: .seconds(60))
            await time.advance(by: .seconds(3))
            await time.advance(by: .seconds(1))
            #expect(try await slow == 4)
            #expect(time.elapsed == .seconds(4))
        }
    }

    @Test("A coordinator that hangs begins nothing, and goes on afterwards")
    func hangInProcess() async throws {
        let time = ManualTime()
        try await withRuntime(Mall.self, time: time) { runtime in
            let fault = try await runtime.fault(.hang, at: "/till")
            async let late = runtime.ask(Till.Weigh(), at: "/till", timeout: .seconds(60))
            await time.advance(by: .seconds(30))
            fault.undo()
            #expect(try await late.isEmpty)
            await expect(.unsupported) { try await runtime.fault(.lostLink, at: "/till") }
        }
    }

    @Test("A subject that finishes at once lives once")
    func briefSubject() async throws {
        let probe = Probe()
        try await withRuntime(Brief.self, time: ManualTime(), under: probe) { _ in
            let output = try await probe.output(as: Int.self)
            #expect(output == 7)
        }
        #expect(probe.received.map(\.name) == [Brief.Begun.name])
    }

    @Test("Timers that came due while a coordinator hung are called when it goes on")
    func timersOfTheHung() async throws {
        let time = ManualTime()
        try await withRuntime(Clockwork.self, time: time) { runtime in
            await time.advance(by: .seconds(3))
            #expect(try await runtime.ask(Clockwork.Ticks()) == 3)
            let fault = try await runtime.fault(.hang, at: "/")
            await time.advance(by: .seconds(10))
            fault.undo()
            await time.advance(by: .seconds(3))
            #expect(try await runtime.ask(Clockwork.Ticks()) >= 6)
        }
    }

    @Test("A link that is fast again keeps the order of what is under way")
    func orderAfterASlowLink() async throws {
        let time = ManualTime()
        try await withRuntime(Mall.self, workers: .encoded, time: time) { runtime in
            let slow = try await runtime.fault(.slowLink(.seconds(2)), at: "/till")
            async let first = runtime.ask(Mall.Buy(item: "fig"), timeout: .seconds(60))
            await time.advance(by: .zero)
            slow.undo()
            async let second = runtime.ask(Mall.Buy(item: "pear"), timeout: .seconds(60))
            await time.advance(by: .seconds(1))
            #expect(time.elapsed == .seconds(1))
            await time.advance(by: .seconds(10))
            #expect(try await first == 3)
            #expect(try await second == 4)
        }
    }

    @Test("What stands for a worker, and hangs, misses its heartbeats in manual time, and is restarted")
    func heartbeats() async throws {
        var options = CoordinatorRuntime.Options()
        options.heartbeatTimeout = .seconds(10)
        let time = ManualTime()
        try await withRuntime(Mall.self, options: options, workers: .encoded, time: time) { runtime in
            let brief = try await runtime.fault(.hang, at: "/till")
            await time.advance(by: .seconds(9))
            brief.undo()
            await time.advance(by: .seconds(60))
            #expect(try await runtime.snapshot(of: "/till").restarts == 0)
            try await runtime.fault(.hang, at: "/till")
            await time.advance(by: .seconds(9))
            #expect(try await runtime.snapshot(of: "/till").incarnation == 1)
            await time.advance(by: .seconds(1))
            let till = try await runtime.snapshot(of: "/till")
            #expect(till.state == .active && till.incarnation == 2 && till.lastExit == .hung)
            #expect(try await runtime.ask(Mall.Buy(item: "pear")) == 4)
        }
    }

    @Test("Faults of real workers: a crash, a hang, a lost and a slow link; the rest is undone at the end")
    func realFaults() async throws {
        var options = Support.options
        options.workerExecutable = nil
        options.heartbeatTimeout = .seconds(60)
        // On a loaded machine a worker that looks for its parent for two seconds gives it up, and is another then.
        options.orphanGrace = .seconds(60)
        try await withRuntime(RootCoordinator.self, options: options, workers: .built("FixtureWorker")) { runtime in
            try await runtime.startChild("a", .worker)
            let former = try await runtime.ask(Fixture.WhereAmI(), at: "/a")
            try await runtime.fault(.crash, at: "/a")
            let next = try await runtime.whereIsIt("/a", after: former)
            #expect(next != former)

            try await runtime.fault(.lostLink, at: "/a")
            try await eventually("it's reached again") { (try? await runtime.ask(Fixture.WhereAmI(), at: "/a")) == next }

            let slow = try await runtime.fault(.slowLink(.milliseconds(300)), at: "/a")
            let began = ContinuousClock.now
            _ = try await runtime.ask(Fixture.WhereAmI(), at: "/a", timeout: .patient(.seconds(20)))
            #expect(ContinuousClock.now - began >= .milliseconds(300))
            slow.undo()

            let hang = try await runtime.fault(.hang, at: "/a")
            await expect(.timedOut) {
                try await runtime.ask(Fixture.WhereAmI(), at: "/a", timeout: .milliseconds(200))
            }
            hang.undo()
            #expect(try await runtime.ask(Fixture.WhereAmI(), at: "/a", timeout: .patient(.seconds(20))) == next)
            try await runtime.fault(.hang, at: "/a")
        }
    }

    @Test("Only coordinators of the tree are hit, and an executable that isn't built is named")
    func refusals() async throws {
        _ = try await withRuntime(Mall.self, workers: .inProcess) { runtime in
            await #expect(throws: CoordinatorError.self) { try await runtime.fault(.crash, at: "/nobody") }
        }
        let error = await #expect(throws: CoordinatorError.self) {
            try await withRuntime(Mall.self, workers: .built("NoSuchProgram")) { _ in }
        }
        #expect(error?.message.contains("'NoSuchProgram' to the dependencies of the test target") == true)
    }

    @Test("A wait that never ends says for what")
    func never() async throws {
        let error = await #expect(throws: NeverHeld.self) {
            try await eventually("pigs fly", within: .milliseconds(10)) { false }
        }
        #expect(error?.description.contains("never: pigs fly") == true)
    }
}

/// Finishes as soon as it runs.
private actor Brief: Coordinator {
    typealias Output = Int
    struct Begun: ResponderMessage {}

    let context: Context

    init(_ context: Context) { self.context = context }

    func run() async throws {
        try await context.send(Begun())
        context.finish(7)
    }
}

/// Counts the calls of its timer.
private actor Clockwork: Coordinator {
    struct Ticks: ResponderMessage { typealias Reply = Int }

    static let responders: Responders = [.respond(to: Ticks.self) { me, _ in me.ticks }]

    let context: Context
    private var ticks = 0

    init(_ context: Context) { self.context = context }

    func start() { context.every(.seconds(1)) { $0.ticks += 1 } }
}

/// The messages that a till asks those above.
private enum Stock {
    struct Price: ResponderMessage {
        typealias Reply = Int
        var item: String

        init(item: String) { self.item = item }
        init(from decoder: any Decoder) throws { item = try decoder.singleValueContainer().decode(String.self) }
        func encode(to encoder: any Encoder) throws {
            guard item != "uncodable" else { throw NoMoney(missing: 0) }
            var container = encoder.singleValueContainer()
            try container.encode(item)
        }
    }

    struct Charge: ResponderMessage {
        typealias Reply = Bool
        var cents: Int
        typealias Failure = NoMoney
    }

    struct Said: ResponderMessage { var word: String }

    struct NoMoney: ResponderError { var missing: Int }
}

/// A child that asks those above.
private actor Till: Coordinator {
    typealias Output = Int
    typealias Event = String

    struct Configuration: CoordinatorConfiguration {
        var name = ""
        var isUncodable = false

        init() {}
        init(name: String) { self.name = name }

        func encode(to encoder: any Encoder) throws {
            if isUncodable { throw Stock.NoMoney(missing: 1) }
            var container = encoder.container(keyedBy: CodingKeys.self)
            try container.encode(name, forKey: .name)
            try container.encode(isUncodable, forKey: .isUncodable)
        }
    }

    struct Scan: ResponderMessage {
        typealias Reply = Int
        var item: String
    }
    struct Pay: ResponderMessage { typealias Reply = Bool }
    struct Weigh: ResponderMessage {
        struct Weight: Codable, Sendable {
            var isUncodable = true
            func encode(to encoder: any Encoder) throws { throw Stock.NoMoney(missing: 2) }
        }
        typealias Reply = [Weight]
        var count = 0
    }
    struct Refuse: ResponderMessage { typealias Failure = Stock.NoMoney }
    struct Tell: ResponderMessage {}
    struct Close: ResponderMessage {}

    let context: Context
    private var total = 0

    init(_ context: Context) { self.context = context }

    static let responders: Responders = [
        .respond(to: Scan.self) { me, scan in
            let price = try await me.context.ask(Stock.Price(item: scan.item))
            me.total += price
            return price
        },
        .respond(to: Pay.self) { me, _ in try await me.context.ask(Stock.Charge(cents: me.total)) },
        .respond(to: Weigh.self) { _, weigh in (0..<weigh.count).map { _ in Weigh.Weight() } },
        .respond(to: Refuse.self) { _, _ in throw Stock.NoMoney(missing: 9) },
        .respond(to: Tell.self) { me, _ in
            me.context.delegates.tell("told")
            try await me.context.send(Stock.Said(word: me.context.configuration.name))
        },
        .respond(to: Close.self) { me, _ in me.context.finish(7) },
    ]
}

/// A root with a child in a worker.
private actor Mall: Coordinator {
    struct Buy: ResponderMessage {
        typealias Reply = Int
        var item: String
    }
    struct Weigh: ResponderMessage {}
    struct Refuse: ResponderMessage { typealias Failure = Stock.NoMoney }
    struct StartUncodable: ResponderMessage {}

    let context: Context

    init(_ context: Context) { self.context = context }

    static let responders: Responders = [
        .respond(to: Buy.self) { me, buy in try await me.till.ask(Till.Scan(item: buy.item), timeout: .seconds(60)) },
        .respond(to: Weigh.self) { me, _ in _ = try await me.till.ask(Till.Weigh(count: 1)) },
        .respond(to: Refuse.self) { me, _ in try await me.till.ask(Till.Refuse()) },
        .respond(to: StartUncodable.self) { me, _ in
            try await me.context.start(Till.self, as: "bad", in: .worker) { $0.isUncodable = true }
        },
        .respond(to: Stock.Price.self) { _, price in price.item.count },
    ]

    func start() async throws { try await context.start(Till.self, as: "till", in: .worker) }

    private var till: Child<Till> {
        get throws {
            guard let till = context.child(Till.self) else { throw CoordinatorError(.noSuchChild, "there is no till") }
            return till
        }
    }
}
