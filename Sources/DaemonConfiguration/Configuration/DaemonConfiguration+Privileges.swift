import Glibc
import Processes

extension DaemonConfiguration {
    /// Returns a description of a child that this process may not start, since the child runs as another user; nil when there is none.
    ///
    /// May block while users are looked up.
    public var missingPrivilege: String? {
        guard geteuid() != 0 else { return nil }
        for child in children {
            let attributes: ProcessAttributes
            switch child.content {
            case .program(let program): attributes = program.process.attributes
            case .worker(let worker): attributes = worker.process.attributes
            case .group: continue
            }
            guard attributes.user != nil || attributes.group != nil, !Account.isOurs(attributes) else { continue }
            let account = [attributes.user, attributes.group].compactMap(\.self).joined(separator: ":")
            return "the child \(child.key) runs as \(account), and only a daemon of root can start it; run the daemon as root, or leave "
                + "`user` and `group` out"
        }
        return nil
    }
}
