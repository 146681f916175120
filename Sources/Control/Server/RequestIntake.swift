import ConcurrencySupport
public import WireProtocol

/// The intake of new requests, which is closed while another program takes the daemon's place.
final class RequestIntake: Sendable {
    private struct State {
        var isClosed = false
        var open = 0
        var streams: [ObjectIdentifier: OneShot<Void>] = [:]
    }

    private let state = Lock(State())

    static let closed = ControlError(.upgrading, "another program is taking the daemon's place; make the request again in a moment")

    static let abandoned = ControlError(
        .failed,
        "the request was open when another program took the daemon's place (peerLost); what it has done is unknown"
    )

    /// Whether new requests are refused.
    var isClosed: Bool { state.withLock { $0.isClosed } }

    /// The number of open requests, without streams and upgrades, whose answers haven't been sent.
    var openCount: Int { state.withLock { $0.open } }

    /// Counts a request in.
    ///
    /// - Returns: False when it's refused.
    func admit(_ operation: ControlOperation, _ cancellation: OneShot<Void>) -> Bool {
        state.withLock { state in
            // A repeated request for the upgrade gets its outcome.
            if state.isClosed, !operation.isUpgrade { return false }
            if operation.isStream { state.streams[ObjectIdentifier(cancellation)] = cancellation }
            if operation.isCounted { state.open += 1 }
            return true
        }
    }

    func end(_ operation: ControlOperation, _ cancellation: OneShot<Void>) {
        state.withLock { state in
            state.streams[ObjectIdentifier(cancellation)] = nil
            if operation.isCounted { state.open -= 1 }
        }
    }

    /// Refuses new requests from now on, and ends the streams.
    func close() {
        let streams = state.withLock { state in
            state.isClosed = true
            return Array(state.streams.values)
        }
        for stream in streams { stream.settle() }
    }

    func open() { state.withLock { $0.isClosed = false } }
}

extension ControlOperation {
    fileprivate var isCounted: Bool { !isStream && !isUpgrade }
}

extension ControlServer {
    /// Refuses new requests with `upgrading`, and ends the streams; open requests go on.
    public func suspend() { intake.close() }

    /// Takes requests again.
    public func resume() { intake.open() }

    /// Whether requests are open, other than streams and the request for an upgrade.
    public var hasOpenRequests: Bool { intake.openCount > 0 }

    /// Takes note of a change that was requested of the former program in this process, and repeated here: it isn't carried out again.
    ///
    /// - Returns: A function to be called with the outcome.
    public func expect(
        _ operation: ControlOperation,
        requestID: String
    ) -> @Sendable (Result<JSONValue, ControlError>) -> Void {
        _ = ledger.openEntry(requestID, operation, of: .user(-1))
        return { [ledger] outcome in ledger.end(requestID, outcome) }
    }
}
