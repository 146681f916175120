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

@Suite("Types that a program can host")
struct RegistryTests {
    @Test("A type's rows are made when it's first needed, not when it's registered")
    func lazily() throws {
        var options = CoordinatorRuntime.Options()
        options.coordinators = [Unused.self]
        let core = RuntimeCore(options)
        #expect(Unused.evaluations.load(ordering: .relaxed) == 0)
        for _ in 0..<3 { _ = try core.registry.type(named: TypeNames.name(of: Unused.self)) }
        #expect(Unused.evaluations.load(ordering: .relaxed) == 1)
    }

    @Test("A private type's name is the same in every process")
    func privateNames() {
        let name = TypeNames.name(of: Unused.self)
        #expect(name.hasPrefix("(private ") && name.hasSuffix(").Unused"))
        #expect(!name.contains("$"))
        #expect(TypeNames.name(of: Other.Namesake.self) != TypeNames.name(of: Unused.self))
    }
}
