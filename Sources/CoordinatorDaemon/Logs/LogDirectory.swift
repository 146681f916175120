import Glibc
import Processes

/// The directory of the log files whose place isn't configured.
struct LogDirectory {
    /// The directory of a daemon that runs as a service of the system, and of its logs.
    private static let (service, serviceLogs) = ("/run/coordinator", "/var/log/coordinator")

    let path: String

    init(path: String) { self.path = path }

    /// Chooses the directory: systemd's `LogsDirectory=`, that of the packages if the runtime directory is theirs and it's there, systemd's
    /// `StateDirectory=`, and else the runtime directory, which often is in memory.
    ///
    /// - Parameter variable: Returns a variable of the environment.
    init(_ runtime: RuntimeDirectory, _ variable: (String) -> String? = Self.environment) {
        // A daemon below another one isn't the process that systemd has started.
        let isService = variable("SYSTEMD_EXEC_PID").map { $0 == "\(getpid())" } ?? true
        func first(_ name: String) -> String? { isService ? variable(name)?.split(separator: ":").first.map(String.init) : nil }
        if let logs = first("LOGS_DIRECTORY") {
            path = logs
        } else if runtime.path == Self.service, access(Self.serviceLogs, W_OK | X_OK) == 0 {
            path = Self.serviceLogs
        } else if let state = first("STATE_DIRECTORY") {
            path = "\(state)/logs"
        } else {
            path = runtime.file("logs")
        }
    }

    static func environment(_ name: String) -> String? { getenv(name).map { String(cString: $0) } }

    /// Whether the directory, or that in which it's made, is in memory: what is there is gone with the next boot.
    var isInMemory: Bool {
        var path = path
        while true {
            if let isInMemory = MemoryFile.isFileSystem(at: path) { return isInMemory }
            guard let slash = path.lastIndex(of: "/"), slash > path.startIndex else { return false }
            path = String(path[..<slash])
        }
    }
}
