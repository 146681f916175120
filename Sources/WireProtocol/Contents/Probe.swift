/// The content of a ping, sent back unchanged in the pong.
public struct Probe: Sendable, Hashable {
    /// Who has to answer.
    ///
    /// Unknown kinds are kept as they came.
    public struct Kind: RawRepresentable, Sendable, Hashable {
        /// The byte in the frame.
        public let rawValue: UInt8

        /// Creates a kind from the byte in the frame.
        public init(rawValue: UInt8) {
            self.rawValue = rawValue
        }

        /// Whoever reads the link.
        public static let link = Kind(rawValue: 0)
        /// The executor that coordinators run on: it is late when they don't yield.
        public static let executor = Kind(rawValue: 1)
    }

    /// The pinging side's monotonic clock, in nanoseconds.
    public var timestampNanoseconds: UInt64
    /// Who has to answer.
    public var kind: Kind

    /// Creates a probe.
    public init(timestampNanoseconds: UInt64, kind: Kind) {
        self.timestampNanoseconds = timestampNanoseconds
        self.kind = kind
    }
}
