import NNG

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
