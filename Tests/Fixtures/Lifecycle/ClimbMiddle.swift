public import Coordinators

/// The middle of a chain: it has children, answers some of what they ask and sees other things pass.
public actor ClimbMiddle: Coordinator {
    public nonisolated let context: Context
    private var seen: [String] = []

    public init(_ context: Context) { self.context = context }

    public static let responders: Responders = [
        .respond(to: Climb.Nearest.self) { me, _ in me.context.path.description },
        .intercept(Climb.Add.self) { me, add, chain in try await me.see(add, chain) },
        .intercept(Climb.Both.self) { _, both, chain in try await chain.next(both) + ", intercepted" },
        .respond(to: Climb.Both.self) { me, _ in "answered by \(me.context.path)" },
        .intercept(Fixture.Refuse.self) { me, refuse, chain in
            do {
                return try await chain.next(refuse)
            } catch {
                me.seen.append("\(error)")
                throw error
            }
        },
        .respond(to: Climb.Do.self) { me, request in try await me.perform(request.action) },
    ]

    private func see(_ add: Climb.Add, _ chain: Chain<Climb.Add>) async throws -> Int {
        seen.append("up \(add.amount)")
        var onward = add
        if add.manner == .change { onward.amount *= 2 }
        if add.manner == .swallow { return -1 }
        let reply = try await chain.next(onward)
        seen.append("down \(reply)")
        return add.manner == .changeReply ? reply + 1_000 : reply
    }

    private func perform(_ action: Climb.Action) async throws -> String {
        switch action {
        case .startLeaf(let key, let inWorker):
            return try await context.start(ClimbLeaf.self, as: key, in: inWorker ? .worker : .inProcess).path.description
        case .seen:
            return seen.joined(separator: ", ")
        default:
            return try await action.performed(from: context)
        }
    }
}
