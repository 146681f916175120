/// How the payload of a frame is encoded.
///
/// Unknown values are kept as they came.
public struct PayloadCodec: RawRepresentable, Sendable, Hashable {
    /// The byte in the header.
    public let rawValue: UInt8

    /// Creates a codec from the byte in the header.
    public init(rawValue: UInt8) {
        self.rawValue = rawValue
    }

    /// There is no payload.
    public static let none = PayloadCodec(rawValue: 0)
    /// One JSON text in UTF-8: what peers in another language, and Swift peers of another build, speak.
    public static let json = PayloadCodec(rawValue: 1)
    /// ``CompactEncoder``'s format: only between peers whose build identifiers are equal.
    public static let compact = PayloadCodec(rawValue: 2)
    /// Bytes that sender and receiver agree on without this module.
    public static let opaque = PayloadCodec(rawValue: 3)
}
