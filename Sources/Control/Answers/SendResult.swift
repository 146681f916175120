/// The outcome of a message that an operator sent.
public struct SendResult: Codable, Hashable, Sendable {
    /// Whether a coordinator between the path and the root responds to such a message.
    public var delivered: Bool

    /// Creates a result.
    public init(delivered: Bool) {
        self.delivered = delivered
    }
}
