import ConcurrencySupport
internal import Synchronization

/// A connection that carries messages, in SP's pair protocol version 0 on a byte stream.
///
/// Any nng pair0 socket, in any language, may be the other end of an `ipc://` connection; encrypted ones use the same framing, which is another than nng's. Messages arrive whole, in order and at most once; a sent message is one
/// that the kernel took, not one that the peer read.
///
/// There are two ways to use it, not to be mixed: `start(onMessage:onClose:)` with `transmit(_:completion:)`, without a suspension or an
/// allocation besides the message itself, and the asynchronous `receive()` and `send(_:)`.
/// The last reference closes the connection.
public final class PairConnection: Sendable {
    /// The largest message that is sent or received unless another limit is given: 1 MiB.
    public static let defaultMaximumMessageSize = 1 << 20

    private let stream: ByteStream
    let reader: MessageReader
    let writer: MessageWriter

    /// The process at the other end, where the transport knows it (`ipc://` does).
    public var peer: PeerCredentials? { stream.peer }

    /// Takes over a stream on which greetings have been exchanged.
    init(on stream: ByteStream, maximumReceivedSize: Int, maximumSentSize: Int, reservation: LargeMessageReservation?) throws(NNGError) {
        self.stream = stream
        reader = try MessageReader(of: stream, maximumMessageSize: maximumReceivedSize, reservation: reservation)
        writer = try MessageWriter(besides: reader, maximumMessageSize: maximumSentSize)
        reader.takeTurn()
    }

    deinit {
        close()
    }

    /// Begins to deliver messages.
    ///
    /// To be called once; a second call only gets its `onClose`, with `.busy`.
    ///
    /// Both closures run on nng's threads, one after the other, never inside this call. They must not block: no other message of this
    /// process moves meanwhile on that thread. They may transmit and close.
    /// - Parameters:
    ///   - onMessage: gets every message in the order of its arrival.
    ///   - onClose: is called exactly once, after the last `onMessage`, with the reason: `.closed` after `close()`, `.connectionShut`
    ///     or `.connectionReset` when the peer has gone (everything it sent has then been delivered), `.messageTooLarge` or
    ///     `.protocolError` when its bytes were refused.
    public func start(
        onMessage: @escaping @Sendable ([UInt8]) -> Void,
        onClose: @escaping @Sendable (NNGError) -> Void
    ) {
        if !reader.start(onMessage: onMessage, onClose: onClose) {
            onClose(reader.error(.busy))
        }
    }

    /// Sends one message; header and body leave in one write, and the body isn't copied.
    ///
    /// One transmission at a time: a second one meanwhile completes with `.busy`. A body over the limit completes with
    /// `.messageTooLarge` and nothing is sent. After the peer has gone, transmissions complete with `.connectionShut` or
    /// `.connectionReset`; what the peer sent before is still delivered, then `onClose` is called.
    /// - Parameter completion: is called exactly once, with nil when the kernel has taken the message; on an nng thread, or within this
    ///   call when nothing could be begun. The next message may be transmitted from within it.
    public func transmit(_ body: [UInt8], completion: @escaping @Sendable (NNGError?) -> Void) {
        writer.transmit(body, completion: completion)
    }

    /// Receives messages up to another size from now on: less is allowed to a peer that hasn't shown who it is.
    public func limitReceivedSize(to maximum: Int) { reader.maximumMessageSize.store(maximum, ordering: .relaxed) }

    /// Whether the peer's certificate is one of those that the lists of a configuration say are revoked; false when one can't be read.
    public func isRevoked(by security: TLSConfiguration) -> Bool {
        guard security.revocations != nil, let session = stream.session else { return false }
        guard let credentials = try? TLSCredentials(security, operation: "check", address: stream.address) else { return false }
        return session.isRevoked(by: credentials)
    }

    /// Closes at once.
    ///
    /// Operations in flight end with `.closed`; messages that have arrived and weren't delivered are dropped.
    ///
    /// Idempotent, never blocks, and may be called from anywhere, the callbacks included.
    public func close() {
        reader.close(reader.error(.closed)) { writer.end() }
    }
}
