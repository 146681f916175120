public import Coordinators

/// The end of a chain: it asks, and answers one message itself.
public actor ClimbLeaf: Coordinator {
    public nonisolated let context: Context
    private var total = 0

    public init(_ context: Context) { self.context = context }

    public static let responders: Responders = [
        .respond(to: Climb.Own.self) { me, _ in me.context.path.description },
        .respond(to: Climb.Do.self) { me, request in try await me.perform(request.action) },
    ]

    private func perform(_ action: Climb.Action) async throws -> String {
        switch action {
        case .addUp(let count):
            return try await addUp(count)
        default:
            return try await action.performed(from: context)
        }
    }

    private func addUp(_ count: Int) async throws -> String {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<count { group.addTask { try await self.add(number) } }
            try await group.waitForAll()
        }
        return String(total)
    }

    private func add(_ number: Int) async throws {
        let before = try await context.ask(Fixture.Echo(String(number)), timeout: .seconds(60))
        // After the wait one is where one was before: on the coordinator's executor, and on no thread of nng's.
        preconditionIsolated()
        guard !ThreadName.current.hasPrefix("nng") else { throw Fixture.Refusal("resumed on \(ThreadName.current)") }
        total += Int(before) ?? 0
    }
}
