public import Coordinators

/// A flow with pages and events that does what it's told, and notes down what it goes through.
public actor StepCoordinator: Coordinator {
    public typealias Output = String

    public enum Page: Codable, Sendable, Equatable {
        case list
        case product(Int)
        case review(of: Int, stars: Int)
    }

    public enum Event: Codable, Sendable, Equatable {
        case loggedIn(user: String)
        case failed(reason: String)
        case count(Int)
    }

    public struct Configuration: NotingConfiguration {
        public var notebook = Notebook()
        public var pagesAtStart: [Page] = []
        public var eventsAtStart: [Event] = []
        public var decision = FixtureFlow.Decision.dismiss
        /// The sections that a deep link may have it start, and whether in a worker.
        public var sections: [String: Bool] = [:]
        /// `start` returns when the notebook reads it.
        public var startsAt: String?
        /// Fails in every life but the first, before it's ready.
        public var livesOnce = false
        public init() {}
        public init(_ notebook: Notebook) { self.notebook = notebook }
    }

    public nonisolated let context: Context

    public init(_ context: Context) { self.context = context }

    public static let supervision = SupervisionPolicy(.oneForOne, intensity: 1_000, period: .seconds(1), backoff: .none)

    public static let responders: Responders = [
        .respond(to: FixtureFlow.Do.self) { me, request in try await me.perform(request.action) },
        .respond(to: Fixture.Note.self) { me, note in me.note("note \(note.number)") },
        .respond(to: Fixture.WhereAmI.self) { me, _ in .here(me.context) },
        .respond(to: FixtureFlow.Pages.self) { me, _ in me.context.pages },
        .respond(to: FixtureFlow.StartStep.self) { me, start in try await me.context.startStep(start) },
        .dismissal { me, _ in await FixtureFlow.decide(me.configuration.decision) },
    ]

    public func start() async throws {
        note("start")
        if configuration.livesOnce, context.incarnation > 1 { throw Fixture.Refusal("one life was enough") }
        for event in configuration.eventsAtStart { context.delegates => event }
        for page in configuration.pagesAtStart { context.show(page) }
        if let line = configuration.startsAt { try await notebook.wait(for: line) }
    }

    public func stopped() async { note("stop") }
    public func paused() async { note("pause") }
    public func resumed() async { note("resume") }
    public func popped(to page: Page?) async { note("popped \(page.map { "\($0)" } ?? "nil")") }

    public func open(section: String) async throws {
        note("open \(section)")
        guard let inWorker = configuration.sections[section] else {
            throw CoordinatorError(.noSuchChild, "there is no section '\(section)'")
        }
        var inner = Configuration(configuration.notebook)
        inner.sections = configuration.sections
        _ = try await context.startStep(FixtureFlow.StartStep(section, inWorker: inWorker, inner))
    }

    public func display(page: Page) async throws {
        note("display \(page)")
        context.show(page)
    }
}

extension CoordinatorContext where C.ChildKey == String {
    func startStep(_ start: FixtureFlow.StartStep) async throws -> String {
        let child = try await self.start(
            StepCoordinator.self,
            as: start.key,
            in: start.inWorker ? .worker : .inProcess,
            with: start.configuration
        )
        return child.path.description
    }
}
