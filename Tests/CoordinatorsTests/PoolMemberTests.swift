import ConcurrencySupport
import CoordinatorsTesting
import TestSupport
import Testing

@testable import Coordinators

/// A member that can be held up.
private actor Clerk: Coordinator {
    struct Configuration: CoordinatorConfiguration {
        /// How long the member takes to stop.
        var stopTime = Duration.zero
    }

    /// Is handled until the gate is open, whatever is cancelled.
    struct Dawdle: ResponderMessage {}
    struct Work: ResponderMessage { typealias Reply = String }

    static let cancellationGrace = Duration.milliseconds(100)
    static let mailbox = MailboxPolicy(running: 1)
    static let gates = Lock<[String: OneShot<Void>]>([:])

    static let responders: Responders = [
        .respond(to: Dawdle.self) { me, _ in await gates.withLock { $0[me.context.path.description] }?.value },
        .respond(to: Work.self) { me, _ in me.context.path.key },
    ]

    nonisolated let context: Context
    init(_ context: Context) { self.context = context }

    func stopped() async { try? await realTime(context.configuration.stopTime, because: "the member takes its time") }
}

private actor Office: Coordinator {
    nonisolated let context: Context
    init(_ context: Context) { self.context = context }

    static let responders: Responders = [.forward(prefix: "Clerk.", to: "clerks")]
}

@Suite("Members of a pool in the parent's process", .timeLimit(.minutes(2)))
struct PoolMemberTests {
    @Test("What waits for a member goes to it when a handler ends that was stuck", arguments: [false, true])
    func stuck(_ hashes: Bool) async throws {
        try await withRuntime(Office.self, options: Support.options) { runtime in
            let context = Office.Context(cell: try runtime.root)
            let key = "clerks-\(hashes)"
            let routing: PoolRouting = hashes ? .hashing(\Clerk.Work.lane) : .leastLoaded
            let pool = try await context.start(Clerk.self, as: key, in: .pool(1, routing: routing))
            let gate = OneShot<Void>()
            let path = "/\(key)/1"
            Clerk.gates.withLock { $0[path] = gate }
            defer { gate.settle(()) }
            let member = try #require(CoordinatorPath(path))
            await #expect(throws: CoordinatorError.self) {
                try await runtime.ask(Clerk.Dawdle(), at: member, timeout: .milliseconds(100))
            }
            try await eventually("it's stuck") { try await runtime.snapshot(of: member).mailbox?.stuck == 1 }
            async let answer = pool.ask(Clerk.Work(), timeout: .seconds(60))
            try await eventually("it waits") {
                try await runtime.snapshot(of: pool.path).mailbox?.places.contains { $0.reason == .member } == true
            }
            gate.settle(())
            #expect(try await answer == "1")
        }
    }

    @Test("A resize that takes too long leaves the pool as it was", arguments: [false, true])
    func resizeInVain(_ isHeldUp: Bool) async throws {
        try await withRuntime(Office.self, options: Support.options) { runtime in
            let context = Office.Context(cell: try runtime.root)
            let key = "resized-\(isHeldUp)"
            let pool = try await context.start(Clerk.self, as: key, in: .pool(3), shutdown: .infinity) { $0.stopTime = .milliseconds(500) }
            let gate = OneShot<Void>()
            defer { gate.settle(()) }
            if isHeldUp { Clerk.gates.withLock { gates in for number in 1...3 { gates["/\(key)/\(number)"] = gate } } }
            // Those that have messages aren't stopped before they have ended.
            let held = (0..<(isHeldUp ? 3 : 0)).map { _ in Task { try await pool.ask(Clerk.Dawdle(), timeout: .seconds(60)) } }
            try await eventually("they work") {
                try await runtime.snapshot(of: pool.path).children.allSatisfy { !isHeldUp || $0.mailbox?.running == 1 }
            }
            await #expect(throws: CoordinatorError.self) { try await pool.resize(to: 1, timeout: .milliseconds(100)) }
            #expect(pool.size == 3)
            try await eventually("all members are there") { pool.members.map(\.state) == [.active, .active, .active] }
            gate.settle(())
            for ask in held { try await ask.value }
            try await pool.resize(to: 4)
            #expect(pool.members.map(\.state) == [.active, .active, .active, .active])
        }
    }
}

extension Clerk.Work {
    fileprivate var lane: Int { 0 }
}
