public import Coordinators

/// A coordinator whose children are named by an enum.
public actor LifeKeyed: Coordinator {
    public enum ChildKey: String, CoordinatorKey, Codable {
        case dashboard, registration
    }

    /// Starts a child under each key, and tells their paths.
    public struct StartBoth: ResponderMessage {
        public typealias Reply = [String]
        public init() {}
    }

    /// The keys of the children, in start order.
    public struct Keys: ResponderMessage {
        public typealias Reply = [ChildKey]
        public init() {}
    }

    /// Stops the child under a key.
    public struct Stop: ResponderMessage {
        public var key: ChildKey
        public init(_ key: ChildKey) { self.key = key }
    }

    public nonisolated let context: Context

    public init(_ context: Context) { self.context = context }

    public static let responders: Responders = [
        .respond(to: StartBoth.self) { me, _ in
            let registration = try await me.context.start(SmallestCoordinator.self, as: .registration)
            let dashboard = try await me.context.start(SmallestCoordinator.self, as: .dashboard)
            return [registration.path.description, dashboard.path.description]
        },
        .respond(to: Keys.self) { me, _ in me.context.children.compactMap { $0.key(as: ChildKey.self) } },
        .respond(to: Stop.self) { me, stop in try await me.context.remove(stop.key) },
    ]
}
