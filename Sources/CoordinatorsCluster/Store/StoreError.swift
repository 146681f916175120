/// A failed call of a store: what failed, whether it may have had its effect all the same, and what to do about it.
public struct StoreError: Error, Sendable {
    /// The kind of failure; it can grow, so a `switch` needs a default.
    public struct Code: Sendable, Hashable, CustomStringConvertible {
        private enum Value: String, Sendable {
            case unavailable, timedOut, cancelled, refused, unintelligible, unusable
            case leaseLost, nameTaken, fenced, conflict
        }

        private let value: Value

        /// The store can't be reached, or has no majority, until the deadline.
        public static let unavailable = Code(value: .unavailable)
        /// The store hasn't answered until the deadline.
        public static let timedOut = Code(value: .timedOut)
        /// The caller's task was cancelled.
        public static let cancelled = Code(value: .cancelled)
        /// The store doesn't let this user or certificate do that.
        public static let refused = Code(value: .refused)
        /// The store's answer makes no sense.
        public static let unintelligible = Code(value: .unintelligible)
        /// The settings, or the file of a local store, are of no use.
        public static let unusable = Code(value: .unusable)
        /// The node's lease has ended.
        public static let leaseLost = Code(value: .leaseLost)
        /// Another lease has a node of this name.
        public static let nameTaken = Code(value: .nameTaken)
        /// The owner, the leader or the node isn't that of the guard any more.
        public static let fenced = Code(value: .fenced)
        /// The key was changed meanwhile.
        public static let conflict = Code(value: .conflict)

        /// The name of the code.
        public var description: String { value.rawValue }
    }

    /// The kind of failure.
    public let code: Code
    /// The description for people: what happened, where, and what to do.
    public let message: String
    /// Whether the call may have had its effect.
    public var mayHaveHappened: Bool
    /// The error behind it, if there is one.
    public let cause: (any Error)?

    /// Creates an error with all its parts, such as in tests of what uses a store.
    ///
    /// - Parameters:
    ///   - code: The kind of failure.
    ///   - message: The description for people.
    ///   - mayHaveHappened: Whether the call may have had its effect.
    ///   - cause: The error behind it.
    public init(code: Code, message: String, mayHaveHappened: Bool = false, cause: (any Error)? = nil) {
        (self.code, self.message, self.mayHaveHappened, self.cause) = (code, message, mayHaveHappened, cause)
    }

    /// Whether trying again may help.
    var isTransient: Bool { code == .unavailable || code == .timedOut }
}

extension StoreError: CustomStringConvertible {
    /// The message.
    public var description: String { message }
}
