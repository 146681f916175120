/// Permission to send more.
///
/// Credit adds up, but never beyond what the first credit on the link named.
public struct Credit: Sendable, Hashable {
    /// The route that the permission is for, a path or the name of a message; 0 means the whole link.
    public var target: NameID
    /// The number of messages.
    public var messages: UInt32
    /// The number of bytes.
    public var bytes: UInt64

    /// Creates the content of a frame.
    public init(target: NameID, messages: UInt32, bytes: UInt64) {
        self.target = target
        self.messages = messages
        self.bytes = bytes
    }
}

extension Credit {
    func encode(into batch: inout [UInt8]) {
        batch.appendInteger(target)
        batch.appendInteger(messages)
        batch.appendInteger(bytes)
    }

    init(from body: inout ByteReader) throws(WireError) {
        self.init(target: try body.integer(), messages: try body.integer(), bytes: try body.integer())
    }
}
