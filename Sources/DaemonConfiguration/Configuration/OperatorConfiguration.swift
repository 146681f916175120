public import Processes

/// The users who may operate the daemon, beside its own and root.
public struct OperatorConfiguration: Codable, Hashable, Sendable {
    /// A group whose members have a role.
    public struct Group: Codable, Hashable, Sendable {
        /// The name or the number of the group.
        public var name: String
        /// What its members may do.
        public var role: OperatorRole

        /// Creates a group; by default its members operate what the configuration has, and don't change it.
        public init(_ name: String, role: OperatorRole = .operate) { (self.name, self.role) = (name, role) }
    }

    /// The groups whose members may operate the daemon; a member of several has the highest role.
    ///
    /// If there is one, a daemon that isn't root's must be a member of the group itself.
    public var groups: [Group]

    /// Creates a configuration; by default no other user may operate the daemon.
    public init(groups: [Group] = []) { self.groups = groups }
}
