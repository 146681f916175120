/// One reason for a coordinator's pause is gone.
public struct Resume: Sendable, Hashable {
    /// The path of the coordinator.
    public var target: NameID
    /// Which: 0 it was named, 1 an ancestor was resumed.
    public var reason: UInt8

    /// Creates the content of a frame.
    public init(target: NameID, reason: UInt8) {
        self.target = target
        self.reason = reason
    }
}
