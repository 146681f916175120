/// The identity of the process at the other end of a local connection, as the kernel recorded it when the connection was made.
///
/// A peer can't forge them (`SO_PEERCRED` of unix(7)). The process may have ended since, and its number may have been given to another
/// one: identity is (process, start time), never the number alone.
public struct PeerCredentials: Sendable, Hashable {
    /// The process that connected or listened.
    public let processID: Int32
    /// The effective user of the process at that time.
    public let userID: UInt32
    /// The effective group of the process at that time.
    public let groupID: UInt32

    /// Creates credentials, for tests and for transports that learn them in another way.
    public init(processID: Int32, userID: UInt32, groupID: UInt32) {
        self.processID = processID
        self.userID = userID
        self.groupID = groupID
    }
}
