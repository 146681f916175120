/// The reason why bytes could not be decoded.
///
/// Close the link from which the bytes came: the next frames can't be found.
public struct WireError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The kind of the fault.
    public var code: Code
    /// The fault in words: the bytes found and the bytes expected.
    public var message: String
    /// The position of the fault, in bytes from the beginning of the batch or ticket.
    public var offset: Int

    /// Creates an error.
    public init(_ code: Code, _ message: String, offset: Int) {
        self.code = code
        self.message = message
        self.offset = offset
    }

    /// The fault in one line, for a log.
    public var description: String {
        "\(code) at byte \(offset): \(message)"
    }
}

extension WireError {
    /// The kind of a fault; later versions may add more.
    public struct Code: Sendable, Hashable, CustomStringConvertible {
        private enum Value: String {
            case truncated
            case badVersion
            case unknownKind
            case tooLarge
            case malformed
            case badText
            case trailingBytes
        }

        private let value: Value

        /// The bytes end before the fields that they announce.
        public static let truncated = Code(value: .truncated)
        /// The version is not the one that this module speaks.
        public static let badVersion = Code(value: .badVersion)
        /// The version defines no frame of this kind.
        public static let unknownKind = Code(value: .unknownKind)
        /// A length is beyond ``FrameLimits``.
        public static let tooLarge = Code(value: .tooLarge)
        /// A field has an invalid value.
        public static let malformed = Code(value: .malformed)
        /// A text is not UTF-8.
        public static let badText = Code(value: .badText)
        /// Bytes are left over after the content.
        public static let trailingBytes = Code(value: .trailingBytes)

        /// The name of the code.
        public var description: String { value.rawValue }
    }
}
