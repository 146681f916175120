import ConcurrencySupport
import Glibc
import TestSupport
import Testing

/// A socket such as systemd has for each service, which keeps what is sent to it.
final class NotifySocket: Sendable {
    private let directory: TemporaryDirectory
    private let descriptor: Int32
    private let received = Lock<[String]>([])

    var path: String { directory.file("notify") }

    init() throws {
        directory = try TemporaryDirectory()
        descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue) | Int32(SOCK_NONBLOCK.rawValue), 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        // Unsafe: the path is a fixed array of the C structure.
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
        let result = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size)) }
        }
        try #require(result == 0)
    }

    deinit { close(descriptor) }

    /// The lines that have been sent so far, in order, without the times.
    var lines: [String] {
        var buffer = [UInt8](repeating: 0, count: 65_536)
        return received.withLock { received in
            while case let count = recv(descriptor, &buffer, buffer.count, 0), count > 0 {
                received += String(decoding: buffer[..<count], as: UTF8.self).split(separator: "\n").map(String.init)
            }
            return received
        }
    }

    /// The number of signs of life so far.
    var signs: Int { lines.count { $0 == "WATCHDOG=1" } }

    /// The phases in order: what isn't a state, a time, or a sign of life.
    var phases: [String] {
        lines.filter { line in !["STATUS=", "EXTEND_TIMEOUT_USEC=", "WATCHDOG=", "MONOTONIC_USEC="].contains { line.hasPrefix($0) } }
    }

    /// The states in order.
    var states: [String] { lines.filter { $0.hasPrefix("STATUS=") }.map { String($0.dropFirst(7)) } }
}
