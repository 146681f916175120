/// The end of the worker's coordinator.
public struct Exited: Sendable, Hashable {
    /// The way in which the coordinator ended.
    public var reason: Exit

    /// Creates the content of a frame.
    public init(reason: Exit) {
        self.reason = reason
    }
}

/// The way in which a coordinator, or the process that hosted it, ended.
public struct Exit: Sendable, Hashable {
    /// The kind of end.
    ///
    /// Unknown kinds are kept as they came.
    public struct Kind: RawRepresentable, Sendable, Hashable {
        /// The byte in the frame.
        public let rawValue: UInt8

        /// Creates a kind from the byte in the frame.
        public init(rawValue: UInt8) {
            self.rawValue = rawValue
        }

        /// The coordinator had finished its work.
        public static let normal = Kind(rawValue: 0)
        /// The coordinator was told to stop.
        public static let shutdown = Kind(rawValue: 1)
        /// The coordinator threw an error.
        public static let failed = Kind(rawValue: 2)
        /// The process exited; the code is its exit status.
        public static let exitCode = Kind(rawValue: 3)
        /// A signal killed the process; the code is the signal's number.
        public static let signal = Kind(rawValue: 4)
        /// The process no longer answered.
        public static let hung = Kind(rawValue: 5)
        /// The coordinator never became ready.
        public static let startFailed = Kind(rawValue: 6)
        /// The coordinator's own children failed too often.
        public static let escalated = Kind(rawValue: 7)
        /// The reason is not known.
        public static let unknown = Kind(rawValue: 255)
    }

    /// The kind of end.
    public var kind: Kind
    /// The exit status or the signal's number; 0 for all other kinds.
    public var code: Int32
    /// The reason in words; may be empty.
    public var message: String

    /// Creates an end.
    public init(kind: Kind, code: Int32 = 0, message: String = "") {
        self.kind = kind
        self.code = code
        self.message = message
    }
}

extension Exited {
    func encode(into batch: inout [UInt8]) {
        batch.append(reason.kind.rawValue)
        batch.appendInteger(reason.code)
        batch.appendText(reason.message)
    }

    init(from body: inout ByteReader) throws(WireError) {
        self.init(reason: Exit(kind: Exit.Kind(rawValue: try body.integer()), code: try body.integer(), message: try body.text()))
    }
}
