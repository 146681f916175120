/// A request to the runtime of the other side.
///
/// An operator's requests travel down the tree; reports of processes and requests to be dismissed travel up. The answer is a ``Reply`` in
/// JSON with the same correlation.
public struct Inspect: Sendable, Hashable {
    /// The path of the coordinator.
    public var target: NameID
    /// The name of the operation.
    public var operation: String
    /// The arguments.
    public var payload: Bytes

    /// Creates the content of a frame.
    public init(target: NameID, operation: String, payload: Bytes = []) {
        self.target = target
        self.operation = operation
        self.payload = payload
    }
}

extension Inspect {
    func encode(into batch: inout [UInt8]) {
        batch.appendInteger(target)
        batch.appendText(operation)
        batch.append(contentsOf: payload)
    }

    init(from body: inout ByteReader, limits: FrameLimits) throws(WireError) {
        self.init(target: try body.integer(), operation: try body.text(limit: limits.maximumNameLength), payload: body.rest())
    }
}
