import FoundationEssentials

/// Where a daemon and its operators meet: the directory of the control socket.
public struct RuntimeDirectory: Hashable, Sendable {
    /// The longest path of a Unix socket, in bytes: `sun_path` of unix(7) less its terminating zero.
    public static let maximumSocketPathLength = 107

    /// The directory.
    public let path: String

    /// The control socket in it.
    public var controlSocket: String { Self.join(path, "control.sock") }

    /// Takes a directory as it is.
    ///
    /// - Throws: `.invalidRequest` when the path is empty, has a NUL, or leaves too little room for the socket's name.
    public init(path: String) throws(ControlError) {
        guard !path.isEmpty, !path.utf8.contains(0) else {
            throw ControlError(.invalidRequest, "the runtime directory is empty or contains NUL; name one with --runtime-dir")
        }
        self.path = path
        let socket = Self.join(path, "control.sock")
        guard socket.utf8.count <= Self.maximumSocketPathLength else {
            throw ControlError(
                .invalidRequest,
                "the control socket's path \(socket) has \(socket.utf8.count) bytes, and a Unix socket's path has at most "
                    + "\(Self.maximumSocketPathLength); name a shorter runtime directory with --runtime-dir"
            )
        }
    }

    /// The directory that daemon and operator agree on without talking: the option, else `COORDINATOR_RUNTIME_DIR`, else
    /// `$XDG_RUNTIME_DIR/coordinator`, else `/run/coordinator`.
    ///
    /// Empty variables count as absent, and so does a relative `XDG_RUNTIME_DIR`, as the XDG specification wants:
    /// https://specifications.freedesktop.org/basedir-spec/latest/
    ///
    /// - Parameters:
    ///   - option: the value of `--runtime-dir`.
    ///   - environment: nil means the process's own.
    /// - Throws: `.invalidRequest` when the path can't hold a socket.
    public static func resolve(
        option: String?,
        environment: [String: String]? = nil
    ) throws(ControlError) -> RuntimeDirectory {
        let environment = environment ?? ProcessInfo.processInfo.environment
        if let option { return try RuntimeDirectory(path: option) }
        if let path = environment["COORDINATOR_RUNTIME_DIR"], !path.isEmpty { return try RuntimeDirectory(path: path) }
        if let base = environment["XDG_RUNTIME_DIR"], base.hasPrefix("/") {
            return try RuntimeDirectory(path: join(base, "coordinator"))
        }
        return try RuntimeDirectory(path: "/run/coordinator")
    }

    /// The same directory, whatever the working directory of who uses it.
    ///
    /// - Throws: `.invalidRequest` when the path can't hold a socket, `.failed` when there is no working directory.
    public func absolute() throws(ControlError) -> RuntimeDirectory {
        guard !path.hasPrefix("/") else { return self }
        let working = FileManager.default.currentDirectoryPath
        guard working.hasPrefix("/") else {
            throw ControlError(
                .failed,
                "the working directory is gone, and the runtime directory \(path) is relative to it; name it absolutely"
            )
        }
        return try RuntimeDirectory(path: Self.join(working, path))
    }

    private static func join(_ directory: String, _ name: String) -> String {
        directory.hasSuffix("/") ? directory + name : directory + "/" + name
    }
}
