public import Coordinators

/// The messages of the conformance tests to their coordinators.
public enum OTP {
    /// Asks a supervisor to start a child, and to say so when it's ready.
    public struct Start: ResponderMessage {
        public var plan: Plan
        public init(_ plan: Plan) { self.plan = plan }
    }

    /// Asks a supervisor to start many plain children of one type in its own process, one after the other.
    public struct StartMany: ResponderMessage {
        public var count: Int
        public var restart: RestartType
        public init(_ count: Int, _ restart: RestartType) { (self.count, self.restart) = (count, restart) }
    }

    /// Asks a supervisor to start a child of another type than all others have.
    public struct StartOther: ResponderMessage {
        public var key: String
        public init(_ key: String) { self.key = key }
    }

    /// Asks a supervisor to stop a child and forget it.
    public struct Remove: ResponderMessage {
        public var key: String
        public init(_ key: String) { self.key = key }
    }

    /// Makes a child end by itself.
    public struct End: ResponderMessage {
        public var how: Way
        public init(_ how: Way) { self.how = how }
    }

    /// Asks a child for its key, as its configuration has it, and the number of its incarnation.
    public struct Describe: ResponderMessage {
        public typealias Reply = String
        public init() {}
    }

    /// The way in which a child ends by itself.
    public enum Way: Codable, Sendable, Hashable {
        /// Its `run` returns.
        case normally
        /// Its `run` throws.
        case abnormally
        /// Its process ends with this code: in a worker only.
        case exiting(Int32)
        /// Its process is killed: in a worker only.
        case killed
    }

    /// The coordinators that a worker may host.
    static let coordinators: [any Coordinator.Type] = [Leaf.self] + Policies.allCases.map { supervising($0.choice) }

    private static func supervising<Choice: PolicyChoice>(_ choice: Choice.Type) -> any Coordinator.Type { Supervising<Choice>.self }
}
