/// The order to pause a coordinator.
public struct Pause: Sendable, Hashable {
    /// The path of the coordinator; 0, the only value today, means the one that the worker hosts.
    public var target: NameID
    /// The reason: 0 when the coordinator itself was paused, 1 when an ancestor was.
    ///
    /// Each reason lasts until a ``Resume`` with the same reason.
    public var reason: UInt8

    /// Creates the content of a frame.
    public init(target: NameID, reason: UInt8) {
        self.target = target
        self.reason = reason
    }
}

extension Pause {
    func encode(into batch: inout [UInt8]) {
        batch.appendInteger(target)
        batch.append(reason)
    }

    init(from body: inout ByteReader) throws(WireError) {
        self.init(target: try body.integer(), reason: try body.integer())
    }
}
