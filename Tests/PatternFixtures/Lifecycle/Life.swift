public import Coordinators
import Glibc

/// What the tests of lifecycle and tree ask of their coordinators, and what these ask of the root.
public enum Life {
    /// Which life of which place answers, and in which process.
    public struct Place: Codable, Sendable, Hashable {
        public var path: String
        public var processID: Int32
        public var incarnation: UInt32

        init(of context: Context<some Coordinator>) {
            path = context.path.description
            processID = getpid()
            incarnation = context.incarnation
        }
    }

    public struct WhereAmI: ResponderMessage {
        public typealias Reply = Place
        public init() {}
    }

    /// Answered by the root with the same text.
    public struct Echo: ResponderMessage {
        public typealias Reply = String
        public var text: String
        public init(_ text: String) { self.text = text }
    }

    /// Answered by the root once the test has opened its gate.
    public struct PassGate: ResponderMessage {
        public init() {}
    }

    /// Whether the root has a child of that name.
    public struct Knows: ResponderMessage {
        public typealias Reply = Bool
        public var key: String
        public init(_ key: String) { self.key = key }
    }

    /// An error that can cross.
    public struct Refusal: Error, Codable, Hashable, CustomStringConvertible {
        public var description: String
        public init(_ reason: String) { description = reason }
    }

    /// An error that can't.
    public struct OpaqueRefusal: Error, CustomStringConvertible {
        public let description = "won't say why"
        public init() {}
    }
}
