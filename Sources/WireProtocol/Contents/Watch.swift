/// The end of a coordinator is to be reported.
public struct Watch: Sendable, Hashable {
    /// The path of the coordinator to watch.
    public var subject: NameID

    /// Creates the content of a frame.
    public init(subject: NameID) {
        self.subject = subject
    }
}
