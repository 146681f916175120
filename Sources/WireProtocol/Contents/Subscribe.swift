/// The begin or the end of a subscription to events.
///
/// A second subscription to the same events changes nothing.
public struct Subscribe: Sendable, Hashable {
    /// The path of the coordinator whose events are meant; 0, the only value today, means the one that the worker hosts.
    public var subject: NameID
    /// The name of the notification; 0 means the coordinator's events.
    public var name: NameID
    /// Whether the subscription begins.
    public var isActive: Bool

    /// Creates the content of a frame.
    public init(subject: NameID, name: NameID, isActive: Bool) {
        self.subject = subject
        self.name = name
        self.isActive = isActive
    }
}

extension Subscribe {
    func encode(into batch: inout [UInt8]) {
        batch.appendInteger(subject)
        batch.appendInteger(name)
        batch.append(isActive ? 1 : 0)
    }

    init(from body: inout ByteReader) throws(WireError) {
        self.init(subject: try body.integer(), name: try body.integer(), isActive: try body.flag("isActive"))
    }
}
