/// An error that describes an invalid policy or specification.
public struct SupervisionError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The kind of a mistake; more kinds may be added.
    public struct Code: Sendable, Hashable, CustomStringConvertible {
        private enum Kind: String {
            case invalidIntensity, invalidPeriod, invalidBackoff, invalidShutdown, invalidSignificance, invalidTokenBucket
        }

        private let kind: Kind

        /// The intensity is negative.
        public static let invalidIntensity = Code(kind: .invalidIntensity)
        /// The period is zero or negative.
        public static let invalidPeriod = Code(kind: .invalidPeriod)
        /// A number of the backoff is out of range.
        public static let invalidBackoff = Code(kind: .invalidBackoff)
        /// A child's time to stop is negative.
        public static let invalidShutdown = Code(kind: .invalidShutdown)
        /// A child can't be significant with its restart type, or under its supervisor's policy.
        public static let invalidSignificance = Code(kind: .invalidSignificance)
        /// A number of the token bucket is out of range.
        public static let invalidTokenBucket = Code(kind: .invalidTokenBucket)

        /// The name of the code.
        public var description: String { kind.rawValue }
    }

    /// The kind of the mistake.
    public let code: Code
    /// The description of what is wrong and what to give instead.
    public let message: String

    /// The code and the message.
    public var description: String { "\(code): \(message)" }

    init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }
}
