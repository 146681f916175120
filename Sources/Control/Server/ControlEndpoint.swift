import ConcurrencySupport
import Glibc
import NNG
import Processes

/// The control socket of one daemon: its directory, the lock that makes the daemon the only one there, and the listener.
final class ControlEndpoint: Sendable {
    private struct State {
        /// The lock of the directory; `nil` after its release.
        var lock: DirectoryLock?
        var listener: StreamListener
        /// The identity of the socket file that the listener made.
        var file: FileIdentity?
        /// Whether the directory has let other users pass, to what is theirs in it.
        var othersPass = false
    }

    private let path: String
    /// The groups whose members may connect too.
    private let groups: [UInt32]
    private let state: Lock<State>

    /// Makes the directory when it is missing, takes the lock, and then replaces a socket file that a former daemon left.
    ///
    /// - Throws: `.alreadyRunning` when another process has the lock, `.notPermitted` when other users may write to the directory.
    init(path: String, groups: [UInt32] = []) throws(ControlError) {
        self.path = path
        self.groups = groups
        let directory = Self.directory(of: path)
        try Self.prepare(directory, groups)
        let lock = try DirectoryLock(directory)
        do throws(ControlError) {
            let listener = try Self.listen(at: path, groups)
            state = Lock(State(lock: lock, listener: listener, file: FileIdentity(at: path)))
        } catch {
            lock.release()
            throw error
        }
    }

    /// The listener that accepts operators now.
    var listener: StreamListener { state.withLock { $0.listener } }

    /// Makes files anew that were removed: the one that names the owner, and the socket, so that operators find it again.
    ///
    /// Owners, groups and modes that were changed are put right too, of the directory and of the socket. systemd changes them before every
    /// command of the unit, that of a reload too: the directory gets its `RuntimeDirectoryMode=`, and if its group isn't the unit's, it's
    /// given to the unit's with all that is in it.
    ///
    /// Accepted connections stay open. After a failure everything is as before, and the next call tries again.
    ///
    /// - Returns: What was missing and has been made: the directory, or names of files in it.
    /// - Throws: `.alreadyRunning` when the directory was replaced and another daemon has the new one.
    @discardableResult
    func restore() throws(ControlError) -> [String] {
        try state.withLock { state throws(ControlError) -> [String] in
            let directory = Self.directory(of: path)
            var made: [String] = []
            guard (try? Self.prepare(directory, groups)) != nil, try Self.renewLock(&state, in: directory, &made) else { return [] }
            Self.renewPassage(&state, through: directory)
            if let file = state.file, FileIdentity(at: path) == file {
                // After a failure the next call tries again.
                try? Self.readmit(groups, at: path)
                return made
            }
            // Closing the listener removes any file at the path.
            state.listener.close()
            state.file = nil
            guard let listener = try? Self.listen(at: path, groups) else { return made }
            state.listener = listener
            state.file = FileIdentity(at: path)
            return made + [String(path.split(separator: "/").last ?? "")]
        }
    }

    /// Makes sure that the present directory is locked and the owner is named there: the locked directory may have been replaced.
    ///
    /// - Returns: Whether the present directory is locked; false after an error that may pass, and after the release.
    private static func renewLock(_ state: inout State, in directory: String, _ made: inout [String]) throws(ControlError) -> Bool {
        guard let lock = state.lock else { return false }
        if lock.isOfCurrentDirectory {
            if !lock.isOwnerNamed {
                lock.nameOwner()
                made.append(DirectoryLock.name)
            }
            return true
        }
        do throws(ControlError) {
            state.lock = try DirectoryLock(directory)
            lock.release()
            made.append("the directory")
            return true
        } catch {
            if error.code == .alreadyRunning { throw error }
            return false
        }
    }

    /// Lets other users pass again through a directory that has let them before.
    private static func renewPassage(_ state: inout State, through directory: String) {
        var status = stat()
        guard stat(directory, &status) == 0 else { return }
        if status.st_mode & 0o001 != 0 {
            state.othersPass = true
        } else if state.othersPass {
            chmod(directory, status.st_mode & 0o7777 | 0o011)
        }
    }

    deinit {
        remove()
    }

    /// Stops listening, removes the socket file and releases the lock; the second call does nothing.
    ///
    /// The file that names the owner stays: removing it after the release could remove the next daemon's.
    func remove() {
        state.withLock { state in
            guard let lock = state.lock else { return }
            state.listener.close()
            unlink(path)
            lock.release()
            state.lock = nil
        }
    }

    private static func prepare(_ directory: String, _ groups: [UInt32]) throws(ControlError) {
        do {
            try PrivateDirectory.prepare(directory, option: " with --runtime-dir")
        } catch {
            throw ControlError(error.isNotPermitted ? .notPermitted : .failed, error.message)
        }
        // The groups can pass to the socket, and not list what else is there.
        if groups.count == 1 { return try share(directory, with: groups[0], adding: 0o010) }
        var status = stat()
        guard groups.isEmpty || stat(directory, &status) == 0 && chmod(directory, status.st_mode & 0o7777 | 0o011) == 0 else {
            throw ControlError(.notPermitted, "can't let the groups of the operators pass \(directory): \(reason())")
        }
    }

    /// Has several groups read and write at a socket, and no one else but its owner, by an access control list.
    private static func share(_ path: String, withAll groups: [UInt32]) throws(ControlError) {
        let error = SocketAccess.admit(groups, at: path)
        guard error != 0 else { return }
        let advice = "name one group, or a runtime directory on a file system with access control lists"
        let reason = String(cString: strerror(error))
        throw ControlError(.notPermitted, "can't let the groups of the operators use \(path): \(reason); \(advice)")
    }

    /// Gives a file to a group, and adds permissions to it.
    private static func share(_ path: String, with groupID: UInt32, adding permissions: mode_t) throws(ControlError) {
        var status = stat()
        // The group first: with the permissions first, the file's present group would have them for a moment.
        guard chown(path, uid_t.max, groupID) == 0, stat(path, &status) == 0,
            chmod(path, status.st_mode & 0o7777 | permissions) == 0
        else {
            let reason = Self.reason()
            throw ControlError(
                .notPermitted,
                "can't give \(path) to the group \(groupID) of the operators: \(reason); run the daemon as root or as a member of the group"
            )
        }
    }

    /// Listens at the path; a socket file there is stale, because this daemon holds the lock.
    private static func listen(at path: String, _ groups: [UInt32]) throws(ControlError) -> StreamListener {
        guard unlink(path) == 0 || errno == ENOENT else {
            throw ControlError(.init(errno: errno), "can't remove the stale control socket \(path): \(reason()); remove it by hand")
        }
        let listener: StreamListener
        do {
            listener = try StreamListener("ipc://" + path, permissions: 0o600)
        } catch {
            throw ControlError(error.code == .permissionDenied ? .notPermitted : .failed, "can't listen at \(path): \(error)")
        }
        do throws(ControlError) {
            try admit(groups, to: path)
            return listener
        } catch {
            listener.close()
            throw error
        }
    }

    /// Has groups use a socket that is its owner's alone.
    private static func admit(_ groups: [UInt32], to path: String) throws(ControlError) {
        switch groups.count {
        case 0: break
        case 1: try share(path, with: groups[0], adding: 0o060)
        default: try share(path, withAll: groups)
        }
    }

    /// Makes a socket this user's and the groups' again, if its owner, group or mode was changed.
    private static func readmit(_ groups: [UInt32], at path: String) throws(ControlError) {
        var status = stat()
        guard lstat(path, &status) == 0 else { return }
        // With an access control list the bits of the group are its mask.
        let mode: mode_t = groups.isEmpty ? 0o600 : 0o660
        let isGroupRight = groups.count != 1 || status.st_gid == groups[0]
        if status.st_uid == geteuid(), isGroupRight, status.st_mode & 0o7777 == mode { return }
        guard chown(path, geteuid(), gid_t.max) == 0, chmod(path, 0o600) == 0 else {
            throw ControlError(.notPermitted, "can't take \(path) back: \(reason())")
        }
        try admit(groups, to: path)
    }

    private static func directory(of path: String) -> String {
        guard let slash = path.lastIndex(of: "/") else { return "." }
        return slash == path.startIndex ? "/" : String(path[..<slash])
    }

    private static func reason() -> String {
        String(cString: strerror(errno))
    }
}
