import NNG

/// Who makes a request, as the kernel says.
public struct Requester: Hashable, Sendable {
    /// The process that connected.
    public var processID: Int32
    /// Its user.
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
