public import Coordinators

/// The messages of the tests of what an asker is told about the end of its ask.
public enum Deed {
    public enum Act: String, Codable, Sendable { case answers, holds, throwsItsOwn, throwsARefusal }

    /// Is noted down when its handler begins, and ends as the act says.
    public struct Do: ResponderMessage {
        public typealias Reply = String
        public var name: String
        public var act: Act
        public init(_ name: String, _ act: Act) { (self.name, self.act) = (name, act) }
    }

    /// The same, by way of an interceptor.
    public struct Watched: ResponderMessage {
        public typealias Reply = String
        public var deed: Do
        public init(_ deed: Do) { self.deed = deed }
    }

    /// The same, once the greeting is provided.
    public struct Needing: ResponderMessage {
        public typealias Reply = String
        public var deed: Do
        public init(_ deed: Do) { self.deed = deed }
    }

    /// Makes the root provide the greeting.
    public struct Provide: ResponderMessage {
        public init() {}
    }

    /// Has an asker ask, and is answered with what that has come to.
    public struct Ask: ResponderMessage {
        public typealias Reply = Told
        public var deed: Do
        public var milliseconds: Int
        public init(_ deed: Do, milliseconds: Int) { (self.deed, self.milliseconds) = (deed, milliseconds) }
    }

    /// What an asker is told.
    public struct Told: Codable, Sendable, Hashable {
        /// The error's code, or a word.
        public var code: String
        /// Whether the handler may have begun; `nil`: nothing is said.
        public var maybeExecuted: Bool?
        public var message = ""

        public static let answered = Told(code: "answered", maybeExecuted: true)

        public static func by(_ ask: () async throws -> String) async -> Told {
            do {
                _ = try await ask()
                return answered
            } catch let error as CoordinatorError {
                return Told(code: "\(error.code)", maybeExecuted: error.maybeExecuted, message: error.message)
            } catch is CancellationError {
                return Told(code: "cancelled", maybeExecuted: nil)
            } catch {
                return Told(code: "thrown", maybeExecuted: true, message: "\(error)")
            }
        }
    }
}

public actor DeedCoordinator: Coordinator {
    public struct Configuration: NotingConfiguration {
        public var notebook = Notebook()
        /// Whether every life but the first fails to start.
        public var startsOnce = false
        public init() {}
    }

    public nonisolated let context: Context
    public init(_ context: Context) { self.context = context }

    public static let mailbox = MailboxPolicy(running: 16, waiting: 16, whenFull: .fail)

    public static let responders: Responders = [
        .respond(to: Deed.Do.self) { me, deed in try await me.perform(deed) },
        .respond(to: Deed.Watched.self) { me, watched in try await me.perform(watched.deed) },
        .respond(to: Deed.Needing.self, needs: \.greeting) { me, needing, _ in try await me.perform(needing.deed) },
    ]

    public func start() async throws {
        if configuration.startsOnce, context.incarnation > 1 { throw Fixture.Refusal("Boom") }
    }

    /// Fails when the notebook says so, which no pause delays.
    public func run() async throws {
        try await notebook.wait(for: "\(context.path) fails \(context.incarnation)")
        throw Fixture.Refusal("it was to fail")
    }

    private func perform(_ deed: Deed.Do) async throws -> String {
        note("begins \(deed.name)")
        switch deed.act {
        case .answers: break
        case .holds: try await notebook.wait(for: "go on")
        case .throwsItsOwn: throw Fixture.Refusal("no")
        case .throwsARefusal: throw CoordinatorError(.mailboxFull, "another one's")
        }
        return "done"
    }
}

public actor DeedAsker: Coordinator {
    public typealias Configuration = NotebookConfiguration

    public nonisolated let context: Context
    public init(_ context: Context) { self.context = context }

    public static let responders: Responders = [
        .respond(to: Deed.Ask.self) { me, ask in
            await Deed.Told.by { try await me.context.ask(ask.deed, timeout: .milliseconds(ask.milliseconds)) }
        }
    ]
}

/// A root with one that does deeds, a pool of one, and an asker; what it's asked or what climbs goes to the first.
public actor DeedHall: Coordinator {
    public struct Configuration: NotingConfiguration {
        public var notebook = Notebook()
        public var startsOnce = false
        public var drains = false
        public init() {}
    }

    public nonisolated let context: Context
    public init(_ context: Context) { self.context = context }

    public static let responders: Responders = [
        .intercept(Deed.Watched.self) { _, watched, chain in try await chain.next(watched) },
        .respond(to: Deed.Provide.self) { me, _ in await me.context.provide(\.greeting, "hello") },
        .forward(prefix: "Deed.", to: "doer"),
    ]

    public func start() async throws {
        let configuration = configuration
        let shutdown = configuration.drains ? Shutdown.draining(.seconds(60)) : .timeout(.seconds(5))
        try await context.start(DeedCoordinator.self, as: "doer", in: .worker, shutdown: shutdown) {
            ($0.notebook, $0.startsOnce) = (configuration.notebook, configuration.startsOnce)
        }
        try await context.start(DeedCoordinator.self, as: "pool", in: .pool(1, .worker), shutdown: shutdown) {
            $0.notebook = configuration.notebook
        }
        try await context.start(DeedAsker.self, as: "asker", in: .worker) { $0.notebook = configuration.notebook }
    }
}
