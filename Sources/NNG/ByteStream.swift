internal import CNNG
internal import CProcess

/// A connected stream of bytes: an `nng_stream`, over a Unix socket (`ipc://`) or whatever else nng was built with.
///
/// Dialled with `dial(_:timeout:)` or accepted by a `StreamListener`. Use at most one `receive` and one `send` at a time, else the order
/// of the bytes is undefined. Keep a `receive` under way: for a stream without one, nng's poller (1.5.2) is woken again and again.
/// An encrypted stream (`tls+tcp://`) that was accepted shakes hands with the first `receive` or `send`, which is to end before the other begins,
/// and throws `.cryptography` or `.peerNotAuthenticated` when one end doesn't trust the other. Close one whose `send` was cancelled; a cancellation
/// while the handshake sends something closes it.
///
/// The last reference closes the stream.
public final class ByteStream: Sendable {
    /// The largest number of bytes that one `receive` returns, whatever its limit.
    static let largestRead = 1 << 16

    let handle: Handle
    let address: String
    /// The encryption of the stream; nil when there is none.
    let session: TLSSession?

    /// The process at the other end, where the transport knows it (`ipc://` does).
    public let peer: PeerCredentials?

    /// The address of the peer without its port, where there's a network between; empty: a socket of this machine.
    ///
    /// Of an address of IPv6 it's the half that names the network: one machine may have all of the other half.
    public let remoteAddress: [UInt8]

    init(adopting pointer: OpaquePointer, address: String, session: TLSSession? = nil) {
        handle = Handle(.stream, owning: pointer)
        self.address = address
        self.session = session
        peer = Self.credentials(of: pointer)
        remoteAddress = Self.remoteAddress(of: pointer)
    }

    deinit {
        close()
    }

    /// Waits for bytes and returns between 1 and `limit` of them.
    ///
    /// When the task is cancelled, either `.canceled` is thrown and no byte is lost, or bytes had arrived and are returned. Throws
    /// `.connectionShut` or `.connectionReset` when the peer has gone and everything it sent has been received, `.closed` after `close()`.
    public func receive(upTo limit: Int) async throws(NNGError) -> [UInt8] {
        try await receive(upTo: limit, timeout: nil)
    }

    func receive(upTo limit: Int, timeout: Duration?) async throws(NNGError) -> [UInt8] {
        guard limit > 0 else {
            throw NNGError(.invalidArgument, operation: "receive", address: address)
        }
        let buffer = TransferBuffer(capacity: min(limit, Self.largestRead))
        let count =
            if let session {
                try await decrypt(with: session, into: buffer, before: timeout.map { .now + $0 })
            } else {
                try await read(into: buffer.bytes, keeping: buffer, timeout: timeout)
            }
        return Array(buffer.bytes[..<count])
    }

    /// Waits for bytes as they come, and returns their number.
    ///
    /// - Parameter owner: The owner of the memory, which is kept until nng has called back.
    func read(
        into memory: UnsafeMutableRawBufferPointer,
        keeping owner: any AnyObject & Sendable,
        timeout: Duration?
    ) async throws(NNGError) -> Int {
        do {
            return try await readOnce(into: memory, keeping: owner, timeout: timeout)
        } catch let first where first.code.mayHideUnreadBytes {
            do {
                return try await readOnce(into: memory, keeping: owner, timeout: timeout)
            } catch let second where second.code.mayHideUnreadBytes {
                throw first
            }
        }
    }

    private func readOnce(
        into memory: UnsafeMutableRawBufferPointer,
        keeping owner: any AnyObject & Sendable,
        timeout: Duration?
    ) async throws(NNGError) -> Int {
        let outcome = try await handle.perform("receive", address: address, timeout: timeout, keeping: owner) { stream, aio in
            var vector = nng_iov(iov_buf: memory.baseAddress, iov_len: memory.count)
            nng_aio_set_iov(aio, 1, &vector)
            nng_stream_recv(stream, aio)
        }
        guard outcome.count > 0 else { throw NNGError(.connectionShut, operation: "receive", address: address) }
        return outcome.count
    }

    /// Sends all of `bytes`.
    ///
    /// Returns when the kernel has taken them, which does not mean that the peer has read them. When the task is cancelled some of the
    /// bytes may have left; close the stream then. Throws `.connectionShut` or `.connectionReset` when the peer has gone.
    public func send(_ bytes: [UInt8]) async throws(NNGError) {
        try await shakeHands(before: nil)
        try await write(encrypted(bytes))
    }

    /// Sends bytes as they are.
    func write(_ bytes: [UInt8], timeout: Duration? = nil) async throws(NNGError) {
        let buffer = TransferBuffer(copying: bytes)
        var sent = 0
        while sent < bytes.count {
            let rest = buffer.bytes[sent...]
            do {
                let outcome = try await handle.perform("send", address: address, timeout: timeout, keeping: buffer) { stream, aio in
                    Self.send(UnsafeMutableRawBufferPointer(rebasing: rest), on: stream, aio)
                }
                sent += outcome.count
            } catch {
                throw NNGError(error.code.asSeenBySender(on: handle), operation: "send", address: address)
            }
        }
    }

    /// Sends a few bytes into an empty socket, which takes them within this call, and doesn't wait to be told so.
    ///
    /// A failure shows at the next operation.
    func post(_ bytes: [UInt8]) throws(NNGError) {
        try postUnencrypted(encrypted(bytes))
    }

    /// Sends a few bytes as ``post(_:)`` does, as they are.
    func postUnencrypted(_ bytes: [UInt8]) throws(NNGError) {
        let operation = try AsyncOperation(for: "send", address: address)
        let buffer = TransferBuffer(copying: bytes)
        _ = operation.submit(on: handle) { _ in
            _ = buffer
        } start: { stream, aio in
            Self.send(buffer.bytes, on: stream, aio)
        }
    }

    private static func send(_ bytes: UnsafeMutableRawBufferPointer, on stream: OpaquePointer, _ aio: OpaquePointer) {
        var vector = nng_iov(iov_buf: bytes.baseAddress, iov_len: bytes.count)
        nng_aio_set_iov(aio, 1, &vector)
        nng_stream_send(stream, aio)
    }

    /// Closes both directions at once; operations in flight end with `.closed`.
    ///
    /// Idempotent, never blocks, and may be called from anywhere. Bytes that were sent before stay readable for the peer.
    public func close() {
        handle.close()
    }

    private static func remoteAddress(of stream: OpaquePointer) -> [UInt8] {
        var address = nng_sockaddr()
        guard nng_stream_get_addr(stream, NNG_OPT_REMADDR, &address) == 0 else { return [] }
        // Unsafe: the family says which member of the union is in use.
        switch UInt32(address.s_family) {
        case NNG_AF_INET.rawValue: return withUnsafeBytes(of: &address.s_in.sa_addr) { Array($0) }
        case NNG_AF_INET6.rawValue: return withUnsafeBytes(of: &address.s_in6.sa_addr) { Array($0.prefix(8)) }
        default: return []
        }
    }

    private static func credentials(of stream: OpaquePointer) -> PeerCredentials? {
        var process: UInt64 = 0
        var user: UInt64 = 0
        var group: UInt64 = 0
        guard nng_stream_get_uint64(stream, NNG_OPT_IPC_PEER_PID, &process) == 0,
            nng_stream_get_uint64(stream, NNG_OPT_IPC_PEER_UID, &user) == 0,
            nng_stream_get_uint64(stream, NNG_OPT_IPC_PEER_GID, &group) == 0
        else { return nil }
        return PeerCredentials(
            processID: Int32(truncatingIfNeeded: process),
            userID: UInt32(truncatingIfNeeded: user),
            groupID: UInt32(truncatingIfNeeded: group)
        )
    }
}

extension NNGError.Code {
    /// Whether the error may hide bytes that have arrived and weren't read: when the peer goes away with unread input, the kernel signals
    /// an error and nng fails the read without looking at those bytes (`ipc_error` of nng 1.5.2).
    ///
    /// They stay readable: the next read returns them, or reports the end at once.
    var mayHideUnreadBytes: Bool {
        self == .connectionShut || self == .connectionReset
    }

    /// Translates nng's code for the sender: nng reports a broken pipe as "closed", which in this module means that this end has closed.
    func asSeenBySender(on handle: Handle) -> NNGError.Code {
        self == .closed && !handle.isClosed ? .connectionShut : self
    }
}

extension ByteStream {
    /// Connects to a listener.
    ///
    /// A listener whose backlog is full (nng's own holds 128 connections, ``StreamListener``'s as many as the system allows) is tried again until
    /// the time-out; a missing listener is not:
    /// that throws `.connectionRefused` at once. Without a time-out it tries until the task is cancelled, which throws `.canceled`.
    /// An encrypted stream has shaken hands.
    ///
    /// - Parameter security: The certificates, and the name that the listener's certificate must have, of an address that begins with `tls+tcp://`.
    public static func dial(
        _ url: String,
        security: (configuration: TLSConfiguration, serverName: String)? = nil,
        timeout: Duration? = nil
    ) async throws(NNGError) -> ByteStream {
        try SocketPath.check(url, operation: "dial")
        try TLSSession.check(url, isSecure: security != nil, operation: "dial")
        let deadline = timeout.map { ContinuousClock.now + $0 }
        var session: TLSSession?
        if let security {
            session = try TLSSession(security.configuration, as: .dialler(of: security.serverName), operation: "dial", address: url)
        }
        var pause = Duration.milliseconds(1)
        while true {
            let remaining = deadline.map { $0 - .now }
            if let remaining, remaining <= .zero {
                throw NNGError(.timedOut, operation: "dial", address: url)
            }
            do {
                let stream = try await dialOnce(url, session, timeout: remaining)
                try await stream.shakeHands(before: deadline)
                return stream
            } catch  where error.code == .tryAgain {
                try await Alarm.sleep(for: min(pause, remaining ?? pause), operation: "dial", address: url)
                pause = min(pause * 2, .milliseconds(16))
            }
        }
    }

    private static func dialOnce(
        _ url: String,
        _ session: TLSSession?,
        timeout: Duration?
    ) async throws(NNGError) -> ByteStream {
        var pointer: OpaquePointer?
        var result = nng_stream_dialer_alloc(&pointer, TLSSession.transport(of: url))
        guard result == 0, let pointer else {
            throw NNGError(.init(rawValue: result), operation: "dial", address: url)
        }
        let dialer = Handle(session == nil && url.hasPrefix("ipc:") ? .localDialer : .dialer, owning: pointer)
        defer { dialer.close() }
        if session != nil {
            result = nng_stream_dialer_set_bool(pointer, NNG_OPT_TCP_NODELAY, true)
            if result == 0 { result = nng_stream_dialer_set_bool(pointer, NNG_OPT_TCP_KEEPALIVE, true) }
            guard result == 0 else { throw NNGError(.init(rawValue: result), operation: "dial", address: url) }
        }
        let outcome = try await dialer.perform("dial", address: url, timeout: timeout) { dialer, aio in
            // A socket of this machine is connected within the call.
            coordinator_process_answer_dial(1)
            defer { coordinator_process_answer_dial(0) }
            nng_stream_dialer_dial(dialer, aio)
        }
        guard let stream = outcome.output else {
            throw NNGError(.connectionAborted, operation: "dial", address: url)
        }
        return ByteStream(adopting: stream, address: url, session: session)
    }
}
