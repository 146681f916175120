/// Something happened to, or was announced by, a coordinator.
public struct Event: Sendable, Hashable {
    /// The path of the coordinator that the event is about.
    public var subject: NameID
    /// The name of the event's type.
    public var name: NameID
    /// The encoded event.
    public var payload: Bytes

    /// Creates the content of a frame.
    public init(subject: NameID, name: NameID, payload: Bytes = []) {
        self.subject = subject
        self.name = name
        self.payload = payload
    }
}
