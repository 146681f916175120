import Glibc

/// A directory that only this user may write to: another user with write access could put a process of their own in the place of one that
/// is expected there.
public enum PrivateDirectory {
    /// The reason why a directory can't be used.
    public struct Problem: Error, Sendable {
        /// Whether the directory exists and another user owns it or could change it.
        public let isUnsafe: Bool
        /// A description of what is wrong, where, and what to do about it.
        public let message: String
        /// Whether it can't be used because of who this user is: it's unsafe, or permissions are missing to make or to reach it.
        public let isNotPermitted: Bool

        init(isUnsafe: Bool, message: String, errno: Int32 = 0) {
            (self.isUnsafe, self.message) = (isUnsafe, message)
            isNotPermitted = isUnsafe || errno == EACCES || errno == EPERM
        }
    }

    /// Makes the directory with mode 0700, unless it exists, and checks that only this user may write to it.
    ///
    /// - Parameters:
    ///   - path: The path, without a slash at its end: with one, a link would count as its target.
    ///   - option: The way to name another directory, for the message, such as ` with --runtime-dir`.
    public static func prepare(_ path: String, option: String = "") throws(Problem) {
        let isOurs: Bool
        do throws(FilePlace.Failure) {
            let place = try FilePlace(path, for: .runtimeDirectory)
            isOurs = place.otherOwner == nil
            if isOurs { try place.makeDirectory() }
        } catch {
            let remedy = error.isUnsafe ? "" : "; make its parent, or name another\(option)"
            let action = error.isUnsafe ? "use" : "make"
            let message = "can't \(action) the runtime directory \(path): \(error)\(remedy)"
            throw Problem(isUnsafe: error.isUnsafe, message: message, errno: error.errno)
        }
        guard isOurs else {
            let reason = "another user owns a directory on its way, and could replace it"
            throw Problem(isUnsafe: true, message: "can't use the runtime directory \(path): \(reason); name another\(option)")
        }
        try authenticate(path, option)
    }

    private static func authenticate(_ path: String, _ option: String) throws(Problem) {
        let name = "the runtime directory \(path)"
        var status = stat()
        // The link itself, not its target: a user who may replace the link could choose another directory later.
        guard lstat(path, &status) == 0, status.st_mode & S_IFMT != S_IFLNK else {
            throw Problem(
                isUnsafe: true,
                message: "\(name) is a symbolic link, which may lead elsewhere later; name its target\(option)"
            )
        }
        guard status.st_mode & S_IFMT == S_IFDIR else {
            throw Problem(isUnsafe: false, message: "\(name) isn't a directory; name another\(option)")
        }
        guard status.st_uid == geteuid() else {
            let users = "belongs to user \(status.st_uid), and this is user \(geteuid())"
            throw Problem(isUnsafe: true, message: "\(name) \(users); name another\(option)")
        }
        guard status.st_mode & 0o022 == 0 else {
            throw Problem(isUnsafe: true, message: "others may write to \(name); mend it with `chmod 700 \(path)`")
        }
    }
}

/// The directory in which a tree's processes, its daemon and its operators meet: it holds their sockets.
///
/// A value names the directory; ``PrivateDirectory`` makes and checks it.
public struct RuntimeDirectory: Hashable, Sendable {
    /// The length of the longest path that a Unix socket can have, in bytes: `sun_path` of unix(7) less its terminating zero.
    public static let maximumSocketPathLength = 107

    /// The directory's path.
    public let path: String

    /// Creates a value that names a directory; neither checks the path nor makes the directory.
    public init(path: String) { self.path = path }

    /// Returns the path of a file in the directory.
    public func file(_ name: String) -> String { path.hasSuffix("/") ? path + name : "\(path)/\(name)" }

    /// Returns the same directory by a path that means the same in every working directory, without slashes at its end.
    ///
    /// A symbolic link with a slash behind it would count as what it leads to.
    ///
    /// - Returns: nil when the path is relative and the working directory is gone.
    public func absolute() -> RuntimeDirectory? {
        var path = path
        if !path.hasPrefix("/") {
            guard let working = getcwd(nil, 0) else { return nil }
            defer { free(working) }
            let directory = String(cString: working)
            // Linux marks the path of a directory that can't be reached from the root.
            guard directory.hasPrefix("/") else { return nil }
            path = RuntimeDirectory(path: directory).file(path)
        }
        while path.utf8.count > 1, path.hasSuffix("/") { path.removeLast() }
        return RuntimeDirectory(path: path)
    }
}
