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

extension PairConnection {
    /// Sends one message and returns when the kernel has taken it.
    ///
    /// One at a time, else `.busy` is thrown. When the task is cancelled before the first byte has left, nothing is sent and `.canceled`
    /// is thrown; later, half a message can't be taken back: `.canceled` is thrown and the connection closed. On an encrypted connection a
    /// cancellation has no effect.
    public func send(_ body: [UInt8]) async throws(NNGError) {
        let request = CancellationRequest()
        let error = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                writer.transmit(body, request: request) { continuation.resume(returning: $0) }
            }
        } onCancel: {
            writer.cancel(request)
        }
        if let error { throw error }
    }

    /// Waits for the next message, and returns it.
    ///
    /// One at a time, else `.busy` is thrown. When the task is cancelled `.canceled` is thrown and no message is lost. When the
    /// connection has ended, the messages that came before are returned first, then the reason is thrown, again at each call.
    public func receive() async throws(NNGError) -> [UInt8] {
        try await reader.receive().get()
    }
}

extension PairConnection {
    /// Connects to a listener and exchanges greetings with it.
    ///
    /// - Parameters:
    ///   - url: The listener's address, for instance `ipc:///run/coordinator/control.sock`.
    ///   - security: The certificates, and the name that the listener's certificate must have, of an address that begins with `tls+tcp://`.
    ///   - maximumMessageSize: the largest body that is sent or received, in bytes. A peer that announces more is cut off.
    ///   - maximumReceivedSize: the largest body that is received, when that is another.
    ///   - timeout: The time for both together.
    /// - Throws: `.connectionRefused` when there is no listener, `.timedOut`, `.protocolError` when the peer speaks another protocol.
    public static func dial(
        _ url: String,
        security: (configuration: TLSConfiguration, serverName: String)? = nil,
        maximumMessageSize: Int = PairConnection.defaultMaximumMessageSize,
        maximumReceivedSize: Int? = nil,
        timeout: Duration = .seconds(5)
    ) async throws(NNGError) -> PairConnection {
        let start = ContinuousClock.now
        let stream = try await ByteStream.dial(url, security: security, timeout: timeout)
        return try await negotiate(
            stream,
            maximumMessageSize: maximumMessageSize,
            maximumReceivedSize: maximumReceivedSize,
            timeout: timeout - (ContinuousClock.now - start)
        )
    }

    /// Exchanges greetings on a stream that was dialled or accepted, and takes it over: don't use the stream afterwards.
    ///
    /// The stream is closed when this throws.
    /// - Parameters:
    ///   - maximumMessageSize: the largest body that is sent or received, in bytes.
    ///   - maximumReceivedSize: the largest body that is received, when that is another.
    ///   - reservation: takes note of large messages that have begun; it must not block.
    /// - Throws: `.timedOut` when the peer's greeting doesn't come in time, `.protocolError` when it is not that of a pair0 socket,
    ///   `.connectionShut` or `.connectionReset` when the peer has gone, `.canceled` when the task is cancelled.
    public static func negotiate(
        _ stream: ByteStream,
        maximumMessageSize: Int = PairConnection.defaultMaximumMessageSize,
        maximumReceivedSize: Int? = nil,
        reservation: LargeMessageReservation? = nil,
        timeout: Duration = .seconds(5)
    ) async throws(NNGError) -> PairConnection {
        do throws(NNGError) {
            guard maximumMessageSize >= 0, maximumReceivedSize ?? 0 >= 0 else {
                throw NNGError(.invalidArgument, operation: "negotiate", address: stream.address)
            }
            let deadline = ContinuousClock.now + timeout
            try await stream.shakeHands(before: deadline)
            try await exchangeGreetings(on: stream, before: deadline)
            return try PairConnection(
                on: stream,
                maximumReceivedSize: maximumReceivedSize ?? maximumMessageSize,
                maximumSentSize: maximumMessageSize,
                reservation: reservation
            )
        } catch {
            stream.close()
            throw NNGError(error.code, operation: "negotiate", address: stream.address)
        }
    }

    private static func exchangeGreetings(on stream: ByteStream, before deadline: ContinuousClock.Instant) async throws(NNGError) {
        try stream.post(PairFraming.greeting)
        var greeting: [UInt8] = []
        while greeting.count < PairFraming.greeting.count {
            let remaining = try stream.remaining(before: deadline)
            greeting += try await stream.receive(upTo: PairFraming.greeting.count - greeting.count, timeout: remaining)
            guard PairFraming.greeting.starts(with: greeting) else {
                throw NNGError(.protocolError, operation: "negotiate", address: stream.address)
            }
        }
    }
}

/// The bytes of SP's pair protocol, version 0, on a stream socket.
///
/// Each side first sends 8 bytes of greeting; then every message is `0x01`, its length as 64-bit big-endian number, and its body.
/// Sources: nanomsg's RFC "sp-tcp-mapping-01" for the greeting, and nng's IPC transport for the message header.
package enum PairFraming {
    /// Zero, "SP", version 0, protocol 0x0010 (pair 0) big-endian, two reserved zeros.
    package static let greeting: [UInt8] = [0x00, 0x53, 0x50, 0x00, 0x00, 0x10, 0x00, 0x00]

    /// A message's header: its type and its length.
    package static let headerLength = 9
    private static let messageType: UInt8 = 1

    package enum Header: Equatable {
        /// Fewer bytes than a header.
        case incomplete
        case message(length: Int)
        case invalid(NNGError.Code)
    }

    /// Reads the header at the front of `bytes`.
    ///
    /// A length over the limit is refused here, before memory is allocated for it.
    @inline(__always)
    package static func parse(_ bytes: UnsafeRawBufferPointer, maximum: Int) -> Header {
        guard bytes.count >= headerLength else {
            // The type is checked as soon as it is there: a peer that speaks something else may never send nine bytes.
            return bytes.isEmpty || bytes[0] == messageType ? .incomplete : .invalid(.protocolError)
        }
        guard bytes[0] == messageType else { return .invalid(.protocolError) }
        let length = UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: 1, as: UInt64.self))
        guard length <= UInt64(maximum) else { return .invalid(.messageTooLarge) }
        return .message(length: Int(length))
    }

    /// Returns a message with its header.
    static func framed(_ body: [UInt8]) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: headerLength + body.count) { bytes, count in
            writeHeader(of: body.count, to: UnsafeMutableRawBufferPointer(bytes))
            _ = UnsafeMutableBufferPointer(rebasing: bytes[headerLength...]).update(fromContentsOf: body)
            count = headerLength + body.count
        }
    }

    @inline(__always)
    package static func writeHeader(of length: Int, to bytes: UnsafeMutableRawBufferPointer) {
        bytes[0] = messageType
        bytes.storeBytes(of: UInt64(length).bigEndian, toByteOffset: 1, as: UInt64.self)
    }
}
