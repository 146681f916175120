import Glibc
public import Processes

extension RuntimeDirectory {
    /// The path of the control socket.
    public var controlSocket: String { file("control.sock") }

    /// Returns the directory that a daemon and its operators agree on: the option, else `COORDINATOR_RUNTIME_DIR`, else
    /// `$XDG_RUNTIME_DIR/coordinator`, else `/run/coordinator`.
    ///
    /// Empty variables count as absent, and so does a relative `XDG_RUNTIME_DIR`, as the XDG specification requires:
    /// https://specifications.freedesktop.org/basedir-spec/latest/
    ///
    /// - Parameters:
    ///   - option: the value of `--runtime-dir`.
    ///   - environment: the variables; nil means the process's own.
    /// - Throws: `.invalidRequest` when the path is empty, has a NUL, or leaves too little room for the control socket's name.
    public static func resolve(
        option: String?,
        environment: [String: String]? = nil
    ) throws(ControlError) -> RuntimeDirectory {
        func variable(_ name: String) -> String? {
            if let environment { return environment[name] }
            return getenv(name).map { String(cString: $0) }
        }
        let directory =
            if let option {
                RuntimeDirectory(path: option)
            } else if let path = variable("COORDINATOR_RUNTIME_DIR"), !path.isEmpty {
                RuntimeDirectory(path: path)
            } else if let base = variable("XDG_RUNTIME_DIR"), base.hasPrefix("/") {
                RuntimeDirectory(path: RuntimeDirectory(path: base).file("coordinator"))
            } else {
                RuntimeDirectory(path: "/run/coordinator")
            }
        try directory.checkControlSocket()
        return directory
    }

    /// Returns the same directory by a path that means the same in every working directory.
    ///
    /// - Throws: `.invalidRequest` when the path can't hold the control socket, `.failed` when there is no working directory.
    public func resolvingWorkingDirectory() throws(ControlError) -> RuntimeDirectory {
        guard let directory = absolute() else {
            throw ControlError(
                .failed,
                "the working directory is gone, and the runtime directory \(path) is relative to it; name it absolutely"
            )
        }
        try directory.checkControlSocket()
        return directory
    }

    private func checkControlSocket() throws(ControlError) {
        guard !path.isEmpty, !path.utf8.contains(0) else {
            throw ControlError(.invalidRequest, "the runtime directory is empty or contains NUL; name one with --runtime-dir")
        }
        guard controlSocket.utf8.count <= Self.maximumSocketPathLength else {
            throw ControlError(
                .invalidRequest,
                "the control socket's path \(controlSocket) has \(controlSocket.utf8.count) bytes, and a Unix socket's path has at most "
                    + "\(Self.maximumSocketPathLength); name a shorter runtime directory with --runtime-dir"
            )
        }
    }
}
