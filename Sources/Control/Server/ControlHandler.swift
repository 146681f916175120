public import WireProtocol

/// The carrier-out of operators' requests, which a daemon implements.
public protocol ControlHandler: Sendable {
    /// Carries out one operation and returns its result as a JSON object.
    ///
    /// Each ``ControlOperation`` names its result's type, and ``ControlJSON`` converts it. Calls are concurrent. The server cancels the
    /// task when the requester cancels the request, when the server itself is cancelled, and when the requester of a question goes
    /// away; a change that has begun is carried out to its end.
    func handle(_ operation: ControlOperation, from requester: Requester) async throws(ControlError) -> JSONValue
}
