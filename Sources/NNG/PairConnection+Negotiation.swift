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
