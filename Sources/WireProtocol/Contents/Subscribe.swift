/// Events of one name are wanted, or no longer.
///
/// Asking twice is asking once.
public struct Subscribe: Sendable, Hashable {
    /// The path of the coordinator whose events are meant.
    public var subject: NameID
    /// The name of the event's type; 0 means all.
    public var name: NameID
    /// True to get the events, false to get no more.
    public var isActive: Bool

    /// Creates the content of a frame.
    public init(subject: NameID, name: NameID, isActive: Bool) {
        self.subject = subject
        self.name = name
        self.isActive = isActive
    }
}
