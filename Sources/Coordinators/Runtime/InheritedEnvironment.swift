import Glibc
import Processes

/// The part of this process's environment that children inherit, byte for byte.
///
/// It's read once, when the runtime is made: setenv(3) on another thread at the same moment would make the reading unsafe, and no lock of
/// the C library prevents that.
struct InheritedEnvironment: Sendable {
    /// The variables that systemd sets for this process alone, see sd_notify(3), sd_listen_fds(3) and sd_watchdog_enabled(3), and those
    /// that this process's parent has set.
    private static let own = [
        "NOTIFY_SOCKET", "LISTEN_FDS", "LISTEN_PID", "LISTEN_FDNAMES", "WATCHDOG_PID", "WATCHDOG_USEC", ProcessMark.variable,
    ]
    private static let ownPrefixes = (own + WorkerEnvironment.variables).map { Array("\($0)=".utf8) }

    /// The entries in the form `NAME=value`, which need not be UTF-8.
    let entries: [[UInt8]]

    init(_ entries: [[UInt8]]) {
        // Each process of coordinators does this at its start, so names aren't made into strings for it.
        self.entries = entries.filter { entry in !Self.ownPrefixes.contains { entry.starts(with: $0) } }
    }

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
}
