import ConcurrencySupport
import Coordinators
import CoordinatorsTesting
import Fixtures
import Synchronization
import TestSupport
import Testing

@Suite("Deadlines, retries and shared asks by the message's type", .timeLimit(minutes: 3))
struct AskingPolicyTests {
    @Test("The type's time-out holds unless the ask gives another")
    func timeoutOfTheType() async throws {
        #expect(try await outcome(of: .hasty(milliseconds: nil), after: .milliseconds(100)) == "timedOut")
        #expect(try await outcome(of: .hasty(milliseconds: 60_000), after: .milliseconds(500)) == "answered")
    }

    @Test("An ask within a handler ends with the ask that is handled", arguments: [Where.inProcess, .worker])
    func inherited(_ place: Where) async throws {
        try await withRoot("a", in: place) { runtime in
            let inherited = try #require(Int(try await runtime.perform(.remaining, at: "/a", timeout: .seconds(50))))
            #expect(inherited <= 50)
            #expect(inherited > 0)
            // A task that the handler starts has time of its own.
            let own = try #require(Int(try await runtime.perform(.remainingOfTask, at: "/a", timeout: .seconds(50))))
            #expect(own > 50)
        }
    }

    @Test("A refusal is retried as the type's policy says")
    func retriesRefusals() async throws {
        #expect(try await outcome(of: .crowd(20, retries: true), after: .seconds(30)) == "20 answered, 0 refused, begun 20")
        #expect(try await outcome(of: .crowd(20, retries: false), after: .seconds(4)) == "2 answered, 18 refused, begun 2")
    }

    @Test("The same code, thrown by a handler, is no refusal")
    func thrownByAHandler() async throws {
        try await withRuntime(Answering.self) { runtime in
            let outcome = try await runtime.ask(Answering.AskBelow(.throwing), timeout: .seconds(60))
            #expect(outcome == "mailboxFull, executed, begun 1")
        }
    }

    @Test("Equal asks at the same time share one, which ends with its last asker")
    func coalesces() async throws {
        try await withRuntime(Answering.self) { runtime in
            let outcome = try await runtime.ask(Answering.AskBelow(.shared), timeout: .seconds(60))
            #expect(outcome == "begun 3, answers 1 2, cancelled 1")
        }
    }

    @Test("A coordinator with a row for a message that coalesces and can't be compared isn't started")
    func uncomparable() async throws {
        await #expect {
            try await withRuntime(Comparing.self, options: Support.options) { _ in }
        } throws: { error in
            guard let error = error as? CoordinatorError else { return false }
            return error.code == .unsupported && error.message.hasSuffix("Comparing.Look coalesces, and isn't Hashable: make it so")
        }
    }

    @Test("A send that finds no room in time is withdrawn")
    func sendTimesOut() async throws {
        #expect(try await outcome(of: .sendToFull, after: .milliseconds(100)) == "timedOut")
    }

    /// Returns what comes of an ask that has so much time, and no more.
    private func outcome(of way: Answering.Way, after duration: Duration) async throws -> String {
        let time = ManualTime()
        return try await withRuntime(Answering.self, time: time) { runtime in
            async let outcome = runtime.ask(Answering.AskBelow(way), timeout: .seconds(60))
            await time.advance(by: duration)
            return try await outcome
        }
    }
}

/// A root that asks its child in the way that a test wants.
private actor Answering: Coordinator {
    enum Way: Codable, Sendable {
        case hasty(milliseconds: Int?)
        case crowd(Int, retries: Bool)
        case throwing
        case shared
        case sendToFull
    }

    struct AskBelow: ResponderMessage {
        typealias Reply = String
        var way: Way
        init(_ way: Way) { self.way = way }
    }

    let context: Context

    init(_ context: Context) { self.context = context }

    static let responders: Responders = [.respond(to: AskBelow.self) { me, ask in try await me.ask(ask.way) }]

    private func ask(_ way: Way) async throws -> String {
        switch way {
        case .hasty(let milliseconds): return try await askHastily(milliseconds)
        case .crowd(let count, let retries):
            let child = try await context.start(Narrow.self, as: "narrow \(retries)")
            return try await askInACrowd(count, child, retries)
        case .throwing:
            let child = try await context.start(Narrow.self, as: "throwing")
            do {
                try await child.ask(Narrow.Throw())
                return "answered"
            } catch let error as CoordinatorError {
                return "\(error.code), \(error.maybeExecuted ? "" : "not ")executed, begun \(try await child.ask(Narrow.Begun()))"
            }
        case .shared: return try await share()
        case .sendToFull:
            let child = try await context.start(Wide.self, as: "full")
            try await child.send(Wide.Hold())
            try await child.send(Wide.Hold())
            do {
                try await child.send(Wide.Hold(), timeout: .milliseconds(100))
                return "sent"
            } catch let error as CoordinatorError {
                return "\(error.code)"
            }
        }
    }

    private func askHastily(_ milliseconds: Int?) async throws -> String {
        let child = try await context.start(Narrow.self, as: "hasty")
        do {
            try await child.ask(Narrow.Hasty(), timeout: milliseconds.map { .milliseconds($0) })
            return "answered"
        } catch let error as CoordinatorError {
            return "\(error.code)"
        }
    }

    private func askInACrowd(_ count: Int, _ child: Child<Narrow>, _ retries: Bool) async throws -> String {
        let answered = await withTaskGroup(of: Bool.self) { group in
            for _ in 0..<count {
                group.addTask {
                    do {
                        if retries { try await child.ask(Narrow.Persistent()) } else { try await child.ask(Narrow.Once()) }
                        return true
                    } catch { return false }
                }
            }
            return await group.reduce(into: 0) { count, isAnswered in count += isAnswered ? 1 : 0 }
        }
        return "\(answered) answered, \(count - answered) refused, begun \(try await child.ask(Narrow.Begun()))"
    }

    private func share() async throws -> String {
        let child = try await context.start(Shared.self, as: "shared")
        let asks = (0..<10).map { number in Task.immediate { try await child.ask(Shared.Look(number: number % 2 + 1)) } }
        asks[0].cancel()
        try await child.ask(Shared.Open())
        var answers: Set<Int> = []
        for ask in asks.dropFirst() { answers.insert(try await ask.value) }
        let forGood = (0..<3).map { _ in Task.immediate { try await child.ask(Shared.Look(number: 0)) } }
        try await child.ask(Shared.BegunForGood())
        for ask in forGood { ask.cancel() }
        for ask in forGood { _ = await ask.result }
        let cancelled = try await child.ask(Shared.Cancelled())
        let begun = try await child.ask(Shared.Begun())
        return "begun \(begun), answers \(answers.sorted().map(String.init).joined(separator: " ")), cancelled \(cancelled)"
    }
}

/// One handler runs, one message waits, and others are refused.
private actor Narrow: Coordinator {
    struct Hasty: ResponderMessage { static var timeout: Duration { .milliseconds(100) } }
    struct Persistent: ResponderMessage {
        static var timeout: Duration { .seconds(60) }
        static var retry: RetryPolicy {
            RetryPolicy(attempts: .max, backoff: Backoff(minimum: .milliseconds(1), maximum: .milliseconds(10)))
        }
    }
    struct Once: ResponderMessage {}
    struct Throw: ResponderMessage { static var retry: RetryPolicy { RetryPolicy(attempts: 5) } }
    struct Begun: ResponderMessage { typealias Reply = Int }

    let context: Context
    private nonisolated let begun = Atomic(0)

    init(_ context: Context) { self.context = context }

    static let mailbox = MailboxPolicy(running: 1, waiting: 1, whenFull: .fail)

    static let responders: Responders = [
        .respond(to: Hasty.self) { me, _ in try await me.context.clock.sleep(for: .milliseconds(500)) },
        .respond(to: Persistent.self) { me, _ in try await me.work(.milliseconds(2)) },
        .respond(to: Once.self) { me, _ in try await me.work(.milliseconds(300)) },
        .respond(to: Throw.self) { me, _ in
            try await me.work(.zero)
            throw CoordinatorError(.mailboxFull, "of somebody else")
        },
        // It's asked while the mailbox may be full.
        .inline(Begun.self) { me, _ in me.begun.load(ordering: .relaxed) },
    ]

    private func work(_ duration: Duration) async throws {
        begun.add(1, ordering: .relaxed)
        try await context.clock.sleep(for: duration)
    }
}

/// One handler runs, and one message waits.
private actor Wide: Coordinator {
    struct Hold: ResponderMessage {}

    let context: Context

    init(_ context: Context) { self.context = context }

    static let mailbox = MailboxPolicy(running: 1, waiting: 1)

    static let responders: Responders = [.respond(to: Hold.self) { me, _ in try await me.context.clock.sleep(for: .seconds(600)) }]
}

/// Can't be started: its message can't be compared.
private actor Comparing: Coordinator {
    struct Look: ResponderMessage {
        typealias Reply = Int
        static var coalesces: Bool { true }
    }

    let context: Context

    init(_ context: Context) { self.context = context }

    static let responders: Responders = [.respond(to: Look.self) { _, _ in 7 }]
}

/// Answers when it's told to.
private actor Shared: Coordinator {
    struct Look: ResponderMessage, Hashable {
        typealias Reply = Int
        static var coalesces: Bool { true }
        static var timeout: Duration { .seconds(60) }
        var number: Int
    }
    struct Open: ResponderMessage {}
    /// Answered when the look has begun that never ends.
    struct BegunForGood: ResponderMessage {}
    struct Begun: ResponderMessage { typealias Reply = Int }
    struct Cancelled: ResponderMessage { typealias Reply = Int }

    let context: Context
    private var begun = 0
    private var cancelled = 0
    private let (isOpen, hasBegunForGood, isCancelled) = (OneShot<Void>(), OneShot<Void>(), OneShot<Void>())

    init(_ context: Context) { self.context = context }

    static let responders: Responders = [
        .respond(to: Look.self) { me, look in try await me.look(look.number) },
        .respond(to: Open.self) { me, _ in _ = me.isOpen.settle() },
        .respond(to: BegunForGood.self) { me, _ in await me.hasBegunForGood.value },
        .respond(to: Begun.self) { me, _ in me.begun },
        .respond(to: Cancelled.self) { me, _ in
            await me.isCancelled.value
            return me.cancelled
        },
    ]

    private func look(_ number: Int) async throws -> Int {
        begun += 1
        guard number > 0 else {
            hasBegunForGood.settle()
            do { try await untilCancelled() } catch { cancelled += 1 }
            isCancelled.settle()
            return 0
        }
        await isOpen.valueUnlessCancelled()
        try Task.checkCancellation()
        return number
    }
}
