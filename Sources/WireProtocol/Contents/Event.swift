/// An event of a coordinator, or a notification between two runtimes.
public struct Event: Sendable, Hashable {
    /// The path of the coordinator that the event is about; 0 means the one that the worker hosts.
    public var subject: NameID
    /// The name of the notification; 0 means an event of the coordinator.
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

extension Event {
    func encode(into batch: inout [UInt8]) {
        batch.appendInteger(subject)
        batch.appendInteger(name)
        batch.append(contentsOf: payload)
    }

    init(from body: inout ByteReader) throws(WireError) {
        self.init(subject: try body.integer(), name: try body.integer(), payload: body.rest())
    }
}
