public import Coordinators

/// A supervisor: a coordinator with a policy, and with the children that its configuration names.
public actor Supervising<Choice: PolicyChoice>: Coordinator {
    public typealias Configuration = Plan
    public nonisolated let context: Context

    public init(_ context: Context) { self.context = context }

    public static var supervision: SupervisionPolicy { Choice.choice.policy }

    public static var responders: Responders {
        [
            .respond(to: OTP.Start.self) { me, start in try await me.start(start.plan) },
            .respond(to: OTP.StartMany.self) { me, many in try await me.start(many) },
            .respond(to: OTP.StartOther.self) { me, other in _ = try await me.context.start(SmallestCoordinator.self, as: other.key) },
            .respond(to: OTP.Remove.self) { me, removal in try await me.context.remove(removal.key) },
        ]
    }

    public func start() async throws {
        if configuration.fails(in: context.incarnation) { throw Fixture.Refusal("planned") }
        // OTP's `ignore`.
        if configuration.declines(in: context.incarnation) { return context.finish() }
        for child in configuration.children { try await start(child) }
    }

    private func start(_ plan: Plan) async throws {
        if let policy = plan.policy {
            try await start(supervisor: policy.choice, plan)
        } else {
            try await start(Leaf.self, plan)
        }
    }

    private func start(_ many: OTP.StartMany) async throws {
        for number in 0..<many.count { try await context.start(Leaf.self, as: "dynamic-\(number)", restart: many.restart) }
    }

    private func start<Other: PolicyChoice>(supervisor: Other.Type, _ plan: Plan) async throws {
        try await start(Supervising<Other>.self, plan)
    }

    private func start<K: Coordinator>(_ type: K.Type, _ plan: Plan) async throws where K.Configuration == Plan {
        try await context.start(
            type,
            as: plan.key,
            in: plan.isInWorker ? .worker : .inProcess,
            restart: plan.restart,
            significant: plan.isSignificant,
            shutdown: plan.shutdown,
            with: plan
        )
    }
}
