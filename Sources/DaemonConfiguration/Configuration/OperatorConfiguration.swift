/// The users who may operate the daemon, beside its own.
public struct OperatorConfiguration: Codable, Hashable, Sendable {
    /// The name or the number of a group whose members may operate the daemon as its own user does; nil for no one else.
    ///
    /// A daemon that isn't root's must be a member of the group itself.
    public var group: String?

    /// Creates a configuration; by default no other user may operate the daemon.
    public init(group: String? = nil) { self.group = group }
}
