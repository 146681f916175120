import ConcurrencySupport
import FoundationEssentials
import Glibc

/// The daemon's word to the program that has started it and wants to know how it is, such as systemd.
///
/// Follows https://www.freedesktop.org/software/systemd/man/latest/sd_notify.html. Without the variable `NOTIFY_SOCKET` nothing is sent. The
/// daemon's children don't inherit the variable, and those that are to report get a socket of the daemon's own.
final class ServiceNotifier: Sendable {
    private enum Phase {
        /// Children start for the first time. Can transition to: ready, stopping.
        case starting
        /// The tree runs. Can transition to: reloading, stopping.
        case ready
        /// A configuration is applied, or another program takes this one's place. Can transition to: ready, stopping.
        case reloading
        /// The tree stops. Final.
        case stopping
    }

    private struct State {
        var phase = Phase.starting
        var status = ""
    }

    /// The time that the receiver is given to take a datagram, when it has many to read.
    private static let patience = timeval(tv_sec: 0, tv_usec: 500_000)

    private let socketPath: String?
    /// The time within which a sign of life is expected, again and again; nil when none is.
    let watchdog: Duration?
    private let state = Lock(State())

    /// - Parameter environment: the variables; nil means the process's own.
    init(environment: [String: String]? = nil) {
        let environment = environment ?? ProcessInfo.processInfo.environment
        // Other addresses than paths and abstract names are those of virtual machines.
        socketPath = environment["NOTIFY_SOCKET"].flatMap { $0.hasPrefix("/") || $0.hasPrefix("@") ? $0 : nil }
        // Set for another process when this one was started by a program that doesn't know the variables.
        let isForUs = environment["WATCHDOG_PID"].map { $0 == String(getpid()) } ?? true
        let microseconds = environment["WATCHDOG_USEC"].flatMap { Int64($0) } ?? 0
        watchdog = isForUs && microseconds > 0 ? .microseconds(min(microseconds, 365 * 86_400 * 1_000_000)) : nil
    }

    /// Whether there is a receiver.
    var isHeard: Bool { socketPath != nil }

    /// Tells that all children have been started; the second call does nothing.
    func ready(_ status: String) {
        state.withLock { state in
            guard case .starting = state.phase else { return }
            (state.phase, state.status) = (.ready, status)
            send("READY=1\nMAINPID=\(getpid())\nSTATUS=\(status)")
        }
    }

    /// Asks for more time to become ready, from now on.
    func extendStart(by time: Duration, _ status: String) {
        state.withLock { state in
            guard case .starting = state.phase else { return }
            state.status = status
            send("EXTEND_TIMEOUT_USEC=\(time.wholeMicroseconds)\nSTATUS=\(status)")
        }
    }

    /// Tells that the daemon changes and soon is ready again, if the tree runs.
    ///
    /// When another program takes this one's place, in the same process, that program's ``ready(_:)`` tells the end.
    func reloading(_ status: String) {
        state.withLock { state in
            guard case .ready = state.phase else { return }
            state.phase = .reloading
            var now = timespec()
            clock_gettime(CLOCK_MONOTONIC, &now)
            send(
                "RELOADING=1\nMONOTONIC_USEC=\(Int64(now.tv_sec) * 1_000_000 + Int64(now.tv_nsec) / 1_000)\nSTATUS=\(status)"
            )
        }
    }

    /// Tells that what ``reloading()`` has announced has ended.
    func reloaded() {
        state.withLock { state in
            guard case .reloading = state.phase else { return }
            state.phase = .ready
            send("READY=1\nSTATUS=\(state.status)")
        }
    }

    /// Tells that the tree stops; the second call does nothing.
    ///
    /// - Parameter time: the time that the children may take by their configuration.
    func stopping(_ time: Duration) {
        state.withLock { state in
            if case .stopping = state.phase { return }
            state.phase = .stopping
            send("STOPPING=1\nSTATUS=stopping the tree\nEXTEND_TIMEOUT_USEC=\(time.wholeMicroseconds)")
        }
    }

    /// Tells the state of the tree, if it differs from what was told before.
    func status(_ status: String) {
        state.withLock { state in
            guard case .ready = state.phase, state.status != status else { return }
            state.status = status
            send("STATUS=\(status)")
        }
    }

    /// Gives a sign of life.
    func alive() { send("WATCHDOG=1") }

    /// Sends a datagram; what can't be sent is lost, since the daemon serves its children whether it's heard or not.
    private func send(_ text: String) {
        guard let socketPath else { return }
        let descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { return }
        defer { close(descriptor) }
        var patience = Self.patience
        setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &patience, socklen_t(MemoryLayout<timeval>.size))
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        // An abstract name begins with NUL, which is written as @.
        let path = socketPath.hasPrefix("@") ? [0] + socketPath.utf8.dropFirst() : Array(socketPath.utf8)
        guard path.count < MemoryLayout.size(ofValue: address.sun_path) else { return }
        // Unsafe: the path is a fixed array of the C structure.
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path) }
        let length = MemoryLayout<sa_family_t>.size + path.count + (path.first == 0 ? 0 : 1)
        let bytes = Array(text.utf8)
        // Unsafe: sendto takes the address of any family.
        _ = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                sendto(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL), $0, socklen_t(length))
            }
        }
    }
}
