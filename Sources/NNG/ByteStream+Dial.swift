internal import CNNG

extension ByteStream {
    /// Connects to a listener.
    ///
    /// A listener whose backlog is full (nng's holds 128 connections) is tried again until the time-out; a missing listener is not:
    /// that throws `.connectionRefused` at once. Without a time-out it tries until the task is cancelled, which throws `.canceled`.
    ///
    /// - Parameter security: The certificates, and the name that the listener's certificate must have, of an address that begins with `tls+tcp://`.
    public static func dial(
        _ url: String,
        security: (configuration: TLSConfiguration, serverName: String)? = nil,
        timeout: Duration? = nil
    ) async throws(NNGError) -> ByteStream {
        try SocketPath.check(url, operation: "dial")
        let start = ContinuousClock.now
        var pause = Duration.milliseconds(1)
        while true {
            let remaining = timeout.map { $0 - (ContinuousClock.now - start) }
            if let remaining, remaining <= .zero {
                throw NNGError(.timedOut, operation: "dial", address: url)
            }
            do {
                return try await dialOnce(url, security, timeout: remaining)
            } catch  where error.code == .tryAgain {
                try await Alarm.sleep(for: min(pause, remaining ?? pause), operation: "dial", address: url)
                pause = min(pause * 2, .milliseconds(16))
            }
        }
    }

    private static func dialOnce(
        _ url: String,
        _ security: (configuration: TLSConfiguration, serverName: String)?,
        timeout: Duration?
    ) async throws(NNGError) -> ByteStream {
        var pointer: OpaquePointer?
        let result = nng_stream_dialer_alloc(&pointer, url)
        guard result == 0, let pointer else {
            throw NNGError(.init(rawValue: result), operation: "dial", address: url)
        }
        let dialer = Handle(.dialer, owning: pointer, isEncrypted: security != nil)
        defer { dialer.close() }
        if let security {
            // A name is for one dialer, and no other thread has the pointer yet.
            try security.configuration.withParameters(serverName: security.serverName, operation: "dial", address: url) { parameters in
                var result = nng_stream_dialer_set_ptr(pointer, NNG_OPT_TLS_CONFIG, UnsafeMutableRawPointer(parameters))
                if result == 0 { result = nng_stream_dialer_set_bool(pointer, NNG_OPT_TCP_NODELAY, true) }
                if result == 0 { result = nng_stream_dialer_set_bool(pointer, NNG_OPT_TCP_KEEPALIVE, true) }
                return result
            }
        }
        let outcome = try await dialer.perform("dial", address: url, timeout: timeout) { dialer, aio in
            // An encrypted one looks the address up first, on a thread of its own.
            if security != nil { nng_stream_dialer_dial(dialer, aio) } else { Poller.standBack { nng_stream_dialer_dial(dialer, aio) } }
        }
        guard let stream = outcome.output else {
            throw NNGError(.connectionAborted, operation: "dial", address: url)
        }
        return ByteStream(adopting: stream, address: url, isEncrypted: security != nil)
    }
}
