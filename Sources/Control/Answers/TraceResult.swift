public import WireProtocol

/// The outcome of an operator's ask, and the way that the message has taken.
public struct TraceResult: Codable, Hashable, Sendable {
    /// A row that has handled the message, or a message that was sent on its way.
    public struct Hop: Codable, Hashable, Sendable {
        /// The coordinator whose row has handled the message.
        public var path: String
        /// The type of that coordinator.
        public var type: String
        /// The process in which the row ran.
        public var pid: Int32
        /// The message's name.
        public var message: String
        /// The coordinator that sent the message.
        public var sender: String
        /// The microseconds from the beginning of the ask to that of the row.
        public var startMicroseconds: Int64
        /// The microseconds for which the message has waited in the coordinator's process.
        public var waitedMicroseconds: Int64
        /// The microseconds that the row took, with what it has awaited.
        public var durationMicroseconds: Int64
        /// The error that the row threw.
        public var error: String?

        /// Creates a hop.
        public init(
            path: String,
            type: String,
            pid: Int32,
            message: String,
            sender: String,
            startMicroseconds: Int64,
            waitedMicroseconds: Int64,
            durationMicroseconds: Int64,
            error: String? = nil
        ) {
            self.path = path
            self.type = type
            self.pid = pid
            self.message = message
            self.sender = sender
            self.startMicroseconds = startMicroseconds
            self.waitedMicroseconds = waitedMicroseconds
            self.durationMicroseconds = durationMicroseconds
            self.error = error
        }

        private enum CodingKeys: String, CodingKey {
            case path, type, pid, message, sender, error
            case startMicroseconds = "start_us"
            case waitedMicroseconds = "waited_us"
            case durationMicroseconds = "duration_us"
        }
    }

    /// The trace's identifier: 32 hexadecimal digits.
    public var trace: String
    /// The responder's reply; nil when the ask has failed.
    public var reply: JSONValue?
    /// The failure of the ask; nil when there is a reply.
    public var error: ControlError?
    /// The time that the daemon waited for the reply, in microseconds.
    public var durationMicroseconds: Int64
    /// The process of the daemon, in which the message began its way.
    public var pid: Int32
    /// The hops in the order of their beginnings.
    public var hops: [Hop]

    /// Creates a result.
    public init(
        trace: String,
        reply: JSONValue? = nil,
        error: ControlError? = nil,
        durationMicroseconds: Int64,
        pid: Int32,
        hops: [Hop]
    ) {
        self.trace = trace
        self.reply = reply
        self.error = error
        self.durationMicroseconds = durationMicroseconds
        self.pid = pid
        self.hops = hops
    }

    private enum CodingKeys: String, CodingKey {
        case trace, reply, error, pid, hops
        case durationMicroseconds = "duration_us"
    }
}
