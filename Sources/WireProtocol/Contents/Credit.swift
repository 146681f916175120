/// Permission to send more.
///
/// Credit adds up, to what was named first at most.
public struct Credit: Sendable, Hashable {
    /// The path of the coordinator that the permission is for; 0 means the link.
    public var target: NameID
    /// How many more messages.
    public var messages: UInt32
    /// How many more bytes of payload.
    public var bytes: UInt64

    /// Creates the content of a frame.
    public init(target: NameID, messages: UInt32, bytes: UInt64) {
        self.target = target
        self.messages = messages
        self.bytes = bytes
    }
}
