/// A watched coordinator has ended.
public struct Terminated: Sendable, Hashable {
    /// The path of the coordinator.
    public var subject: NameID
    /// How it ended.
    public var reason: Exit

    /// Creates the content of a frame.
    public init(subject: NameID, reason: Exit) {
        self.subject = subject
        self.reason = reason
    }
}
