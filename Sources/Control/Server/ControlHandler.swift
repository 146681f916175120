import NNG
public import WireProtocol

/// A handler of operators' requests, which the daemon implements.
public protocol ControlHandler: Sendable {
    /// Carries out one operation and returns its result as a JSON object.
    ///
    /// Each ``ControlOperation`` names its result's type, and ``ControlJSON`` converts it. Calls are concurrent. The server cancels the
    /// task when the requester cancels the request, when the server itself is cancelled, and when the requester of a question goes
    /// away; a change that has begun is carried out to its end.
    func handle(_ operation: ControlOperation, from requester: Requester) async throws(ControlError) -> JSONValue
}

/// The process that makes a request, by the kernel's word.
public struct Requester: Hashable, Sendable {
    /// The ID of the process that connected.
    public var processID: Int32
    /// The effective user ID of that process.
    public var userID: UInt32

    /// Creates a requester.
    public init(processID: Int32, userID: UInt32) {
        self.processID = processID
        self.userID = userID
    }

    init(_ peer: PeerCredentials) {
        self.init(processID: peer.processID, userID: peer.userID)
    }
}
