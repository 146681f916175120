import Glibc

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

extension PeerCredentials {
    /// The groups of the process when it connected, the supplementary ones among them (`SO_PEERGROUPS` of unix(7)), while the connection is open.
    ///
    /// nng doesn't give its descriptor away, so all sockets of this process are looked at whose peer is the process. Of several these are the
    /// groups that it had at each of them.
    public var groupIDs: [UInt32] {
        var common: Set<UInt32>?
        // The most that the kernel allows (NGROUPS_MAX).
        var groups = [UInt32](repeating: 0, count: 65_536)
        for descriptor in OwnProcess.descriptors {
            guard Self.isPeer(self, of: descriptor),
                let count = Self.readGroups(of: descriptor, &groups),
                // Another thread may have closed the socket, and opened another one under its number.
                Self.isPeer(self, of: descriptor)
            else { continue }
            common = common?.intersection(groups[..<count]) ?? Set(groups[..<count])
        }
        return (common ?? []).union([groupID]).sorted()
    }

    private static func isPeer(_ peer: PeerCredentials, of descriptor: Int32) -> Bool {
        // Those of struct ucred: process, user, group.
        var credentials: (Int32, UInt32, UInt32) = (0, 0, 0)
        var size = socklen_t(MemoryLayout.size(ofValue: credentials))
        return getsockopt(descriptor, SOL_SOCKET, SO_PEERCRED, &credentials, &size) == 0
            && credentials == (peer.processID, peer.userID, peer.groupID)
    }

    /// Returns the number of the peer's supplementary groups.
    private static func readGroups(of descriptor: Int32, _ groups: inout [UInt32]) -> Int? {
        var size = socklen_t(groups.count * MemoryLayout<UInt32>.stride)
        let peerGroups: Int32 = 59
        return getsockopt(descriptor, SOL_SOCKET, peerGroups, &groups, &size) == 0 ? Int(size) / MemoryLayout<UInt32>.stride : nil
    }
}
