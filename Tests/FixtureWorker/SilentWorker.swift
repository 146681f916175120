import Fixtures
import Glibc
import Links
import WireProtocol

/// A worker that does the least that a worker must: it's started, answers pings, ends when told, and says nothing of itself.
enum SilentWorker {
    static func run() async throws -> Never {
        var buffer = [UInt8](repeating: 0, count: 4_096)
        let count = read(3, &buffer, buffer.count)
        let ticket = try Ticket(decoding: Array(buffer[..<max(count, 0)]))
        let link = try await Link.dial(ticket.address)
        link.start(
            Link.Handler(
                frameReceived: { link, frame in
                    switch frame.content {
                    case .start: try? link.send(Frame(.ready, incarnation: ticket.incarnation))
                    case .ping(let probe): try? link.send(Frame(.pong(probe), correlation: frame.correlation))
                    case .stop, .goodbye: exit(0)
                    default: break
                    }
                },
                closed: { _, _ in exit(0) }
            )
        )
        let hello = Hello(secret: ticket.secret, processID: getpid(), processStartTime: 0, buildID: "silent", maximumFrameSize: 1 << 20)
        try link.send(Frame(.hello(hello)))
        while true { await Fixture.forever() }
    }
}
