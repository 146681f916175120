/// The coordinator of this link has ended.
public struct Exited: Sendable, Hashable {
    /// How it ended.
    public var reason: Exit

    /// Creates the content of a frame.
    public init(reason: Exit) {
        self.reason = reason
    }
}
