/// Who is at the other end of a link, as the kernel says.
public struct PeerIdentity: Sendable, Hashable {
    /// The process that made the connection.
    public let processID: Int32
    /// The user as whom it ran.
    public let userID: UInt32
}
