import Glibc

/// A file by whose content a process decides whom it believes: certificates, keys, lists of revoked certificates, secrets.
package struct TrustedFile {
    /// The reason why a file isn't used.
    package enum Failure: Error, Sendable {
        case unreadable(RegularFile.Failure)
        /// Others may change it, or read a secret, in these words.
        case refused(String)

        /// The continuation of the file's path.
        package var explanation: String {
            switch self {
            case .unreadable(let failure): "can't be read: \(failure.explanation)"
            case .refused(let problem): "isn't used: \(problem)"
            }
        }
    }

    /// The size of the largest file: all certificates that Debian trusts have a quarter of that.
    private static let sizeLimit = 1 << 20

    private let path: String
    private let isSecret: Bool

    /// - Parameter isSecret: Whether its content is for its owner, and perhaps the owner's group, alone.
    package init(_ path: String, isSecret: Bool) { (self.path, self.isSecret) = (path, isSecret) }

    /// Reads the file whole, if it may be used; blocks as ``RegularFile`` does.
    package func read(_ looks: FileLooks) throws(Failure) -> [UInt8] {
        let (bytes, problem): ([UInt8], String?)
        do throws(RegularFile.Failure) {
            bytes = try RegularFile.read(path, upTo: Self.sizeLimit)
            problem = try self.problem(looks)
        } catch {
            throw .unreadable(error)
        }
        if let problem { throw .refused(problem) }
        return bytes
    }

    /// Returns why the file isn't used, and what to do; nil: it may be.
    package func problem(_ looks: FileLooks) throws(RegularFile.Failure) -> String? {
        let look = try looks.look(at: path)
        if let problem = problem(ofMode: look.mode) ?? problem(ofOwner: look.owner, to: geteuid()) { return problem }
        return try looks.exchange(at: path)
    }

    /// Returns why a file of a user isn't used by another one, and what to do; nil: it may be.
    ///
    /// Its owner may change a file, whatever its mode is, and would choose the secret of a process that isn't theirs.
    package func problem(ofOwner owner: UInt32, to user: UInt32) -> String? {
        guard isSecret, owner != 0, owner != user else { return nil }
        return "it belongs to the user \(owner), who may change it, and neither to root nor to this process's user (\(user)); "
            + "mend it with `chown \(user) \(path)`"
    }

    /// Returns why a file of a mode isn't used, and what to do; nil: it may be.
    ///
    /// A secret is its owner's, and may be read by its group: that's how Kubernetes (`fsGroup`), systemd and Debian give one to a service. No file
    /// may be written to by all.
    package func problem(ofMode mode: UInt32) -> String? {
        let excess = mode & (isSecret ? 0o027 : 0o002)
        guard excess != 0 else { return nil }
        let deed = excess & 0o004 != 0 ? "all users may read it" : excess & 0o022 != 0 ? "others may write to it" : "others may execute it"
        let text = String(mode & 0o7777, radix: 8)
        return "\(deed) (mode 0\(text)); mend it with `chmod \(isSecret ? "u=rw,g-wx,o=" : "o-w") \(path)`"
    }
}
