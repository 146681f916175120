package import Glibc

/// The user and the group that a file is given to.
package struct FileOwner: Sendable, Hashable {
    /// The user; nil: it stays as it is.
    package let user: UInt32?
    /// The group; nil: it stays as it is.
    package let group: UInt32?

    /// Finds the accounts of `user`, `user:group` or `:group`, which are names or numbers; may block.
    package init(_ text: String) throws(ProcessError) {
        let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        let name = parts.first ?? ""
        if name.isEmpty {
            user = nil
        } else if let number = UInt32(name) {
            user = number
        } else {
            user = try Account(of: ProcessAttributes(user: name)).user
        }
        group = try parts.count > 1 ? Account.groupID(parts[1]) : nil
    }

    /// Whether this process may give its files to the owner.
    package var isPossible: Bool {
        if geteuid() == 0 { return true }
        var groups = [gid_t](repeating: 0, count: max(0, Int(getgroups(0, nil))))
        let count = getgroups(Int32(groups.count), &groups)
        return (user ?? geteuid()) == geteuid() && group.map { $0 == getegid() || groups.prefix(max(0, Int(count))).contains($0) } ?? true
    }

    /// Gives an open file to the owner, unless it has it.
    ///
    /// - Returns: The error's number; 0: the file is the owner's.
    package func takeFile(_ descriptor: Int32, _ status: stat) -> Int32 {
        let (user, group) = (user ?? status.st_uid, group ?? status.st_gid)
        if (user, group) == (status.st_uid, status.st_gid) { return 0 }
        return fchown(descriptor, user, group) == 0 ? 0 : errno
    }
}
