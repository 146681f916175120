import ConcurrencySupport
import Glibc
import Links
import TestSupport
import WireProtocol

/// Two ends of a link, over a real socket.
final class LinkPair: Sendable {
    let child: Link
    let parent: Link
    private let listener: LinkListener
    private let received: Received
    private let serving: Task<Void, Never>

    /// The frames that the parent's end has received.
    private final class Received: Sendable {
        let frames = Lock<[Frame]>([])
        let names = Lock<[UInt64: String]>([:])
    }

    /// The subject of each event as it stood when the frame was read, by correlation.
    var namesAsRead: [UInt64: String] { received.names.withLock { $0 } }

    static func freshAddress() -> String {
        "ipc:///tmp/links-test-\(getpid())-\(UInt32.random(in: .min ... .max)).sock"
    }

    static func with(_ body: (LinkPair) async throws -> Void) async throws {
        let pair = try await LinkPair()
        defer {
            pair.child.close()
            pair.listener.close()
            pair.serving.cancel()
        }
        try await body(pair)
    }

    private init() async throws {
        let listener = try LinkListener(address: Self.freshAddress())
        let received = Received()
        let (links, accepted) = AsyncStream.makeStream(of: Link.self)
        serving = Task {
            await listener.run { link, _ in
                link.hand(
                    over: Link.Handler(
                        frameReceived: { link, frame in
                            if case .event(let event) = frame.content {
                                received.names.withLock { $0[frame.correlation] = link.text(of: event.subject) }
                            }
                            received.frames.withLock { $0.append(frame) }
                        },
                        closed: { _, _ in }
                    )
                )
                accepted.yield(link)
            }
        }
        child = try await Link.dial(listener.address)
        child.start(Link.Handler(frameReceived: { _, _ in }, closed: { _, _ in }))
        try child.send(Frame(.hello(Hello(secret: [], processID: 1, processStartTime: 1, buildID: "", maximumFrameSize: 1))))
        var iterator = links.makeAsyncIterator()
        guard let parent = await iterator.next() else { throw LinkError(.closed, "nobody came") }
        self.parent = parent
        self.listener = listener
        self.received = received
    }

    /// Waits until the parent's end has received so many frames, at most twenty seconds.
    func parentReceived(_ count: Int) async -> [Frame] {
        // Counted in place: a copy held here would make every append copy all.
        _ = await eventually { received.frames.withLock { $0.count >= count } }
        return received.frames.withLock { $0 }
    }
}
