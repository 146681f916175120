import ConcurrencySupport

/// The open asks of a coordinator, which end when it stops.
final class OpenAsks: Sendable {
    private struct State {
        var envelopes: Set<ByIdentity> = []
        var isClosed = false
    }

    private struct ByIdentity: Hashable {
        let envelope: Envelope
        static func == (left: Self, right: Self) -> Bool { left.envelope === right.envelope }
        func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(envelope)) }
    }

    private let state = Lock(State())

    /// Whether the coordinator has stopped.
    var isClosed: Bool { state.withLock { $0.isClosed } }

    /// Adds an ask; returns false once the coordinator has stopped.
    func insert(_ envelope: Envelope) -> Bool {
        state.withLock { state in
            guard !state.isClosed else { return false }
            state.envelopes.insert(ByIdentity(envelope: envelope))
            return true
        }
    }

    func remove(_ envelope: Envelope) {
        state.withLock { _ = $0.envelopes.remove(ByIdentity(envelope: envelope)) }
    }

    /// Ends the open asks, and with `forGood` every later one too.
    func end(with error: CoordinatorError, forGood: Bool) {
        let envelopes = state.withLock { state in
            if forGood { state.isClosed = true }
            defer { state.envelopes = [] }
            return state.envelopes
        }
        for open in envelopes { open.envelope.end(.failure(error)) }
    }
}
