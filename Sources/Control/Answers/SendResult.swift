/// What became of a message that an operator sent.
public struct SendResult: Codable, Hashable, Sendable {
    /// Whether somebody on the way up responds to such a message; false: it went to nobody.
    public var delivered: Bool

    /// Creates a result.
    public init(delivered: Bool) {
        self.delivered = delivered
    }
}
