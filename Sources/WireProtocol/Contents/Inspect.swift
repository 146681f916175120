/// A question of the other side's runtime, with an answer in JSON: what an operator asks for on its way down; reports of processes and
/// requests to be dismissed on their way up.
///
/// The answer is a ``Reply`` of the same correlation.
public struct Inspect: Sendable, Hashable {
    /// The path of the coordinator.
    public var target: NameID
    /// What is asked for.
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
