import ConcurrencySupport
import Glibc
import Links
import TestSupport
import Testing
import WireProtocol

@testable import Coordinators

/// A peer of this process, and at the other end of its link a test that sends any frames.
final class RawPeer: Sendable {
    let peer: Peer
    /// The other end.
    let link: Link
    let counts: LiveCounts
    private let listener: LinkListener
    private let serving: Task<Void, Never>
    private let log: Log

    /// The frames and messages that have arrived at either end.
    final class Log: Sendable {
        let frames = Lock<[Frame]>([])
        let names = Lock<[UInt64: String]>([:])
        let envelopes = Lock<[Envelope]>([])
        let closed = Lock<LinkError?>(nil)
        /// The messages without a number whose loss the owner was told of.
        let lost = Lock<[String]>([])
        /// The other end reads no further while this is closed.
        let reading = ThreadGate(isOpen: true)
    }

    /// The handler of the owner's messages, which keeps them unless a test replaces it.
    typealias MessageReceived = @Sendable (_ envelope: Envelope, _ log: Log) -> Void

    static func with(
        announcesCredit: Bool = false,
        messageReceived: @escaping MessageReceived = { envelope, log in log.envelopes.withLock { $0.append(envelope) } },
        inspected: @escaping @Sendable () async throws -> JSONValue = { .null },
        notified: @escaping @Sendable (String, PayloadCodec, Bytes) -> Void = { _, _, _ in },
        _ body: (RawPeer) async throws -> Void
    ) async throws {
        let raw = try await RawPeer(announcesCredit, messageReceived, inspected, notified)
        defer {
            raw.peer.close()
            raw.link.close()
            raw.listener.close()
            raw.serving.cancel()
            for envelope in raw.envelopes { envelope.end(.failure(CancellationError())) }
        }
        try await body(raw)
    }

    private init(
        _ announcesCredit: Bool,
        _ messageReceived: @escaping MessageReceived,
        _ inspected: @escaping @Sendable () async throws -> JSONValue,
        _ notified: @escaping @Sendable (String, PayloadCodec, Bytes) -> Void
    ) async throws {
        let listener = try LinkListener(address: PlayedParent.freshAddress())
        let (log, counts) = (Log(), LiveCounts())
        let (peers, accepted) = AsyncStream.makeStream(of: Peer.self)
        serving = Task {
            await listener.run { link, _ in
                let peer = Peer(
                    link,
                    // What a child or a node may not send is another suite's.
                    with: .parent,
                    codec: .json,
                    name: "/raw",
                    announcesCredit: announcesCredit,
                    counts: counts,
                    owner: Peer.Owner(
                        messagesReceived: { envelope, _, _ in messageReceived(envelope, log) },
                        inspected: { _, _, _ in try await inspected() },
                        notified: notified,
                        frameReceived: { _ in },
                        messageLost: { envelope, _ in log.lost.withLock { $0.append(envelope.body.name) } },
                        closed: { error in log.closed.withLock { $0 = error } }
                    )
                )
                link.hand(over: peer.handler)
                accepted.yield(peer)
            }
        }
        link = try await Link.dial(listener.address)
        link.start(
            Link.Handler(
                frameReceived: { link, frame in
                    log.reading.pass()
                    switch frame.content {
                    case .ask(let ask): log.names.withLock { $0[frame.correlation] = link.text(of: ask.message) }
                    case .send(let send) where frame.correlation != 0:
                        log.names.withLock { $0[frame.correlation] = link.text(of: send.message) }
                    default: break
                    }
                    log.frames.withLock { $0.append(frame) }
                },
                closed: { _, _ in }
            )
        )
        try link.send(Frame(.hello(Hello(secret: [], processID: 1, processStartTime: 1, buildID: "", maximumFrameSize: 1 << 20))))
        var iterator = peers.makeAsyncIterator()
        guard let peer = await iterator.next() else { throw LinkError(.closed, "nobody came") }
        (self.peer, self.counts, self.listener, self.log) = (peer, counts, listener, log)
    }

    /// The frames that the other end has received.
    var frames: [Frame] { log.frames.withLock { $0 } }

    /// The names of the messages that it was asked.
    var asked: [UInt64: String] { log.names.withLock { $0 } }

    /// The messages that the peer's owner has.
    var envelopes: [Envelope] { log.envelopes.withLock { $0 } }

    /// Why the peer's link has closed, once it has.
    var closed: LinkError? { log.closed.withLock { $0 } }

    /// The messages without a number whose loss the peer's owner was told of.
    var lost: [String] { log.lost.withLock { $0 } }

    /// Has the other end read nothing for as long as the body takes.
    ///
    /// It stands still at a frame: without one it would read on, and put parts together, until the first message is whole.
    func withoutReading(_ body: () throws -> Void) async throws {
        log.reading.close()
        defer { log.reading.open() }
        peer.send(Frame(.ack))
        try await eventually("the other end stands still") { log.reading.isAwaited }
        try body()
    }

    /// The other end asks.
    func ask(_ name: String, _ correlation: UInt64, bytes: Int = 2, trace: Bytes = [], flags: Flags = []) throws {
        let payload = Bytes([UInt8](repeating: 0x20, count: bytes))
        try link.send { intern in
            Frame(
                .ask(Ask(target: 0, sender: intern("/raw"), message: intern(name), timeoutMicroseconds: 0, trace: trace, payload: payload)),
                correlation: correlation,
                codec: .json,
                flags: flags
            )
        }
    }

    /// Waits until everything that was sent before has been read and handled.
    func settle() async throws {
        let number = UInt64.random(in: 1 << 32 ... .max)
        try link.send(Frame(.ping(Probe(timestampNanoseconds: number, kind: .link)), correlation: number))
        try await eventually("the ping is answered") { frames.contains { $0.correlation == number } || closed != nil }
    }

    /// The peer asks.
    @discardableResult
    func forward(
        _ name: String,
        to target: String = "",
        flow: ReplyFlow? = nil,
        isOneWay: Bool = false,
        above: ResponderDirectory.Entry? = nil,
        payload: Bytes = [0x7B, 0x7D]
    ) -> (Envelope, Outcome) {
        let outcome = Outcome()
        let envelope = Envelope(
            .encoded(name: name, .json, Payload(payload)),
            asker: .function { outcome.settle($0) },
            sender: "/sender",
            deadline: nil,
            isOneWay: isOneWay,
            flow: flow
        )
        if !peer.forward(envelope, to: target, isDirect: false, above: above) { outcome.settle(.failure(LinkError(.closed, "not sent"))) }
        return (envelope, outcome)
    }

    typealias Outcome = OneShot<Result<Answer, any Error>>
}

extension OneShot<Result<Answer, any Error>> {
    /// The code of the error that it ended with.
    var code: CoordinatorError.Code? {
        guard case .failure(let error)? = outcome else { return nil }
        return (error as? CoordinatorError)?.code
    }
}
