import Glibc

/// The messages of a worker before its log exists, or after its end.
enum Diagnostics {
    static func print(_ message: String) {
        let line = Array("\(CommandLine.arguments.first ?? "worker")[\(getpid())]: \(message)\n".utf8)
        _ = write(STDERR_FILENO, line, line.count)
    }
}
