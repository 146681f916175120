import ConcurrencySupport

extension Node {
    /// The row of every coordinator that shows a page of its own, and opens the rest of the route below.
    static let openRow = MessageRow(.type(OpenRoute.self)) { coordinator, envelope, node, _ in
        let route = try envelope.message(as: OpenRoute.self)
        if let page = route.page { try await node.type.display(coordinator, page) }
        try await node.open(route.rest, by: coordinator, deadline: envelope.deadline)
        return .value(NoReply())
    }

    /// Opens the rest of a route below this coordinator.
    func open(_ steps: [Route.Step], by coordinator: any Coordinator, deadline: MonotonicTime?) async throws {
        guard let step = steps.first else { return }
        if existingChildren?.lives(step.section) != true { try await type.open(coordinator, step.section) }
        let onward = OpenRoute(page: step.page, rest: Array(steps.dropFirst()))
        _ = try await request(onward, by: deadline) { children.deliver($0, to: step.section, [], isDirect: true) }
    }

    /// Opens a route below this coordinator, in its turn among the coordinator's messages.
    func open(_ route: Route, timeout: Duration) async throws {
        _ = try await request(OpenRoute(page: nil, rest: route.steps), by: runtime.time.now + timeout) { acceptBuiltin($0) }
    }
}
