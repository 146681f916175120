/// How a coordinator, or the process that hosted it, ended.
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

        /// It was done.
        public static let normal = Kind(rawValue: 0)
        /// It was told to stop.
        public static let shutdown = Kind(rawValue: 1)
        /// It threw.
        public static let failed = Kind(rawValue: 2)
        /// The process exited; the code says with which status.
        public static let exitCode = Kind(rawValue: 3)
        /// The process was killed; the code says by which signal.
        public static let signal = Kind(rawValue: 4)
        /// It no longer answered.
        public static let hung = Kind(rawValue: 5)
        /// It never became ready.
        public static let startFailed = Kind(rawValue: 6)
        /// Its own children failed too often.
        public static let escalated = Kind(rawValue: 7)
        /// Nobody knows.
        public static let unknown = Kind(rawValue: 255)
    }

    /// The kind of end.
    public var kind: Kind
    /// The exit status or the signal's number, else 0.
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
