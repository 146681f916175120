public import Coordinators

/// The messages of the tests of lifecycle and tree to their coordinators, and of these to the root.
public enum Life {
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
}
