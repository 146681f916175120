public import Supervision

/// The placement of a pool: several children of one type that share the messages of one key.
///
///     let pool = try await context.start(Renderer.self, as: .renderers, in: .pool(4, .worker, routing: .leastLoaded))
///
/// See <doc:Pools>.
public struct PoolPlacement: Sendable {
    let size: Int
    let plan: PoolPlan

    /// Returns the placement of a pool.
    ///
    /// - Parameters:
    ///   - size: The number of members, at least 1; ``Pool/resize(to:timeout:)`` changes it.
    ///   - placement: The place of each member; by default the process of the parent.
    ///   - routing: The rule for which member gets a message.
    ///   - supervision: The policy by which the members are restarted. Its intensity holds for all members together: beyond it the pool
    ///     fails, and the parent restarts it as a whole. By default members are restarted however often they end, at once and then after 20 to
    ///     200 ms: a request that crashes isn't a broken pool.
    ///   - restartLimits: The limits on the restarts of each member, counted by itself. What they leave open is the policy's, or, without a
    ///     policy, the default.
    public static func pool(
        _ size: Int,
        _ placement: Placement = .inProcess,
        routing: PoolRouting = .leastLoaded,
        supervision: SupervisionPolicy? = nil,
        restartLimits: RestartLimits? = nil
    ) -> PoolPlacement {
        let limits = supervision == nil ? RestartLimits.ofPoolMember(restartLimits) : restartLimits
        let plan = PoolPlan(
            placement: placement,
            routing: routing,
            supervision: supervision ?? SupervisionPolicy(),
            restartLimits: limits
        )
        return PoolPlacement(size: max(size, 1), plan: plan)
    }
}

/// The options of a pool that don't change while it lives.
struct PoolPlan: Sendable {
    let placement: Placement
    let routing: PoolRouting
    let supervision: SupervisionPolicy
    /// The limits on the restarts of each member.
    let restartLimits: RestartLimits?
    /// The time that each member is given to end.
    var shutdown = Shutdown.timeout(.seconds(5))

    /// The options as text, by which two pools are compared.
    var description: String {
        "\(placement), \(routing), \(supervision), \(shutdown)" + (restartLimits.map { ", \($0)" } ?? "")
    }
}

extension RestartLimits {
    /// Returns the limits on the restarts of a member of a pool that has no policy of its own: a member that was ready for a second is
    /// restarted at once, and one that isn't for at most 200 ms waits no longer than callers do.
    fileprivate static func ofPoolMember(_ given: RestartLimits?) -> RestartLimits {
        let backoff = Backoff(minimum: .milliseconds(20), maximum: .milliseconds(200), resetAfter: .seconds(1))
        return RestartLimits(
            intensity: given?.intensity ?? (given?.period == nil ? .unlimited : nil),
            period: given?.period,
            backoff: given?.backoff ?? backoff
        )
    }
}

/// The configuration of the coordinator that stands for a pool.
///
/// It's encoded only to be compared, because a pool is in the process of its parent.
struct PoolConfiguration<Members: Codable & Sendable>: Codable, Sendable {
    private enum CodingKeys: String, CodingKey { case size, members, plan }

    var size: Int
    let members: Members
    let plan: PoolPlan

    init(size: Int, members: Members, plan: PoolPlan) {
        (self.size, self.members, self.plan) = (size, members, plan)
    }

    init(from decoder: any Decoder) throws {
        throw CoordinatorError(.unsupported, "a pool is started by its parent's program")
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(size, forKey: .size)
        try container.encode(members, forKey: .members)
        try container.encode(plan.description, forKey: .plan)
    }
}
