public import Coordinators

extension FixtureFlow {
    /// Needs a greeting.
    public struct Greet: ResponderMessage {
        public typealias Reply = String
        public var name: String
        public init(_ name: String) { self.name = name }
    }

    /// The greeting that is there now, "none" if there is none.
    public struct ReadGreeting: ResponderMessage {
        public typealias Reply = String
        public init() {}
    }

    /// The greeting that was there in the initialiser.
    public struct FirstGreeting: ResponderMessage {
        public typealias Reply = String
        public init() {}
    }

    /// Needs a vault, and says what is known of it: description, process, how many its process has built.
    public struct Withdraw: ResponderMessage {
        public typealias Reply = [String]
        public init() {}
    }

    /// The cash book's name, "none" if this process has none.
    public struct ReadCashBook: ResponderMessage {
        public typealias Reply = String
        public init() {}
    }

    /// Needs a greeting, and answers with the greeting that the inner clerk has while this handler runs.
    public struct GreetingBelow: ResponderMessage {
        public typealias Reply = String
        public var key: String
        public init(_ key: String) { self.key = key }
    }

    public struct ProvideGreeting: ResponderMessage {
        public var greeting: String
        public init(_ greeting: String) { self.greeting = greeting }
    }
}

/// Answers with what it depends on.
public actor ClerkCoordinator: Coordinator {
    public typealias Configuration = NotebookConfiguration

    public nonisolated let context: Context
    private let firstGreeting: String?

    public init(_ context: Context) {
        self.context = context
        firstGreeting = context.dependencies.greeting
    }

    public static let supervision = SupervisionPolicy(.oneForOne, intensity: 1_000, period: .seconds(1), backoff: .none)

    public static let responders: Responders = [
        .respond(to: FixtureFlow.Greet.self, needs: \.greeting) { me, greet, greeting in
            me.note("greeted \(greet.name)")
            return "\(greeting), \(greet.name)"
        },
        .respond(to: FixtureFlow.GreetingBelow.self, needs: \.greeting) { me, below, _ in
            guard let child = me.context.child(below.key, as: ClerkCoordinator.self) else { return "no child" }
            return try await child.ask(FixtureFlow.ReadGreeting(), timeout: .seconds(15))
        },
        .respond(to: FixtureFlow.Withdraw.self, needs: \.vault) { _, _, vault in [vault.description, "\(vault.pid)", "\(vault.number)"] },
        .respond(to: FixtureFlow.ReadGreeting.self) { me, _ in me.context.dependencies.greeting ?? "none" },
        .respond(to: FixtureFlow.FirstGreeting.self) { me, _ in me.firstGreeting ?? "none" },
        .respond(to: FixtureFlow.ReadCashBook.self) { me, _ in me.context.dependencies.cashBook?.name ?? "none" },
        .respond(to: Fixture.WhereAmI.self) { me, _ in .here(me.context) },
        .respond(to: FixtureFlow.ProvideGreeting.self) { me, provide in await me.context.provide(\.greeting, provide.greeting) },
        .respond(to: FixtureFlow.StartAlike.self) { me, start in try await me.context.startAlike(start) },
        .respond(to: Fixture.Fail.self) { me, _ in me.context.fail(Fixture.Refusal("told to fail")) },
    ]
}

/// A clerk that has room for four who wait.
public actor HoardingClerk: Coordinator {
    public nonisolated let context: Context

    public init(_ context: Context) { self.context = context }

    public static let mailbox = MailboxPolicy(waiting: 4, bytes: 1 << 20, whenFull: .fail)

    public static let responders: Responders = [
        .respond(to: FixtureFlow.Greet.self, needs: \.greeting) { _, greet, greeting in "\(greeting), \(greet.name)" }
    ]
}
