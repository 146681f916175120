import ConcurrencySupport
import Coordinators
import Fixtures

/// The root of these tests' trees: it lives in the test's process, so that a test can act in its name.
actor LifecycleRoot: Coordinator {
    enum Page: Codable, Sendable, Equatable { case home }

    struct Configuration: CoordinatorConfiguration {
        var journal = Notebook()
    }

    /// Runs a login to its end and starts what comes after it.
    struct Onboard: ResponderMessage {
        typealias Reply = String
        var inWorker: Bool
    }

    /// Starts a child from within a row.
    struct StartChild: ResponderMessage {
        var key: String
        var inWorker: Bool
    }

    /// Asks a child from within a row.
    struct AskChild: ResponderMessage {
        typealias Reply = String
        var key: String
        var text: String
    }

    nonisolated let context: Context
    nonisolated let gate = LifecycleGate()
    nonisolated let journal: Notebook
    /// The changes that the lifecycle row has got, as "change path".
    private(set) var heard: [String] = []
    private(set) var unhandledMessages: [String] = []
    var sum = 0
    var begunFeeds = 0
    var cancelledFeeds = 0

    init(_ context: Context) {
        self.context = context
        journal = context.configuration.journal
        Self.register(self, for: journal)
    }

    static let supervision = SupervisionPolicy(.oneForOne, intensity: 1_000, period: .seconds(1), backoff: .none)

    static let responders: Responders = lifecycleRows + chainRows

    private static let lifecycleRows: Responders = [
        .respond(to: Fixture.Echo.self) { _, echo in echo.text },
        .respond(to: Life.PassGate.self) { me, _ in
            await me.gate.pass()
            try Task.checkCancellation()
        },
        .respond(to: Life.Knows.self) { me, question in
            me.context.child(question.key) != nil && me.context.children.map(\.path.key).contains(question.key)
        },
        .respond(to: Onboard.self) { me, onboard in try await me.onboard(onboard.inWorker ? .worker : .inProcess) },
        .respond(to: StartChild.self) { me, start in
            let journal = me.journal
            try await me.context.start(LifeChild.self, as: start.key, in: start.inWorker ? .worker : .inProcess) {
                $0.opening = .asksWhetherItIsKnown
                $0.journal = journal
            }
        },
        .respond(to: AskChild.self) { me, ask in
            guard let child = me.context.child(ask.key, as: LifeChild.self) else { throw Fixture.Refusal("no child \(ask.key)") }
            return try await child.ask(Life.Do(.echo(ask.text)), timeout: .seconds(60))
        },
        .lifecycle { me, child, change in
            let line = "\(Fixture.word(for: change)) \(child.path)"
            me.heard.append(line)
            me.journal.note("heard \(line)")
            // What is left of the child when the parent reacts to its end.
            if me.context.child(child.path.key) == nil { me.journal.note("gone \(child.path)") }
        },
    ]

    func unhandled(_ message: UnhandledMessage) async {
        unhandledMessages.append("\(message.name) from \(message.sender)")
    }

    /// Registration, and then the dashboard with what came of it.
    private func onboard(_ placement: Placement) async throws -> String {
        let journal = journal
        let user = try await context.run(LifeChild.self, as: "registration", in: placement) {
            $0.greeting = "Ada"
            $0.opening = .finishes
            $0.journal = journal
        }
        let isGone = context.child("registration") == nil
        let dashboard = try await context.start(LifeChild.self, as: "dashboard", in: placement) {
            $0.greeting = user
            $0.journal = journal
        }
        return "\(user), registration \(isGone ? "gone" : "still there"), then \(dashboard.path)"
    }
}

extension LifecycleRoot {
    private static let registered = Lock<[Notebook: LifecycleRoot]>([:])

    private static func register(_ root: LifecycleRoot, for journal: Notebook) {
        registered.withLock { $0[journal] = root }
    }

    /// The root with that journal; the second time there is none.
    static func take(for journal: Notebook) -> LifecycleRoot? {
        registered.withLock { $0.removeValue(forKey: journal) }
    }
}
