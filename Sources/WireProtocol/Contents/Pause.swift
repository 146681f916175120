/// A coordinator is to pause.
public struct Pause: Sendable, Hashable {
    /// The path of the coordinator.
    public var target: NameID
    /// Why: 0 it was named, 1 an ancestor was paused.
    ///
    /// The reasons are kept apart.
    public var reason: UInt8

    /// Creates the content of a frame.
    public init(target: NameID, reason: UInt8) {
        self.target = target
        self.reason = reason
    }
}
