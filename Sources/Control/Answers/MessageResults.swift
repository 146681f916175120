public import WireProtocol

/// The reply to a message that an operator asked.
public struct AskResult: Codable, Hashable, Sendable {
    /// The responder's reply.
    public var reply: JSONValue
    /// The time that the daemon waited for the reply, in microseconds.
    public var durationMicroseconds: Int64

    /// Creates a result.
    public init(reply: JSONValue, durationMicroseconds: Int64) {
        self.reply = reply
        self.durationMicroseconds = durationMicroseconds
    }

    private enum CodingKeys: String, CodingKey {
        case reply
        case durationMicroseconds = "duration_us"
    }
}

/// The outcome of a message that an operator sent.
public struct SendResult: Codable, Hashable, Sendable {
    /// Whether a coordinator between the path and the root responds to such a message.
    public var delivered: Bool

    /// Creates a result.
    public init(delivered: Bool) {
        self.delivered = delivered
    }
}
