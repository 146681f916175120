/// Why bytes could not be read.
///
/// The link they came from can't be trusted any further: close it.
public struct WireError: Error, Sendable, Hashable, CustomStringConvertible {
    /// What kind of fault it is.
    public var code: Code
    /// What was found and what had been expected.
    public var message: String
    /// Where it was found, in bytes from the beginning of the batch or ticket.
    public var offset: Int

    /// Creates an error.
    public init(_ code: Code, _ message: String, offset: Int) {
        self.code = code
        self.message = message
        self.offset = offset
    }

    /// One line for a log.
    public var description: String {
        "\(code) at byte \(offset): \(message)"
    }
}

extension WireError {
    /// The kind of a fault.
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

        /// The bytes end before what they announce.
        public static let truncated = Code(value: .truncated)
        /// The version is not one that this module speaks.
        public static let badVersion = Code(value: .badVersion)
        /// The version defines no such kind of frame.
        public static let unknownKind = Code(value: .unknownKind)
        /// A length is beyond ``FrameLimits``.
        public static let tooLarge = Code(value: .tooLarge)
        /// A field has a value that it can't have.
        public static let malformed = Code(value: .malformed)
        /// A text is not UTF-8.
        public static let badText = Code(value: .badText)
        /// The content ends before its bytes do.
        public static let trailingBytes = Code(value: .trailingBytes)

        /// The name of the code.
        public var description: String { value.rawValue }
    }
}
