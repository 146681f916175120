import CProcess

/// Who may connect at a socket in the file system, beside its owner.
package enum SocketAccess {
    /// Has the members of groups connect, and no one else but the owner: by an access control list, as acl(5) describes it.
    ///
    /// - Returns: 0, or the number of the error.
    package static func admit(_ groups: [UInt32], at path: String) -> Int32 {
        coordinator_admit_groups(path, groups, Int32(groups.count))
    }
}
