import Glibc
public import Processes

extension RuntimeDirectory {
    /// The path of the control socket.
    public var controlSocket: String { file("control.sock") }

    /// Returns the directory of a daemon that is about to start: the option, else `COORDINATOR_RUNTIME_DIR`, else
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
        let directory = candidates(option, environment)[0]
        try directory.checkControlSocket()
        return directory
    }

    /// Returns the directory of a daemon that runs: the one of ``resolve(option:environment:)``, but where none is named and the user's own
    /// has no control socket, that of the system's daemon, if there is one.
    ///
    /// A login session has `XDG_RUNTIME_DIR`, and the daemon of the system's service is in `/run/coordinator` all the same. A directory that
    /// this user may not look into counts as one with a socket if no other has one: after su(1) the variable may be another user's.
    ///
    /// - Parameters: as ``resolve(option:environment:)``.
    /// - Throws: as ``resolve(option:environment:)``.
    public static func find(option: String?, environment: [String: String]? = nil) throws(ControlError) -> RuntimeDirectory {
        try find(option: option, environment: environment) { $0.socketLook }
    }

    /// Finds the directory by a look of the caller's own into each in which a daemon may be.
    package static func find(
        option: String?,
        environment: [String: String]?,
        look: (RuntimeDirectory) -> SocketLook
    ) throws(ControlError) -> RuntimeDirectory {
        let candidates = candidates(option, environment)
        let looks = candidates.map(look)
        let index = looks.firstIndex(of: .present) ?? looks.lastIndex(of: .hidden) ?? 0
        let directory = candidates[index]
        try directory.checkControlSocket()
        return directory
    }

    /// Returns the directories in which a daemon may be, the first of them that of one that is about to start.
    private static func candidates(_ option: String?, _ environment: [String: String]?) -> [RuntimeDirectory] {
        func variable(_ name: String) -> String? {
            if let environment { return environment[name] }
            return getenv(name).map { String(cString: $0) }
        }
        if let option { return [RuntimeDirectory(path: option)] }
        if let path = variable("COORDINATOR_RUNTIME_DIR"), !path.isEmpty { return [RuntimeDirectory(path: path)] }
        let system = RuntimeDirectory(path: "/run/coordinator")
        guard let base = variable("XDG_RUNTIME_DIR"), base.hasPrefix("/") else { return [system] }
        return [RuntimeDirectory(path: RuntimeDirectory(path: base).file("coordinator")), system]
    }

    /// What a look for a control socket finds.
    package enum SocketLook: CaseIterable, Sendable {
        case present, absent
        /// This user may not look there.
        case hidden
    }

    /// A look for the control socket; it counts as present while another program takes the daemon's place, when there is none for a moment.
    package var socketLook: SocketLook {
        var status = stat()
        if stat(controlSocket, &status) == 0 { return .present }
        if errno == EACCES { return .hidden }
        // The next daemon makes its socket before it removes the marker.
        return UpgradeMarker(self).isSet || stat(controlSocket, &status) == 0 ? .present : .absent
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
