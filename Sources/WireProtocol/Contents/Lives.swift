/// The order to start the worker's coordinator.
public struct Start: Sendable, Hashable {
    /// The coordinator's path in the tree.
    public var path: String
    /// The name of the coordinator's type.
    public var type: String
    /// The time that the start may take, in milliseconds; `UInt32.max` means that there is no limit.
    public var startTimeoutMilliseconds: UInt32
    /// The encoded configuration.
    public var configuration: Bytes

    /// Creates the content of a frame.
    public init(path: String, type: String, startTimeoutMilliseconds: UInt32, configuration: Bytes = []) {
        self.path = path
        self.type = type
        self.startTimeoutMilliseconds = startTimeoutMilliseconds
        self.configuration = configuration
    }
}

extension Start {
    func encode(into batch: inout [UInt8]) {
        batch.appendInteger(startTimeoutMilliseconds)
        batch.appendText(path)
        batch.appendText(type)
        batch.append(contentsOf: configuration)
    }

    init(from body: inout ByteReader, limits: FrameLimits) throws(WireError) {
        let timeout = try body.integer(UInt32.self)
        let path = try body.text(limit: limits.maximumNameLength)
        let type = try body.text(limit: limits.maximumNameLength)
        self.init(path: path, type: type, startTimeoutMilliseconds: timeout, configuration: body.rest())
    }
}

/// The order to stop a coordinator and its subtree.
public struct Stop: Sendable, Hashable {
    /// The path of the coordinator; 0, the only value today, means the one that the worker hosts.
    public var target: NameID
    /// The time that the stop may take, in milliseconds; `UInt32.max` means that there is no limit.
    public var graceMilliseconds: UInt32

    /// Creates the content of a frame.
    public init(target: NameID, graceMilliseconds: UInt32) {
        self.target = target
        self.graceMilliseconds = graceMilliseconds
    }
}

extension Stop {
    func encode(into batch: inout [UInt8]) {
        batch.appendInteger(target)
        batch.appendInteger(graceMilliseconds)
    }

    init(from body: inout ByteReader) throws(WireError) {
        self.init(target: try body.integer(), graceMilliseconds: try body.integer())
    }
}

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

/// The order to pause a coordinator.
public struct Pause: Sendable, Hashable {
    /// The path of the coordinator; 0, the only value today, means the one that the worker hosts.
    public var target: NameID
    /// The reason: 0 when the coordinator itself was paused, 1 when an ancestor was.
    ///
    /// Each reason lasts until a ``Resume`` with the same reason.
    public var reason: UInt8

    /// Creates the content of a frame.
    public init(target: NameID, reason: UInt8) {
        self.target = target
        self.reason = reason
    }
}

extension Pause {
    func encode(into batch: inout [UInt8]) {
        batch.appendInteger(target)
        batch.append(reason)
    }

    init(from body: inout ByteReader) throws(WireError) {
        self.init(target: try body.integer(), reason: try body.integer())
    }
}

/// The end of one reason for a coordinator's pause.
public struct Resume: Sendable, Hashable {
    /// The path of the coordinator; 0, the only value today, means the one that the worker hosts.
    public var target: NameID
    /// The reason that ends: 0 when the coordinator itself is resumed, 1 when an ancestor is.
    public var reason: UInt8

    /// Creates the content of a frame.
    public init(target: NameID, reason: UInt8) {
        self.target = target
        self.reason = reason
    }
}

extension Resume {
    func encode(into batch: inout [UInt8]) {
        batch.appendInteger(target)
        batch.append(reason)
    }

    init(from body: inout ByteReader) throws(WireError) {
        self.init(target: try body.integer(), reason: try body.integer())
    }
}

/// A new value of a dependency of the subtree.
public struct Dependency: Sendable, Hashable {
    /// The name of the dependency.
    public var name: NameID
    /// The number of the parent's change of its dependencies: a value with a lower number than the last one of the same name is older, and is ignored.
    public var version: UInt64
    /// The encoded descriptor.
    public var payload: Bytes

    /// Creates the content of a frame.
    public init(name: NameID, version: UInt64, payload: Bytes = []) {
        self.name = name
        self.version = version
        self.payload = payload
    }
}

extension Dependency {
    func encode(into batch: inout [UInt8]) {
        batch.appendInteger(name)
        batch.appendInteger(version)
        batch.append(contentsOf: payload)
    }

    init(from body: inout ByteReader) throws(WireError) {
        self.init(name: try body.integer(), version: try body.integer(), payload: body.rest())
    }
}
