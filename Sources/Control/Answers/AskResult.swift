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
