import Glibc
import NNG
import TestSupport

extension TemporaryDirectory {
    /// A directory, and a listener at its `url()`.
    static func withListener() throws -> (TemporaryDirectory, StreamListener) {
        let directory = try TemporaryDirectory()
        return (directory, try StreamListener(directory.url()))
    }

    func url(_ name: String = "s") -> String { "ipc://\(path)/\(name)" }

    /// The sockets of this process that were bound in this directory or are connected to one that was.
    var socketCount: Int {
        Files.numbers(in: "/proc/self/fd").count { number in
            [getsockname, getpeername].contains { Self.socketPath(Int32(number), $0).hasPrefix(path) }
        }
    }

    /// The descriptor of this process's socket that is connected to the one with this path.
    static func socket(connectedTo path: String) -> Int32? {
        Files.numbers(in: "/proc/self/fd").map { Int32($0) }.first { socketPath($0, getpeername) == path }
    }

    private static func socketPath(
        _ descriptor: Int32,
        _ name: (Int32, UnsafeMutablePointer<sockaddr>, UnsafeMutablePointer<socklen_t>) -> Int32
    ) -> String {
        var address = sockaddr_un()
        var length = socklen_t(MemoryLayout<sockaddr_un>.size)
        let result = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { name(descriptor, $0, &length) }
        }
        guard result == 0, address.sun_family == sa_family_t(AF_UNIX), length > 2 else { return "" }
        return withUnsafeBytes(of: address.sun_path) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
    }
}
