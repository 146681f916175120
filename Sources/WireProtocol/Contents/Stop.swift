/// A coordinator is to stop, and its subtree with it.
public struct Stop: Sendable, Hashable {
    /// The path of the coordinator.
    public var target: NameID
    /// How long it has, in milliseconds; `UInt32.max` means as long as it takes.
    public var graceMilliseconds: UInt32

    /// Creates the content of a frame.
    public init(target: NameID, graceMilliseconds: UInt32) {
        self.target = target
        self.graceMilliseconds = graceMilliseconds
    }
}
