import Glibc
import Links
import WireProtocol

/// A parent that a test plays: it listens for workers, and does with each link what the test says.
final class PlayedParent: Sendable {
    private let listener: LinkListener
    private let serving: Task<Void, Never>

    var address: String { listener.address }

    /// - Parameter attach: Says something on a link, and returns what takes its frames.
    init(_ attach: @escaping @Sendable (Link) throws -> @Sendable (Link, Frame) -> Void) throws {
        let listener = try LinkListener(address: Self.freshAddress())
        self.listener = listener
        serving = Task {
            await listener.run { link, _ in link.hand(over: Link.Handler(frameReceived: try attach(link), closed: { _, _ in })) }
        }
    }

    func close() {
        listener.close()
        serving.cancel()
    }

    /// An address at which nobody has listened yet.
    static func freshAddress() -> String { "ipc:///tmp/parent-\(getpid())-\(UInt32.random(in: .min ... .max)).sock" }

    /// The ticket of a worker whose parent listens at an address.
    static func ticket(_ address: String, orphanGraceMilliseconds: UInt32 = 0, epoch: UInt32 = 0) -> Ticket {
        Ticket(
            address: address,
            secret: [1],
            path: "/worker",
            incarnation: 1,
            parentProcessID: getpid(),
            isStrict: false,
            orphanGraceMilliseconds: orphanGraceMilliseconds,
            epoch: epoch
        )
    }
}

extension Link {
    func welcome(maximumFrameSize: UInt32 = 1 << 20, maximumMessageSize: UInt64 = 0, epoch: UInt32 = 0) throws {
        let welcome = Welcome(buildID: "", maximumFrameSize: maximumFrameSize, heartbeatMilliseconds: 0)
        try send(Frame(.welcome(welcome), sequence: maximumMessageSize, epoch: epoch), lane: .control)
    }
}
