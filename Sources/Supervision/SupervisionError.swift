/// A policy or a specification that can't be followed.
public struct SupervisionError: Error, Sendable, Hashable, CustomStringConvertible {
    /// What kind of mistake it is; more kinds may come.
    public struct Code: Sendable, Hashable, CustomStringConvertible {
        private enum Kind: String {
            case invalidIntensity, invalidPeriod, invalidBackoff, invalidShutdown, invalidSignificance, invalidTokenBucket
        }

        private let kind: Kind

        /// The intensity is negative.
        public static let invalidIntensity = Code(kind: .invalidIntensity)
        /// The period is not longer than nothing.
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

    /// What kind of mistake it is.
    public let code: Code
    /// What is wrong and what to give instead.
    public let message: String

    /// The code and the message.
    public var description: String { "\(code): \(message)" }

    init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }
}
