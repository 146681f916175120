import Control
import Glibc

/// The daemon's executable, which does for a command what needs the reader of configuration files.
enum DaemonExecutable {
    private static let name = "coordinatord"

    /// Replaces this process with the daemon's executable, which is beside this one, or in `PATH`.
    ///
    /// The executable keeps the standard descriptors, the working directory and the process, so that its output and its exit code are the
    /// command's.
    ///
    /// - Returns: only when it can't be run: the reason.
    static func run(_ arguments: [String]) -> ControlError {
        // SIGPIPE and the mask of signals are inherited; this command leaves both as they were.
        for path in [beside].compactMap(\.self) + [name] {
            var vector = ([name] + arguments).map { strdup($0) } + [nil]
            defer { for argument in vector { free(argument) } }
            // execvp(3) searches PATH for a name without a slash.
            execvp(path, &vector)
            let error = errno
            guard error == ENOENT else {
                return ControlError(.failed, "\(path) can't be run: \(String(cString: strerror(error)))")
            }
        }
        let message = "there is no \(name) beside coordinatorctl or in PATH, which is what reads configuration files; install it"
        return ControlError(.failed, message)
    }

    /// The path beside this process's executable; nil when that is unknown.
    private static var beside: String? {
        var buffer = [CChar](repeating: 0, count: Int(PATH_MAX))
        let length = readlink("/proc/self/exe", &buffer, buffer.count)
        guard length > 0 else { return nil }
        let path = String(decoding: buffer[..<length].map { UInt8(bitPattern: $0) }, as: UTF8.self)
        return path.lastIndex(of: "/").map { "\(path[...$0])\(name)" }
    }
}
