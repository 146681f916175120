internal import CNNG

extension ByteStream {
    /// Connects to a listener.
    ///
    /// A listener whose backlog is full (nng's holds 128 connections) is tried again until the time-out; a missing listener is not:
    /// that throws `.connectionRefused` at once. Without a time-out it tries until the task is cancelled, which throws `.canceled`.
    public static func dial(_ url: String, timeout: Duration? = nil) async throws(NNGError) -> ByteStream {
        try SocketPath.check(url, operation: "dial")
        let start = ContinuousClock.now
        var pause = Duration.milliseconds(1)
        while true {
            let remaining = timeout.map { $0 - (ContinuousClock.now - start) }
            if let remaining, remaining <= .zero {
                throw NNGError(.timedOut, operation: "dial", address: url)
            }
            do {
                return try await dialOnce(url, timeout: remaining)
            } catch  where error.code == .tryAgain {
                try await Alarm.sleep(for: min(pause, remaining ?? pause), operation: "dial", address: url)
                pause = min(pause * 2, .milliseconds(16))
            }
        }
    }

    private static func dialOnce(_ url: String, timeout: Duration?) async throws(NNGError) -> ByteStream {
        var pointer: OpaquePointer?
        let result = nng_stream_dialer_alloc(&pointer, url)
        guard result == 0, let pointer else {
            throw NNGError(.init(rawValue: result), operation: "dial", address: url)
        }
        let dialer = Handle(.dialer, owning: pointer)
        defer { dialer.close() }
        let outcome = try await dialer.perform("dial", address: url, timeout: timeout) { dialer, aio in
            Poller.standBack { nng_stream_dialer_dial(dialer, aio) }
        }
        guard let stream = outcome.output else {
            throw NNGError(.connectionAborted, operation: "dial", address: url)
        }
        return ByteStream(adopting: stream, address: url)
    }
}
