/// A message that wants an answer.
public struct Ask: Sendable, Hashable {
    /// The path of the coordinator whose turn it is.
    public var target: NameID
    /// The path of the coordinator that asks.
    public var sender: NameID
    /// The name of the message's type.
    public var message: NameID
    /// The time that remains until the asker gives up, in microseconds; 0 means that there is no deadline.
    public var timeoutMicroseconds: UInt64
    /// The trace context, opaque to the link; empty when there is none.
    public var trace: Bytes
    /// The encoded message.
    public var payload: Bytes

    /// Creates the content of a frame.
    public init(
        target: NameID,
        sender: NameID,
        message: NameID,
        timeoutMicroseconds: UInt64 = 0,
        trace: Bytes = [],
        payload: Bytes = []
    ) {
        self.target = target
        self.sender = sender
        self.message = message
        self.timeoutMicroseconds = timeoutMicroseconds
        self.trace = trace
        self.payload = payload
    }
}
