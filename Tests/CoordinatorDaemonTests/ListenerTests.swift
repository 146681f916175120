import Control
import Glibc
import TestSupport
import Testing

/// Connections that close as soon as they're made, as those of a peer that is killed, or of a probe.
///
/// One such connection ends a listener of nng 1.5.2 for good; streams, which this project uses, must not have that.
@Suite("Listeners that are only knocked at", .timeLimit(minutes: 5))
struct ListenerTests {
    private static let tree = """
        children:
          - name: app
            worker: { executable: FIXTURE, coordinator: RootCoordinator, configuration: { children: [a], placement: worker } }
        supervision: { strategy: one_for_one, max_restarts: 100, period: 10s, backoff: { minimum: 0s, maximum: 0s } }
        """

    @Test("After a thousand connections that close at once, each listener takes a worker, or an operator, as before")
    func knocked() async throws {
        try await RunningDaemon.with(Self.tree) { daemon in
            try await daemon.eventually("all are ready") { try await daemon.node("/app/a").state == "active" }
            // Those of the daemon, of the worker that has a worker, and of the operators.
            #expect(daemon.sockets.count == 3)
            for name in daemon.sockets {
                for _ in 0..<1_000 { try Self.knock(at: "\(daemon.directory)/run/\(name)") }
            }
            try await daemon.call(.ping)
            // Each path's next worker dials the socket of its parent.
            for path in ["/app/a", "/app"] {
                let before = try await daemon.node(path)
                kill(try #require(before.pid), SIGKILL)
                try await daemon.eventually("\(path) is there again") {
                    let after = try await daemon.node(path)
                    return after.state == "active" && after.incarnation == before.incarnation + 1
                }
            }
            try await daemon.eventually("all are ready again") { try await daemon.node("/app/a").state == "active" }
            #expect(daemon.sockets.count == 3)
        }
    }

    /// Connects, waiting while the listener's queue is full, and closes the connection.
    private static func knock(at path: String) throws {
        let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        try #require(descriptor >= 0)
        defer { close(descriptor) }
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { buffer in buffer.copyBytes(from: path.utf8.prefix(buffer.count - 1)) }
        let status = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size)) }
        }
        try #require(status == 0, "connect to \(path): \(String(cString: strerror(errno)))")
    }
}
