/// A message that wants no answer.
public struct Send: Sendable, Hashable {
    /// The path of the coordinator whose turn it is.
    public var target: NameID
    /// The path of the coordinator that sends.
    public var sender: NameID
    /// The name of the message's type.
    public var message: NameID
    /// The trace context, opaque to the link; empty when there is none.
    public var trace: Bytes
    /// The encoded message.
    public var payload: Bytes

    /// Creates the content of a frame.
    public init(target: NameID, sender: NameID, message: NameID, trace: Bytes = [], payload: Bytes = []) {
        self.target = target
        self.sender = sender
        self.message = message
        self.trace = trace
        self.payload = payload
    }
}
