import ConcurrencySupport
public import Coordinators

/// The root of most trees of these tests: it hands its context to the test, answers what climbs, and notes down what it hears.
public actor FlowRoot: Coordinator {
    public typealias Page = StepCoordinator.Page

    public struct Configuration: NotingConfiguration {
        public var notebook = Notebook()
        public var decision = FixtureFlow.Decision.dismiss
        /// The sections that a deep link may have it start, and whether in a worker.
        public var sections: [String: Bool] = [:]
        public init() {}
    }

    public nonisolated let context: Context
    private var basket: [String] = []
    private var sent = 0
    private var endedStreams: [String] = []

    public init(_ context: Context) {
        self.context = context
        HandedContexts.put(context, for: context.configuration.notebook)
    }

    public static let supervision = SupervisionPolicy(.oneForOne, intensity: 1_000, period: .seconds(1), backoff: .none)

    public static let responders: Responders = [
        .respond(to: Fixture.Echo.self) { _, echo in echo.text },
        .respond(to: Fixture.WhereAmI.self) { me, _ in .here(me.context) },
        .respond(to: Fixture.Refuse.self) { _, _ in throw Fixture.Refusal("it fails") },
        .respond(to: Basket.Add.self) { me, add in
            me.basket.append(add.sku)
            return me.basket.count
        },
        .respond(to: Basket.Toggle.self) { me, _ in me.note("toggled") },
        .respond(to: Account.Login.self) { me, login in
            guard login.password == "secret" else { throw Fixture.Refusal("wrong password") }
            return login.name
        },
        .stream(FixtureFlow.Count.self) { me, count, replies in
            // Counted from nothing for every stream: a test has one at a time.
            me.sent = 0
            do {
                for number in 1...count.to {
                    try await replies.send(FixtureFlow.Counted(number: number, padding: count.padding))
                    me.sent = number
                    if number == count.failsAt { throw Fixture.Refusal("no further") }
                    if number == count.holdsAt { try await Fixture.untilCancelled() }
                }
                me.endedStreams.append("whole")
            } catch is CancellationError {
                me.endedStreams.append("cancelled")
                throw CancellationError()
            } catch {
                me.endedStreams.append("failed")
                throw error
            }
        },
        .respond(to: FixtureFlow.SentSoFar.self) { me, _ in me.sent },
        .respond(to: FixtureFlow.EndedStreams.self) { me, _ in me.endedStreams },
        .stream(Traces.Stream.self) { _, stream, replies in
            for number in 0..<stream.count { try await replies.send(number) }
        },
        .respond(to: Traces.Living.self) { _, _ in Traces.Tracer.count },
        .observe(StepCoordinator.self) { me, child, event in me.note("\(child.path.key) told \(event)") },
        .observe(LoginFlow.self) { me, child, event in me.note("\(child.path.key) told \(event)") },
        .lifecycle { me, child, change in me.note("\(child.path.key) \(Fixture.word(for: change))") },
        .dismissal { me, child in
            me.note("\(child.path.key) asked to go")
            return await FixtureFlow.decide(me.configuration.decision)
        },
    ]

    public func popped(to page: Page?) async { note("popped \(page.map { "\($0)" } ?? "nil")") }

    public func unhandled(_ message: UnhandledMessage) async { note("unhandled \(message.name) from \(message.sender)") }

    public func open(section: String) async throws {
        note("open \(section)")
        guard let inWorker = configuration.sections[section] else {
            throw CoordinatorError(.noSuchChild, "there is no section '\(section)'")
        }
        var inner = StepCoordinator.Configuration(configuration.notebook)
        inner.sections = configuration.sections
        _ = try await context.startStep(FixtureFlow.StartStep(section, inWorker: inWorker, inner))
    }
}

/// The contexts of roots that live in the tests' own process, so that a test does what a root would.
public enum HandedContexts {
    private static let contexts = Lock<[Notebook: FlowRoot.Context]>([:])

    /// Takes it out: nothing of a tree is kept when its test has ended.
    public static func take(for notebook: Notebook) -> FlowRoot.Context? {
        contexts.withLock { $0.removeValue(forKey: notebook) }
    }

    static func put(_ context: FlowRoot.Context, for notebook: Notebook) {
        contexts.withLock { $0[notebook] = context }
    }
}
