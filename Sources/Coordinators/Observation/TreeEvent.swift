/// An event somewhere in the tree, for tracing and audit.
public struct TreeEvent: Sendable, Hashable, Codable {
    /// The kind of the event.
    public enum Kind: Sendable, Hashable, Codable {
        /// A coordinator has changed.
        case lifecycle(LifecycleChange)
        /// A row of the coordinator has handled a message: with its sender, the time that it took, and the error that it threw.
        case handled(message: String, sender: CoordinatorPath, duration: Duration, error: String?)
        /// A coordinator has sent an event to its delegates.
        case event(type: String)
        /// A message was dropped.
        case dropped(DeadLetter)
    }

    /// The coordinator that the event is about.
    public let path: CoordinatorPath
    /// The number of the process in which the event occurred.
    public let processID: Int32
    /// The trace of the message.
    public let trace: TraceContext?
    /// The kind of the event.
    public let kind: Kind
}
