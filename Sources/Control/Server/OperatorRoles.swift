import NNG
import Processes

/// The roles of those who connect at a control socket.
struct OperatorRoles: Sendable {
    /// The users who have every role.
    let userIDs: Set<UInt32>
    /// The groups whose members have a role.
    let groups: [UInt32: OperatorRole]

    /// Returns the process at the other end as a requester, with the highest role that it has.
    func requester(_ peer: PeerCredentials?) throws(ControlError) -> Requester {
        guard let peer else {
            throw ControlError(.notPermitted, "the daemon can't tell who is connected; operate it through its Unix socket")
        }
        let isOwner = userIDs.contains(peer.userID)
        let groupIDs = groups.isEmpty ? [peer.groupID] : peer.groupIDs
        let role = isOwner ? .administer : groupIDs.compactMap { groups[$0] }.max()
        guard let role else { throw refusal(of: peer) }
        return Requester(processID: peer.processID, userID: peer.userID, groupIDs: groupIDs, role: role)
    }

    private func refusal(of peer: PeerCredentials) -> ControlError {
        let allowed = userIDs.sorted().map { "user \($0)" } + groups.keys.sorted().map { "group \($0)" }
        return ControlError(
            .notPermitted,
            "user \(peer.userID) may not operate this daemon; allowed: \(allowed.isEmpty ? "no user" : allowed.joined(separator: ", "))"
        )
    }
}
