import Glibc
import Processes

/// The part of this process's environment that children inherit, byte for byte.
///
/// It's read once, when the runtime is made: setenv(3) on another thread at the same moment would make the reading unsafe, and no lock of
/// the C library prevents that.
struct InheritedEnvironment: Sendable {
    /// The variables that systemd sets for this process alone, see sd_notify(3), sd_listen_fds(3) and sd_watchdog_enabled(3), and those
    /// that this process's parent has set.
    private static let own = WorkerEnvironment.variables.union([
        "NOTIFY_SOCKET", "LISTEN_FDS", "LISTEN_PID", "LISTEN_FDNAMES", "WATCHDOG_PID", "WATCHDOG_USEC", ProcessMark.variable,
    ])

    /// The entries in the form `NAME=value`, which need not be UTF-8.
    let entries: [[UInt8]]

    init(_ entries: [[UInt8]]) { self.entries = entries.filter { !Self.own.contains(Self.name(of: $0)) } }

    static func inherited() -> InheritedEnvironment {
        var entries: [[UInt8]] = []
        var entry = environ
        while let text = entry.pointee {
            entries.append(UnsafeBufferPointer(start: text, count: strlen(text)).map { UInt8(bitPattern: $0) })
            entry += 1
        }
        return InheritedEnvironment(entries)
    }

    subscript(name: String) -> String? {
        let prefix = Array("\(name)=".utf8)
        return entries.first { $0.starts(with: prefix) }.map { String(decoding: $0.dropFirst(prefix.count), as: UTF8.self) }
    }

    private static func name(of entry: [UInt8]) -> String { String(decoding: entry.prefix { $0 != UInt8(ascii: "=") }, as: UTF8.self) }
}
