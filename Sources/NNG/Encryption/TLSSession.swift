internal import CMbedTLS
import ConcurrencySupport

/// One end of an encrypted connection, without its transport: takes the bytes that have arrived, and returns those that are to be sent.
///
/// nng has encrypted streams too (`tls+tcp://`). There each receipt goes through three threads and each write through one more, an operation can't
/// be cancelled alone, and nothing is told of the peer; over a plain stream of nng's, this costs no thread at all.
final class TLSSession: @unchecked Sendable {
    enum Role {
        case listener
        /// The name that the listener's certificate must have.
        case dialler(of: String)
    }

    /// The outcome of a step.
    enum Progress<Result> {
        case done(Result)
        /// Nothing more happens before bytes of the peer have been read into ``TLSSession/input``.
        case needsInput
        /// The connection is of no use any more.
        case failed(NNGError.Code)
    }

    /// The bytes that are exchanged with Mbed TLS, which calls back within its functions.
    private final class Bytes {
        var unread = 0..<0
        var output: [UInt8] = []
    }

    /// The largest number of bytes that wait to be sent while the peer is read from: more than a handshake needs, and a bound for the answers to
    /// what a peer of our own never sends.
    private static let largestUnsentOutput = 1 << 16

    /// The memory for bytes of the peer; to be written to only after a step has said `needsInput`, and until ``arrived(_:)``.
    let input: UnsafeMutableRawBufferPointer

    // Mbed TLS's structures are used by the holder of the lock.
    private let lock = Lock<NNGError.Code?>(nil)
    private let bytes = Bytes()
    private let address: String
    private let credentials: TLSCredentials
    private let configuration: UnsafeMutablePointer<mbedtls_ssl_config>
    private let context: UnsafeMutablePointer<mbedtls_ssl_context>

    /// Creates one end, which hasn't shaken hands.
    ///
    /// - Throws: `.cryptography` when the certificates can't be read, `.outOfMemory`.
    init(_ security: TLSConfiguration, as role: Role, operation: String, address: String) throws(NNGError) {
        self.address = address
        credentials = try TLSCredentials(security, operation: operation, address: address)
        input = .allocate(byteCount: ByteStream.largestRead, alignment: 16)
        configuration = .allocate(capacity: 1)
        context = .allocate(capacity: 1)
        mbedtls_ssl_config_init(configuration)
        mbedtls_ssl_init(context)
        let endpoint = if case .listener = role { MBEDTLS_SSL_IS_SERVER } else { MBEDTLS_SSL_IS_CLIENT }
        var result = mbedtls_ssl_config_defaults(configuration, endpoint, MBEDTLS_SSL_TRANSPORT_STREAM, MBEDTLS_SSL_PRESET_DEFAULT)
        // TLS 1.2.
        mbedtls_ssl_conf_min_version(configuration, MBEDTLS_SSL_MAJOR_VERSION_3, MBEDTLS_SSL_MINOR_VERSION_3)
        mbedtls_ssl_conf_max_version(configuration, MBEDTLS_SSL_MAJOR_VERSION_3, MBEDTLS_SSL_MINOR_VERSION_3)
        coordinators_restrict(configuration)
        mbedtls_ssl_conf_authmode(configuration, MBEDTLS_SSL_VERIFY_REQUIRED)
        mbedtls_ssl_conf_rng(configuration, mbedtls_ctr_drbg_random, credentials.random)
        mbedtls_ssl_conf_ca_chain(configuration, credentials.authority, credentials.hasRevocations ? credentials.revocations : nil)
        if result == 0 { result = mbedtls_ssl_conf_own_cert(configuration, credentials.certificate, credentials.key) }
        if result == 0 { result = mbedtls_ssl_setup(context, configuration) }
        if result == 0, case .dialler(let name) = role { result = mbedtls_ssl_set_hostname(context, name) }
        guard result == 0 else { throw NNGError(.init(mbedTLS: result), operation: operation, address: address) }
        // Unretained: the context goes with this object, to which the callbacks return within its own calls.
        mbedtls_ssl_set_bio(
            context,
            Unmanaged.passUnretained(self).toOpaque(),
            { TLSSession.of($0)?.send($1, $2) ?? MBEDTLS_ERR_SSL_INTERNAL_ERROR },
            { TLSSession.of($0)?.receive($1, $2) ?? MBEDTLS_ERR_SSL_INTERNAL_ERROR },
            nil
        )
    }

    deinit {
        mbedtls_ssl_free(context)
        mbedtls_ssl_config_free(configuration)
        context.deallocate()
        configuration.deallocate()
        input.deallocate()
    }

    /// Counts bytes that have been read into ``input``.
    func arrived(_ count: Int) {
        lock.withLock { _ in bytes.unread = 0..<count }
    }

    /// Goes on with the handshake as far as the bytes reach that have arrived; what is to be sent is taken by ``takeOutput()``.
    func shakeHands() -> Progress<Void> {
        step { failure in
            let result = mbedtls_ssl_handshake(context)
            if result == 0 { return .done(()) }
            return stopped(by: result, &failure)
        }
    }

    /// Returns the bytes that are to be sent, which are then the caller's.
    func takeOutput() -> [UInt8] {
        lock.withLock { _ in takeOutputWithLock() }
    }

    /// Decrypts what has arrived, as much as there is room for.
    ///
    /// - Returns: The number of bytes, at least one.
    func decrypt(into target: UnsafeMutableRawBufferPointer) -> Progress<Int> {
        step { failure in
            var count = 0
            while count < target.count {
                let rest = UnsafeMutableRawBufferPointer(rebasing: target[count...])
                let result = mbedtls_ssl_read(context, rest.baseAddress?.assumingMemoryBound(to: UInt8.self), rest.count)
                if result > 0 {
                    count += Int(result)
                } else if result != 0 && result != MBEDTLS_ERR_SSL_WANT_READ || bytes.unread.isEmpty {
                    let stop: Progress<Int> = stopped(by: result, &failure)
                    return count > 0 ? .done(count) : stop
                }
                // Otherwise it was a record without text, such as a warning, and there is another one behind it.
            }
            return .done(count)
        }
    }

    /// Encrypts bytes, which are to be sent in the order in which they were encrypted; to be called by one thread at a time.
    ///
    /// A large message is encrypted record by record, so that what has arrived is decrypted meanwhile.
    func encrypt(_ text: [UInt8]) throws(NNGError) -> [UInt8] {
        var encrypted: [UInt8] = []
        var sent = 0
        while sent < text.count {
            let record: Progress<(Int, [UInt8])> = step { failure in
                let result = text[sent...].withUnsafeBufferPointer { mbedtls_ssl_write(context, $0.baseAddress, $0.count) }
                return result > 0 ? .done((Int(result), takeOutputWithLock())) : stopped(by: result, &failure)
            }
            switch record {
            case .done((let count, let output)):
                if sent == 0, count == text.count { return output }
                if sent == 0 { encrypted.reserveCapacity(text.count + (text.count / count + 1) * (output.count - count)) }
                encrypted += output
                sent += count
            case .needsInput: throw NNGError(.wrongState, operation: "send", address: address)
            case .failed(let code): throw NNGError(code, operation: "send", address: address)
            }
        }
        return encrypted
    }

    /// Whether the peer's certificate is one of those that lists say are revoked.
    func isRevoked(by credentials: TLSCredentials) -> Bool {
        lock.withLock { _ in
            guard credentials.hasRevocations, let certificate = mbedtls_ssl_get_peer_cert(context) else { return false }
            var flags: UInt32 = 0
            // Unsafe: Mbed TLS writes to no certificate that it verifies.
            let peer = UnsafeMutablePointer(mutating: certificate)
            _ = mbedtls_x509_crt_verify(peer, credentials.authority, credentials.revocations, nil, &flags, nil, nil)
            return flags & UInt32(MBEDTLS_X509_BADCERT_REVOKED) != 0
        }
    }

    /// Returns the bytes that tell the peer that nothing follows; none when the session is of no use any more.
    func end() -> [UInt8] {
        lock.withLock { failure in
            guard failure == nil else { return [] }
            failure = .closed
            _ = mbedtls_ssl_close_notify(context)
            return takeOutputWithLock()
        }
    }

    private func step<Result>(_ body: (inout NNGError.Code?) -> Progress<Result>) -> Progress<Result> {
        lock.withLock { failure in
            if let failure { return .failed(failure) }
            return body(&failure)
        }
    }

    private func stopped<Result>(by result: Int32, _ failure: inout NNGError.Code?) -> Progress<Result> {
        if result == MBEDTLS_ERR_SSL_WANT_READ || result == 0 { return .needsInput }
        let code = NNGError.Code(mbedTLS: result)
        failure = code
        return .failed(code)
    }

    private func takeOutputWithLock() -> [UInt8] {
        defer { bytes.output = [] }
        return bytes.output
    }

    private static func of(_ pointer: UnsafeMutableRawPointer?) -> TLSSession? {
        pointer.map { Unmanaged<TLSSession>.fromOpaque($0).takeUnretainedValue() }
    }

    private func send(_ start: UnsafePointer<UInt8>?, _ count: Int) -> Int32 {
        bytes.output.append(contentsOf: UnsafeBufferPointer(start: start, count: count))
        return Int32(count)
    }

    private func receive(_ start: UnsafeMutablePointer<UInt8>?, _ limit: Int) -> Int32 {
        let count = min(limit, bytes.unread.count)
        guard bytes.output.count <= Self.largestUnsentOutput else { return MBEDTLS_ERR_SSL_INTERNAL_ERROR }
        guard count > 0 else { return MBEDTLS_ERR_SSL_WANT_READ }
        let arrived = UnsafeRawBufferPointer(rebasing: input[bytes.unread.prefix(count)])
        UnsafeMutableRawBufferPointer(start: start, count: count).copyMemory(from: arrived)
        bytes.unread = bytes.unread.dropFirst(count)
        return Int32(count)
    }
}

extension TLSSession {
    private static let prefix = "tls+"

    /// Throws `.invalidArgument` when an address is one of encrypted connections and there are no certificates, or the other way round.
    static func check(_ address: String, isSecure: Bool, operation: String) throws(NNGError) {
        guard address.hasPrefix(prefix) == isSecure else { throw NNGError(.invalidArgument, operation: operation, address: address) }
    }

    /// Returns the address of the stream below an encrypted one, and any other as it is.
    static func transport(of address: String) -> String {
        address.hasPrefix(prefix) ? String(address.dropFirst(prefix.count)) : address
    }
}

extension ByteStream {
    /// Shakes hands with the peer of an encrypted stream, unless that has been done.
    ///
    /// - Throws: `.peerNotAuthenticated` when the peer's certificate isn't to be trusted, `.cryptography` when the peer doesn't trust this end's or
    ///   speaks no TLS, and what `receive` throws.
    func shakeHands(before deadline: ContinuousClock.Instant?) async throws(NNGError) {
        guard let session else { return }
        while true {
            let progress = session.shakeHands()
            let output = session.takeOutput()
            if case .failed(let code) = progress {
                // The peer is told why, if it can be.
                if !output.isEmpty { try? postUnencrypted(output) }
                throw NNGError(code, operation: "negotiate", address: address)
            }
            do throws(NNGError) {
                if !output.isEmpty { try await write(output, timeout: remaining(before: deadline)) }
            } catch {
                // A part of it may have left, and the rest can't be made again.
                close()
                throw error
            }
            if case .done = progress { return }
            try await readOn(session, before: deadline)
        }
    }

    /// Waits for bytes, and returns the number of those that have been decrypted.
    func decrypt(
        with session: TLSSession,
        into buffer: TransferBuffer,
        before deadline: ContinuousClock.Instant?
    ) async throws(NNGError) -> Int {
        try await shakeHands(before: deadline)
        while true {
            switch session.decrypt(into: buffer.bytes) {
            case .done(let count): return count
            case .failed(let code): throw NNGError(code, operation: "receive", address: address)
            case .needsInput: try await readOn(session, before: deadline)
            }
        }
    }

    /// Returns bytes as they are sent: encrypted, unless nothing is on this stream.
    func encrypted(_ bytes: [UInt8]) throws(NNGError) -> [UInt8] {
        guard let session else { return bytes }
        return try session.encrypt(bytes)
    }

    private func readOn(_ session: TLSSession, before deadline: ContinuousClock.Instant?) async throws(NNGError) {
        session.arrived(try await read(into: session.input, keeping: session, timeout: remaining(before: deadline)))
    }

    /// Returns the time that remains for shaking hands and exchanging greetings; throws `.timedOut` when there is none.
    func remaining(before deadline: ContinuousClock.Instant?) throws(NNGError) -> Duration? {
        guard let deadline else { return nil }
        let remaining = deadline - .now
        guard remaining > .zero else { throw NNGError(.timedOut, operation: "negotiate", address: address) }
        return remaining
    }
}
