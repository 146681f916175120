/// The end of one reason for a coordinator's pause.
public struct Resume: Sendable, Hashable {
    /// The path of the coordinator; 0, the only value today, means the one that the worker hosts.
    public var target: NameID
    /// The reason that ends: 0 when the coordinator itself is resumed, 1 when an ancestor is.
    public var reason: UInt8

    /// Creates the content of a frame.
    public init(target: NameID, reason: UInt8) {
        self.target = target
        self.reason = reason
    }
}

extension Resume {
    func encode(into batch: inout [UInt8]) {
        batch.appendInteger(target)
        batch.append(reason)
    }

    init(from body: inout ByteReader) throws(WireError) {
        self.init(target: try body.integer(), reason: try body.integer())
    }
}
