internal import CNNG
import ConcurrencySupport
import Glibc

/// A listener that accepts byte streams.
///
/// Unlike a listening SP socket of nng 1.5.2, it outlives peers that connect and go away at once (nanomsg/nng#1518).
/// The last reference closes it.
public final class StreamListener: Sendable {
    private let handle: Handle
    private let address: String
    /// The certificates of the connections that peers make from now on; nil when connections aren't encrypted.
    private let security: Lock<TLSConfiguration?>

    /// Binds and listens at once.
    ///
    /// - Parameters:
    ///   - url: The address, for instance `ipc:///run/coordinator/control.sock`. A socket file without a listener is replaced.
    ///   - permissions: The mode of the socket file, in force before the first peer can connect. Only for addresses in the file system.
    ///   - security: The certificates, of an address that begins with `tls+tcp://`; peers must have one of the same authority.
    /// - Throws: `.addressInUse` when another listener has the address, `.addressInvalid` when the path is longer than 107 bytes.
    public init(_ url: String, permissions: UInt32 = 0o600, security: TLSConfiguration? = nil) throws(NNGError) {
        try SocketPath.check(url, operation: "listen")
        try TLSSession.check(url, isSecure: security != nil, operation: "listen")
        var pointer: OpaquePointer?
        let result = nng_stream_listener_alloc(&pointer, TLSSession.transport(of: url))
        guard result == 0, let pointer else {
            throw NNGError(.init(rawValue: result), operation: "listen", address: url)
        }
        handle = Handle(.listener, owning: pointer)
        address = url
        self.security = Lock(security)
        var failure: Int32 = 0
        let path = SocketPath.path(in: url)
        if path != nil {
            failure = nng_stream_listener_set_int(pointer, NNG_OPT_IPC_PERMISSIONS, Int32(truncatingIfNeeded: permissions))
        }
        if let security {
            do throws(NNGError) {
                try security.check()
                failure = nng_stream_listener_set_bool(pointer, NNG_OPT_TCP_NODELAY, true)
                if failure == 0 { failure = nng_stream_listener_set_bool(pointer, NNG_OPT_TCP_KEEPALIVE, true) }
            } catch {
                failure = error.code.rawValue
            }
        }
        if failure == 0 {
            failure = nng_stream_listener_listen(pointer)
        }
        guard failure == 0 else {
            handle.close()
            throw NNGError(.init(rawValue: failure), operation: "listen", address: url)
        }
        if let path { Backlog.enlarge(ofSocketAt: path) }
    }

    deinit {
        close()
    }

    /// Waits for a peer and returns the stream to it.
    ///
    /// When the task is cancelled, either `.canceled` is thrown and the peer, if there is one, waits for the next `accept`, or the stream
    /// had been accepted and is returned. Throws `.closed` after `close()`. `.outOfFiles` and `.outOfMemory` are passing conditions: the
    /// listener is still good.
    public func accept() async throws(NNGError) -> ByteStream {
        let outcome = try await handle.perform("accept", address: address) { listener, aio in
            nng_stream_listener_accept(listener, aio)
        }
        guard let stream = outcome.output else {
            throw NNGError(.connectionAborted, operation: "accept", address: address)
        }
        do throws(NNGError) {
            guard let security = security.withLock({ $0 }) else { return ByteStream(adopting: stream, address: address) }
            let session = try TLSSession(security, as: .listener, operation: "accept", address: address)
            return ByteStream(adopting: stream, address: address, session: session)
        } catch {
            ByteStream(adopting: stream, address: address).close()
            throw error
        }
    }

    /// Uses other certificates for the connections that peers make from now on; those that there are stay.
    ///
    /// Throws `.cryptography` or another error when one of the texts can't be read, and `.invalidArgument` when the listener had none; what it had
    /// stays then.
    public func use(_ security: TLSConfiguration) throws(NNGError) {
        try TLSSession.check(address, isSecure: true, operation: "listen")
        try security.check()
        self.security.withLock { $0 = security }
    }

    /// The port at which the listener listens; nil when the address has none.
    public var port: Int? {
        guard let pointer = handle.enter() else { return nil }
        defer { handle.leave() }
        var port: Int32 = 0
        return nng_stream_listener_get_int(pointer, NNG_OPT_TCP_BOUND_PORT, &port) == 0 ? Int(port) : nil
    }

    /// Stops listening, removes the socket file, and ends every `accept` with `.closed`.
    ///
    /// Accepted streams stay open.
    ///
    /// Idempotent, never blocks, and may be called from anywhere.
    public func close() {
        handle.close()
    }
}

/// The connections that wait to be accepted at a listening Unix socket.
enum Backlog {
    /// Has a listening socket hold as many as the system allows (`net.core.somaxconn`); nng has it hold 128.
    ///
    /// When there are more, each peer dials again and again: hundreds of children that start at once leave the processor to nobody, and to
    /// the process that is to accept them neither. nng doesn't give its descriptor away, so the socket is looked for by its path. Where it
    /// isn't found, peers dial again.
    static func enlarge(ofSocketAt path: Substring) {
        for descriptor in OwnProcess.descriptors where isListening(descriptor, at: path) {
            // listen(2) of a socket that listens changes its backlog alone.
            listen(descriptor, SOMAXCONN)
        }
    }

    private static func isListening(_ descriptor: Int32, at path: Substring) -> Bool {
        var (isListening, size): (Int32, socklen_t) = (0, 4)
        guard getsockopt(descriptor, SOL_SOCKET, SO_ACCEPTCONN, &isListening, &size) == 0, isListening == 1 else { return false }
        var address = sockaddr_un()
        var length = socklen_t(MemoryLayout<sockaddr_un>.size)
        let isRead = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(descriptor, $0, &length) == 0 }
        }
        guard isRead, address.sun_family == sa_family_t(AF_UNIX) else { return false }
        return withUnsafeBytes(of: &address.sun_path) { $0.prefix { $0 != 0 }.elementsEqual(path.utf8) }
    }
}
