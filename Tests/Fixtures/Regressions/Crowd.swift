public import Coordinators

public enum Crowd {
    /// Answered with how many this member was sent.
    public struct Count: ResponderMessage {
        public typealias Reply = Int
        public var number: Int
        public init(_ number: Int) { self.number = number }
    }
}

/// Has many children in its own process.
public actor CrowdCoordinator: Coordinator {
    public struct Configuration: CoordinatorConfiguration {
        public var members = 0
        public init() {}
    }

    public nonisolated let context: Context
    private let configuration: Configuration

    public init(_ context: Context) {
        self.context = context
        configuration = context.configuration
    }

    public func start() async throws {
        for number in 0..<configuration.members { try await context.start(CrowdMember.self, as: "\(number)") }
    }
}

public actor CrowdMember: Coordinator {
    public nonisolated let context: Context
    private var count = 0

    public init(_ context: Context) { self.context = context }

    public static let responders: Responders = [
        .respond(to: Crowd.Count.self) { me, _ in
            me.count += 1
            return me.count
        }
    ]
}
