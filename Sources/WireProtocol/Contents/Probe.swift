/// The content of a ping, which the pong repeats unchanged.
public struct Probe: Sendable, Hashable {
    /// The part of the receiving process that has to answer.
    ///
    /// Unknown kinds are kept as they came.
    public struct Kind: RawRepresentable, Sendable, Hashable {
        /// The byte in the frame.
        public let rawValue: UInt8

        /// Creates a kind from the byte in the frame.
        public init(rawValue: UInt8) {
            self.rawValue = rawValue
        }

        /// The reader of the link.
        public static let link = Kind(rawValue: 0)
        /// The executor that coordinators run on, which answers late when they don't yield.
        public static let executor = Kind(rawValue: 1)
    }

    /// The pinging side's monotonic clock, in nanoseconds.
    public var timestampNanoseconds: UInt64
    /// The part of the receiving process that has to answer.
    public var kind: Kind

    /// Creates a probe.
    public init(timestampNanoseconds: UInt64, kind: Kind) {
        self.timestampNanoseconds = timestampNanoseconds
        self.kind = kind
    }
}

extension Probe {
    func encode(into batch: inout [UInt8]) {
        batch.appendInteger(timestampNanoseconds)
        batch.append(kind.rawValue)
    }

    init(from body: inout ByteReader) throws(WireError) {
        self.init(timestampNanoseconds: try body.integer(), kind: Kind(rawValue: try body.integer()))
    }
}
