import Glibc
import Synchronization
import WireProtocol

@testable import ConcurrencySupport
@testable import Coordinators
@testable import Links

/// libFuzzer's entry: the bytes decide which frames a peer of this process gets, over a real link.
@_cdecl("LLVMFuzzerTestOneInput")
public func testOneInput(_ bytes: UnsafePointer<UInt8>, _ count: Int) -> CInt {
    // Unsafe: libFuzzer's bytes are good for as long as this call takes.
    Bench.shared.run(Array(UnsafeBufferPointer(start: bytes, count: count)))
    return 0
}

/// The runtime in which a peer is made for each input.
final class Bench: Sendable {
    static let shared = Bench()

    private let listener: LinkListener
    private let (peers, arrivals) = AsyncStream.makeStream(of: Peer.self, bufferingPolicy: .bufferingNewest(1))
    private let received = Mutex<UInt64>(0)

    private init() {
        guard let listener = try? LinkListener(address: "ipc:///tmp/peer-fuzz-\(getpid()).sock") else { fatalError("there is no socket") }
        self.listener = listener
        Task { await self.serve() }
    }

    private func serve() async {
        await listener.run { [self] link, hello in
            let peer = Peer(
                link,
                with: hello.processID % 4 < 2 ? .parent : .child("/fuzz"),
                codec: hello.processID % 2 == 0 ? .json : .compact,
                name: "/fuzz",
                announcesCredit: hello.processStartTime % 2 == 0,
                counts: LiveCounts(),
                owner: Peer.Owner(
                    messagesReceived: { envelope, _, _ in Self.handle(envelope) },
                    inspected: { _, _, payload in payload },
                    notified: { _, codec, payload in Self.read(payload, codec) },
                    frameReceived: { _ in },
                    closed: { _ in }
                )
            )
            arrivals.yield(peer)
            link.hand(over: peer.handler)
        }
    }

    /// Sends what the bytes stand for, and returns when it has been read or refused.
    func run(_ bytes: [UInt8]) {
        let semaphore = Waiting()
        Task {
            await self.play(bytes)
            semaphore.signal()
        }
        semaphore.wait()
    }

    private func play(_ bytes: [UInt8]) async {
        guard let link = try? await Link.dial(listener.address) else { return }
        let end = OneShot<Void>()
        link.start(
            Link.Handler(
                frameReceived: { _, frame in if frame.correlation == Self.last { end.settle(()) } },
                closed: { _, _ in end.settle(()) }
            )
        )
        var frames = SenselessFrames(BytesAsDice(bytes))
        let (codec, credit) = (frames.coin(), frames.coin())
        let hello = Hello(
            secret: [],
            processID: codec ? 1 : 2,
            processStartTime: credit ? 1 : 2,
            buildID: "",
            maximumFrameSize: 1 << 20
        )
        try? link.send(Frame(.hello(hello)), lane: .control)
        frames.beginLink()
        let peer = await nextPeer()
        peer.link.useParts(upTo: 1 << 20, and: 0)
        for number in 0..<8 { ask(peer, number) }
        // A frame takes some ten bytes.
        for _ in 0..<max(bytes.count / 8, 1) {
            try? link.send(lane: frames.usesParts || frames.coin() ? .bulk : .control) { frames.next($0) }
        }
        try? link.send(Frame(.ping(Probe(timestampNanoseconds: 0, kind: .link)), correlation: Self.last))
        await end.value
        link.close()
        peer.close()
        let isEmpty = peer.state.withLock { $0.outgoing.count == 0 && $0.incoming.isEmpty }
        precondition(isEmpty, "asks are left open on a link that has closed")
    }

    private static let last: UInt64 = 1 << 63

    private func nextPeer() async -> Peer {
        for await peer in peers { return peer }
        fatalError("peers come until the process ends")
    }

    private func ask(_ peer: Peer, _ number: Int) {
        let envelope = Envelope(
            .encoded(name: "ask \(number)", .json, Payload([0x7B, 0x7D])),
            sender: "/fuzz",
            deadline: nil,
            isOneWay: number % 3 == 0,
            flow: number % 2 == 0 ? ReplyFlow { _ in 0 } : nil
        )
        _ = peer.forward(envelope, to: number % 2 == 0 ? "" : "/fuzz", isDirect: false)
    }

    private static func handle(_ envelope: Envelope) {
        switch envelope.body.name.utf8.count % 4 {
        case 0: envelope.complete(.success(.none))
        case 1: envelope.end(.failure(CoordinatorError(.unhandled, "nobody")))
        case 2:
            for number in 0..<100 { _ = try? envelope.flow?.pass(.value(number)) }
            envelope.complete(.success(.none))
        default: break
        }
    }

    private static let letters = DeadLetters(instruments: Instruments([], tap: Tap(uplink: nil)), uplink: nil)

    private static func read(_ payload: Bytes, _ codec: PayloadCodec) {
        if let report = try? PayloadCoder.decode(DeadLetterReport.self, from: payload, codec: codec) { letters.add(report) }
        _ = try? PayloadCoder.decode(TreeEvent.self, from: payload, codec: codec)
    }
}

/// A thread that waits for a task.
private final class Waiting: @unchecked Sendable {
    // Unsafe: a semaphore of the C library, which is made for several threads.
    private let semaphore = UnsafeMutablePointer<sem_t>.allocate(capacity: 1)

    init() { sem_init(semaphore, 0, 0) }

    deinit {
        sem_destroy(semaphore)
        semaphore.deallocate()
    }

    func signal() { sem_post(semaphore) }
    func wait() { sem_wait(semaphore) }
}
