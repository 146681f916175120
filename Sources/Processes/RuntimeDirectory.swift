import Glibc

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
