import Glibc
import Processes

extension DaemonConfiguration {
    /// Returns a description of a child that this process may not start, since the child runs as another user; nil when there is none.
    ///
    /// May block while users are looked up.
    public var missingPrivilege: String? {
        guard geteuid() != 0 else { return nil }
        for child in children {
            guard case .program(let program) = child.content else { continue }
            let attributes = program.process.attributes
            guard attributes.user != nil || attributes.group != nil, !Account.isOurs(attributes) else { continue }
            let account = [attributes.user, attributes.group].compactMap(\.self).joined(separator: ":")
            return "the child \(child.key) runs as \(account), and only a daemon of root can start it; run the daemon as root, or leave "
                + "`user` and `group` out"
        }
        return nil
    }
}
