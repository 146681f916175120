/// A request to the runtime of the other side.
///
/// An operator's requests travel down the tree; reports of processes and requests to be dismissed travel up. The answer is a ``Reply`` in
/// JSON with the same correlation.
public struct Inspect: Sendable, Hashable {
    /// The path of the coordinator.
    public var target: NameID
    /// The name of the operation.
    public var operation: String
    /// The arguments.
    public var payload: Bytes

    /// Creates the content of a frame.
    public init(target: NameID, operation: String, payload: Bytes = []) {
        self.target = target
        self.operation = operation
        self.payload = payload
    }
}

extension Inspect {
    func encode(into batch: inout [UInt8]) {
        batch.appendInteger(target)
        batch.appendText(operation)
        batch.append(contentsOf: payload)
    }

    init(from body: inout ByteReader, limits: FrameLimits) throws(WireError) {
        self.init(target: try body.integer(), operation: try body.text(limit: limits.maximumNameLength), payload: body.rest())
    }
}

/// The begin or the end of a subscription to events.
///
/// A second subscription to the same events changes nothing.
public struct Subscribe: Sendable, Hashable {
    /// The path of the coordinator whose events are meant; 0, the only value today, means the one that the worker hosts.
    public var subject: NameID
    /// The name of the notification; 0 means the coordinator's events.
    public var name: NameID
    /// Whether the subscription begins.
    public var isActive: Bool

    /// Creates the content of a frame.
    public init(subject: NameID, name: NameID, isActive: Bool) {
        self.subject = subject
        self.name = name
        self.isActive = isActive
    }
}

extension Subscribe {
    func encode(into batch: inout [UInt8]) {
        batch.appendInteger(subject)
        batch.appendInteger(name)
        batch.append(isActive ? 1 : 0)
    }

    init(from body: inout ByteReader) throws(WireError) {
        self.init(subject: try body.integer(), name: try body.integer(), isActive: try body.flag("isActive"))
    }
}

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
