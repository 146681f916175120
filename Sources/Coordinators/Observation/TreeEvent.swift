/// Something that has happened somewhere in the tree: for tracing and audit.
public struct TreeEvent: Sendable, Hashable, Codable {
    /// What has happened.
    public enum Kind: Sendable, Hashable, Codable {
        /// A coordinator has changed.
        case lifecycle(LifecycleChange)
        /// A message was handled by a row of the coordinator: by whom it was sent, how long that took, and what it threw.
        case handled(message: String, sender: CoordinatorPath, duration: Duration, error: String?)
        /// A coordinator has told its delegates an event.
        case event(type: String)
        /// A message was dropped.
        case dropped(DeadLetter)
    }

    /// The coordinator that it's about.
    public let path: CoordinatorPath
    /// The process in which it happened.
    public let processID: Int32
    /// The trace of the message.
    public let trace: TraceContext?
    /// What has happened.
    public let kind: Kind
}
