public import WireProtocol

/// What carries out an operator's requests: the daemon.
public protocol ControlHandler: Sendable {
    /// Carries out one operation and returns the result's JSON object; see ``ControlOperation`` for which it is, and ``ControlJSON`` to make it.
    ///
    /// Calls are concurrent. The task is cancelled when the requester cancels, when it goes away (a question only: a change that was
    /// begun is carried out to its end), and when the server is cancelled.
    func handle(_ operation: ControlOperation, from requester: Requester) async throws(ControlError) -> JSONValue
}
