import ConcurrencySupport

/// The open asks of a coordinator, which end when it stops.
final class OpenAsks: Sendable {
    private struct State {
        var envelopes: [ObjectIdentifier: Envelope] = [:]
        var isClosed = false
    }

    private let state = Lock(State())

    /// Whether the coordinator has stopped.
    var isClosed: Bool { state.withLock { $0.isClosed } }

    /// Adds an ask; returns false once the coordinator has stopped.
    func insert(_ envelope: Envelope) -> Bool {
        state.withLock { state in
            guard !state.isClosed else { return false }
            state.envelopes[ObjectIdentifier(envelope)] = envelope
            return true
        }
    }

    func remove(_ envelope: Envelope) {
        state.withLock { _ = $0.envelopes.removeValue(forKey: ObjectIdentifier(envelope)) }
    }

    /// Ends the open asks, and with `forGood` every later one too.
    func end(with error: CoordinatorError, forGood: Bool) {
        let envelopes = state.withLock { state in
            if forGood { state.isClosed = true }
            defer { state.envelopes = [:] }
            return state.envelopes.values
        }
        for envelope in envelopes { envelope.end(.failure(error)) }
    }
}
