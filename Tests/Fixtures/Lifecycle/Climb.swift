public import Coordinators

/// The messages of the tests of the responder chain.
public enum Climb {
    /// Answered by the nearest coordinator that has a row for it, with its path; the leaf has none.
    public struct Nearest: ResponderMessage {
        public typealias Reply = String
        public init() {}
    }

    /// Answered by the leaf itself, and by the root.
    public struct Own: ResponderMessage {
        public typealias Reply = String
        public init() {}
    }

    /// Added up by the root; the coordinators between do with it what its `manner` says.
    public struct Add: ResponderMessage {
        public typealias Reply = Int
        public enum Manner: String, Codable, Sendable, CaseIterable {
            /// The message climbs on and the reply comes back, both as they are.
            case pass
            /// The message climbs on with twice the amount.
            case change
            /// The reply comes back with a thousand more.
            case changeReply
            /// The message stops here.
            case swallow
        }
        public var amount: Int
        public var manner: Manner
        public init(_ amount: Int, _ manner: Manner) { (self.amount, self.manner) = (amount, manner) }
    }

    /// Intercepted and answered by one and the same coordinator.
    public struct Both: ResponderMessage {
        public typealias Reply = String
        public init() {}
    }

    /// Answered by the root more than once.
    public struct Feed: ResponderMessage {
        public typealias Reply = Int
        public enum End: String, Codable, Sendable { case returns, refuses, never }
        public var count: Int
        public var end: End
        public init(_ count: Int, _ end: End) { (self.count, self.end) = (count, end) }
    }

    /// Asks for the context of a message in its handler.
    public struct Origin: ResponderMessage {
        public typealias Reply = Fixture.Origin
        public init() {}
    }
}
