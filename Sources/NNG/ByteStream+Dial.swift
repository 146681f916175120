internal import CNNG

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
        let dialer = Handle(.dialer, owning: pointer)
        defer { dialer.close() }
        if session != nil {
            result = nng_stream_dialer_set_bool(pointer, NNG_OPT_TCP_NODELAY, true)
            if result == 0 { result = nng_stream_dialer_set_bool(pointer, NNG_OPT_TCP_KEEPALIVE, true) }
            guard result == 0 else { throw NNGError(.init(rawValue: result), operation: "dial", address: url) }
        }
        let outcome = try await dialer.perform("dial", address: url, timeout: timeout) { dialer, aio in
            nng_stream_dialer_dial(dialer, aio)
        }
        guard let stream = outcome.output else {
            throw NNGError(.connectionAborted, operation: "dial", address: url)
        }
        return ByteStream(adopting: stream, address: url, session: session)
    }
}
