public import Coordinators

/// The messages of the tests of lifecycle and tree to their coordinators, and of these to the root.
public enum Life {
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
