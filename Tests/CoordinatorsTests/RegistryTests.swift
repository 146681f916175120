import Fixtures
import Logging
import Synchronization
import Testing

@testable import Coordinators

private actor Unused: Coordinator {
    nonisolated let context: Context
    static let evaluations = Atomic(0)

    init(_ context: Context) { self.context = context }

    static var responders: Responders {
        evaluations.add(1, ordering: .relaxed)
        return []
    }
}

private enum Other {
    actor Namesake: Coordinator {
        nonisolated let context: Context
        init(_ context: Context) { self.context = context }
    }
}

private enum Twins {
    struct First: ResponderMessage { static let name = "Twin" }
    struct Second: ResponderMessage { static let name = "Twin" }
}

private actor Confused: Coordinator {
    static let responders: Responders = [.respond(to: Twins.First.self) { _, _ in }, .respond(to: Twins.Second.self) { _, _ in }]

    nonisolated let context: Context
    init(_ context: Context) { self.context = context }
}

private actor Plain: Coordinator {
    nonisolated let context: Context
    init(_ context: Context) { self.context = context }
}

/// Has the name of a type of another module.
actor BrokenCoordinator: Coordinator {
    nonisolated let context: Context
    init(_ context: Context) { self.context = context }
}

@Suite("Types that a program can host")
struct RegistryTests {
    private static var quiet: CoordinatorRuntime.Options {
        var options = CoordinatorRuntime.Options()
        options.logger.logLevel = .critical
        return options
    }

    @Test("A type's rows are made when it's first needed, not when it's registered")
    func lazily() throws {
        var options = CoordinatorRuntime.Options()
        options.coordinators = [Unused.self]
        let core = RuntimeCore(options)
        #expect(Unused.evaluations.load(ordering: .relaxed) == 0)
        for _ in 0..<3 { _ = try core.types.registry.type(named: TypeNames.name(of: Unused.self)) }
        #expect(Unused.evaluations.load(ordering: .relaxed) == 1)
    }

    @Test("A private type's name is the same in every process")
    func privateNames() {
        let name = TypeNames.name(of: Unused.self)
        #expect(name.hasPrefix("(private ") && name.hasSuffix(").Unused"))
        #expect(!name.contains("$"))
        #expect(TypeNames.name(of: Other.Namesake.self) != TypeNames.name(of: Unused.self))
    }

    @Test("A table with two messages of one name is refused, and a message with two rows isn't")
    func twins() {
        func problems(_ rows: [Responder<Unused>]) -> [String] { NameRegistry().add(ResponderTable(rows.map(\.row)).messages) }
        let first = Responder<Unused>.respond(to: Twins.First.self) { _, _ in }
        let second = Responder<Unused>.respond(to: Twins.Second.self) { _, _ in }
        #expect(problems([first, second]).first?.contains("'Twin'") == true)
        #expect(problems([first, first]).isEmpty)
    }

    @Test("A coordinator whose rows have messages of one name doesn't start, and says why")
    func twinsAtStart() async {
        let runtime = CoordinatorRuntime(Confused.self, options: Self.quiet)
        await expect(.invalidName) { try await runtime.start() }
        await runtime.stop()
    }

    @Test("A program with two coordinators of one name doesn't start, and says why")
    func namesakes() async throws {
        var options = Self.quiet
        options.coordinators = [BrokenCoordinator.self, Fixtures.BrokenCoordinator.self]
        let runtime = CoordinatorRuntime(Plain.self, options: options)
        let error = await #expect(throws: CoordinatorError.self) { try await runtime.start() }
        #expect(error?.code == .invalidName)
        #expect(error?.message.contains("'BrokenCoordinator'") == true)
        await runtime.stop()
        // The same type twice is one type.
        options.coordinators = [BrokenCoordinator.self, BrokenCoordinator.self]
        let other = CoordinatorRuntime(Plain.self, options: options)
        try await other.start()
        await other.stop()
    }
}
