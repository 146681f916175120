public import Supervision

extension CoordinatorContext {
    /// Starts a pool of children of one type, and returns when all its members are ready.
    ///
    ///     let pool = try await context.start(Renderer.self, as: .renderers, in: .pool(4, .worker)) { $0.width = 1_920 }
    ///
    /// The key stands for the pool, to which rows can forward messages as to any child; the members' paths end with their numbers,
    /// `/renderers/1`.
    ///
    /// If a pool of the same type lives under the key with the same configuration and placement, it's returned as it is.
    ///
    /// - Parameters:
    ///   - type: The type of the child.
    ///   - key: The child's key.
    ///   - pool: The number, the placement and the routing of the members.
    ///   - shutdown: The time that each member is given to end; five seconds by default.
    ///   - configure: A function that sets the configuration of all members.
    /// - Throws: What the start of a member throws; the pool is then removed.
    @discardableResult
    public func start<K: Coordinator>(
        _ type: K.Type = K.self,
        as key: C.ChildKey,
        in pool: PoolPlacement,
        shutdown: Shutdown = .timeout(.seconds(5)),
        configure: (inout K.Configuration) throws -> Void = { _ in }
    ) async throws -> Pool<K> where K.Configuration: CoordinatorConfiguration {
        var configuration = K.Configuration()
        try configure(&configuration)
        return try await start(type, as: key, in: pool, shutdown: shutdown, with: configuration)
    }

    /// Starts a pool of children whose configuration has fields without defaults.
    @discardableResult
    public func start<K: Coordinator>(
        _ type: K.Type = K.self,
        as key: C.ChildKey,
        in pool: PoolPlacement,
        shutdown: Shutdown = .timeout(.seconds(5)),
        with configuration: K.Configuration
    ) async throws -> Pool<K> {
        var plan = pool.plan
        plan.shutdown = shutdown
        let child = try await start(
            PoolCoordinator<K>.self,
            as: key,
            in: Placement.inProcess,
            // The pool itself ends when its members have.
            shutdown: shutdown.drains ? shutdown : .infinity,
            with: PoolConfiguration(size: pool.size, members: configuration, plan: plan)
        )
        return Pool(child: child)
    }

    /// Returns the pool with a key as one of members of a type; `nil` when there is none, or its members are of another type.
    public func pool<K: Coordinator>(_ key: C.ChildKey, as type: K.Type) -> Pool<K>? {
        child(key, as: PoolCoordinator<K>.self).map { Pool(child: $0) }
    }
}

/// A handle on a pool: several children of one type that share the messages of one key.
///
/// The handle follows the path, as that of a child does.
public struct Pool<Member: Coordinator>: Sendable {
    let child: Child<PoolCoordinator<Member>>

    /// The pool's place in the tree.
    public var path: CoordinatorPath { child.path }

    /// The number of members that the pool is to have; 0 when the pool is gone.
    public var size: Int {
        let configuration = child.supervisor.withSlot(child.key) { $0.definition.configuration } ?? nil
        return (try? configuration?.decoded(as: PoolConfiguration<Member.Configuration>.self).size) ?? 0
    }

    /// The members, by number.
    public var members: [Child<Member>] {
        let host = child.supervisor.withSlot(child.key) { $0.host } ?? nil
        let handles = (host as? CoordinatorCell)?.existingChildren?.handles ?? []
        return handles.compactMap { $0.typed(as: Member.self) }.sorted { Int($0.key) ?? 0 < Int($1.key) ?? 0 }
    }

    /// Asks one of the members, which the pool's routing chooses.
    ///
    /// While no member can take the message, it waits in the pool, until the deadline. Messages of one sender begin in the order in which
    /// they were sent only within one member.
    ///
    /// - Parameters:
    ///   - message: The message.
    ///   - timeout: As of `CoordinatorContext.ask`.
    /// - Throws: `unhandled` when the members have no row for the message; otherwise as `Child.ask`.
    public func ask<M: ResponderMessage>(_ message: M, timeout: Duration? = nil) async throws -> M.Reply {
        try await child.ask(message, timeout: timeout)
    }

    /// Asks one of the members a message without a reply, and returns when the handler has ended.
    public func ask<M: ResponderMessage>(_ message: M, timeout: Duration? = nil) async throws where M.Reply == NoReply {
        let _: NoReply = try await child.ask(message, timeout: timeout)
    }

    /// Sends one of the members a message one way.
    ///
    /// - Parameters:
    ///   - message: The message.
    ///   - acknowledged: As of `CoordinatorContext.send`: whether the call returns when a member has handled the message, once.
    ///   - timeout: The time after which a message that still waits is withdrawn, and the call fails with `timedOut`; `nil`: none.
    /// - Returns: Whether the members have a row for the message.
    /// - Throws: As `CoordinatorContext.send`.
    @discardableResult
    public func send<M: ResponderMessage>(_ message: M, acknowledged: Bool = false, timeout: Duration? = nil) async throws -> Bool {
        try await child.send(message, acknowledged: acknowledged, timeout: timeout)
    }

    /// Asks one of the members for a stream of replies.
    ///
    /// The member has the stream among the messages that it handles until it ends. If the member dies, the stream ends with its error.
    ///
    /// - Parameters:
    ///   - message: The message.
    ///   - timeout: The time after which the stream ends with `timedOut`; none by default.
    public func stream<M: ResponderMessage>(_ message: M, timeout: Duration? = nil) -> ReplyStream<M.Reply> {
        child.stream(message, timeout: timeout)
    }

    /// Changes the number of members, and returns when the new ones are ready, and nothing is left of those with the highest numbers.
    ///
    /// A member that is removed gets no new messages, and is stopped when those that it has have ended, or its time to end is over. The
    /// size stays when the pool is restarted.
    ///
    /// - Parameters:
    ///   - size: The number of members, at least 1.
    ///   - timeout: The time that the change may take.
    /// - Throws: What the start of a member throws, or `timedOut`: the pool then has its former size. `noSuchChild` when the pool is gone.
    public func resize(to size: Int, timeout: Duration = .seconds(60)) async throws {
        try await child.reconfigure(timeout: timeout) { $0.size = max(size, 1) }
    }

    /// Replaces the members one after the other, and returns when all of them are ready again.
    ///
    /// A member gets no new messages, and is replaced when those that it has have ended, as ``CoordinatorRuntime/replace(_:)`` does it; the
    /// others take the messages meanwhile. No ask is lost whose handler ends within the member's time to end, the `shutdown` of the pool.
    ///
    /// - Parameter timeout: The time that all restarts may take.
    /// - Throws: The error for which a member could not be replaced, or that its `start` threw: the members after it aren't replaced.
    ///   `timedOut`, `stopped`.
    public func restartMembers(timeout: Duration = .seconds(600)) async throws {
        try await child.ask(RestartMembers(), timeout: timeout)
    }

    /// Ends the pool and its members, and frees its key; returns when nothing is left of them.
    ///
    /// Removing a pool that is gone does nothing.
    public func remove() async { await child.remove() }
}

// MARK: - The placement of a pool

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
