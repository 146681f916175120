import ConcurrencySupport
import CoordinatorsTesting
import Fixtures
import Links
import TestSupport
import Testing
import WireProtocol

@testable import Coordinators

/// Waits until the gate opens.
private struct Wait: ResponderMessage { typealias Reply = NoReply }
private struct Need: ResponderMessage { typealias Reply = NoReply }
private struct Hand: ResponderMessage { typealias Reply = NoReply }

extension DependencyKeys {
    fileprivate var what: DependencyKey<String> { .init() }
}

/// Handles one message at a time, and none ends before the test does.
private actor Held: Coordinator {
    struct Configuration: CoordinatorConfiguration {
        /// Whether it never becomes ready.
        var startsSlowly = false
    }

    static let mailbox = MailboxPolicy(running: 1)
    static let responders: Responders = [
        .respond(to: Wait.self) { _, _ in
            try await untilCancelled()
        },
        .respond(to: Need.self, needs: \.what) { _, _, _, _ in },
    ]

    nonisolated let context: Context
    init(_ context: Context) { self.context = context }
    func start() async throws { if context.configuration.startsSlowly { try await untilCancelled() } }
}

private actor Root: Coordinator {
    static let responders: Responders = [
        .forward(Hand.self, to: "late"),
        .respond(to: Fixture.Note.self) { _, _ in try await untilCancelled() },
    ]

    nonisolated let context: Context
    init(_ context: Context) { self.context = context }

    func start() async throws {
        try await context.start(Held.self, as: "held")
        try await context.start(Held.self, as: "pool", in: .pool(1))
        try await context.start(MiddleCoordinator.self, as: "worker", in: .worker) { $0.greeting = "worker" }
        context.task { [context] in try await context.start(Held.self, as: "slow") { $0.startsSlowly = true } }
    }

    func open(section: ChildKey) async throws { try await untilCancelled() }
}

/// A cluster without any node that takes messages.
private struct Nowhere: PlacedChildren {
    let changes = ChangeSignal()

    func place(of key: String) -> ChildPlace? { key == "placed" ? .nowhere : nil }
    func takes(_ key: String, epoch: UInt64) -> Bool { false }
    func connect(to node: String) async throws -> Link { throw CoordinatorError(.failed, "there is no \(node)") }
}

@Suite("Where messages wait, as an operator sees it", .timeLimit(minutes: 3))
struct WaitingPlaceTests {
    typealias Reason = CoordinatorSnapshot.WaitingPlace.Reason

    private static let options = Support.options.with { $0.heartbeatTimeout = .seconds(100) }

    /// Has messages wait for each reason, and returns where that is seen: the path, the key, and how many wait.
    private func wait(for reason: Reason, in runtime: CoordinatorRuntime, _ senders: Senders) async throws
        -> (path: CoordinatorPath, key: String?, waiting: ClosedRange<Int>)
    {
        func send(_ message: some ResponderMessage, to path: CoordinatorPath, _ count: Int = 3) {
            senders.add(count) { _ = try? await runtime.ask(message, at: path, timeout: .seconds(600)) }
        }
        switch reason {
        case .handler:
            send(Wait(), to: "/held")
            return ("/held", nil, 2...2)
        case .dependency:
            send(Need(), to: "/held")
            return ("/held", nil, 3...3)
        case .life:
            send(Wait(), to: "/slow")
            return ("/slow", nil, 3...3)
        case .member:
            send(Wait(), to: "/pool")
            return ("/pool", nil, 2...2)
        case .opening:
            send(Hand(), to: "/")
            return ("/", "late", 3...3)
        case .node:
            send(Wait(), to: "/placed")
            return ("/", "placed", 3...3)
        case .start:
            // An adopted worker sends it; how it comes here is tested with adoption.
            let envelope = Envelope(.value(Wait()), sender: "/former", deadline: nil)
            let message = ParkedMessage(envelope: envelope, rest: [], isDirect: true)
            let supervisor = try #require(try runtime.root.existingSupervision as? ChildSupervisor)
            let isKept = supervisor.state.withLock {
                $0.early.park(UnclaimedMessage(message: message, target: .key("other"), isForwarded: false))
            }
            #expect(isKept)
            return ("/", nil, 1...1)
        case .credit:
            // As many as the paused worker's mailbox takes, and as many as the route's window, aren't here any more.
            try await runtime.pause("/worker")
            let there = MailboxPolicy().waiting + CreditWindow.link.share.messages
            send(Fixture.Do(.echo("x")), to: "/worker", there + 40)
            return ("/worker", nil, 40...40)
        case .parent:
            // None of the root's handlers ends: one message of the worker waits for credit when as many are here as may.
            let count = MailboxPolicy().running + MailboxPolicy().waiting + CreditWindow.link.share.messages + 40
            senders.add(1) { _ = try? await runtime.perform(.sendNotes(count), at: "/worker", timeout: .seconds(600)) }
            return ("/worker", nil, 1...1)
        }
    }

    @Test("A snapshot lists each place with its reason, the child that it's about, and how many wait", arguments: Reason.allCases)
    func listed(_ reason: Reason) async throws {
        let runtime = CoordinatorRuntime(Root.self, options: Self.options)
        if reason == .node { runtime.route(by: Nowhere()) }
        try await runtime.start()
        let senders = Senders()
        do {
            let expected = try await wait(for: reason, in: runtime, senders)
            try await eventually("they wait for \(reason)") {
                guard let mailbox = try await runtime.snapshot(of: expected.path).mailbox else { return false }
                let places = mailbox.places.filter { $0.reason == reason && $0.key == expected.key }
                return places.count == 1 && expected.waiting.contains(places[0].waiting)
                    && (reason == .parent || mailbox.waiting == mailbox.places.reduce(0) { $0 + $1.waiting })
            }
        } catch {
            await senders.end()
            await runtime.stop()
            throw error
        }
        await senders.end()
        // One-way messages and what an adopted worker has sent have no asker who could give up.
        if reason != .start && reason != .parent {
            try await eventually("none waits any more") {
                let all = [try await runtime.snapshot()] + (try await runtime.snapshot().children)
                return all.allSatisfy { $0.mailbox?.places.isEmpty ?? true }
            }
        }
        await runtime.stop()
    }

    /// Tasks that send, and are cancelled in the end.
    private final class Senders: Sendable {
        private let tasks = Lock<[Task<Void, Never>]>([])

        func add(_ count: Int, _ body: @escaping @Sendable () async -> Void) {
            for _ in 0..<count { tasks.withLock { $0.append(Task { await body() }) } }
        }

        func end() async {
            let all = tasks.withLock { $0 }
            for task in all { task.cancel() }
            for task in all { await task.value }
        }
    }

    @Test("A worker's list is bounded, what it doesn't know is left out, and its numbers may be any")
    func read() throws {
        let entry: JSONValue = ["reason": "handler", "waiting": JSONValue(integerLiteral: .max), "oldestWaitingMilliseconds": 5]
        let unknown: JSONValue = ["reason": "a later one", "key": "x", "waiting": 1, "oldestWaitingMilliseconds": 1]
        let places = JSONValue.array([unknown] + Array(repeating: entry, count: 200))
        var mailbox = try CoordinatorSnapshot.Mailbox(decoding: ["waiting": 1, "running": 0, "handled": 0, "places": places])
        #expect(mailbox.places.count == 64 && mailbox.places.allSatisfy { $0.reason == .handler })
        mailbox.add(mailbox.places)
        #expect(mailbox.waiting == 1 + 64 * Int(Int32.max) && mailbox.places.count == 64)
        let told = try CoordinatorSnapshot.Mailbox(decoding: mailbox.encodedAsJSON())
        #expect(told.waiting == Int(Int32.max) && told.places == mailbox.places)
    }
}
