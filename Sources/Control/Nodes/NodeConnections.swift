import ConcurrencySupport
import NNG

/// The connections with other nodes that there are, to close those whose peers aren't trusted any more.
final class NodeConnections: Sendable {
    private struct Weak {
        weak var connection: PairConnection?
    }

    private let all = Lock<[Weak]>([])

    func add(_ connection: PairConnection) {
        all.withLock { all in
            all.removeAll { $0.connection == nil }
            all.append(Weak(connection: connection))
        }
    }

    /// Closes the connections whose peers' certificates the identity's lists say are revoked.
    func closeRevoked(by identity: NodeIdentity) {
        let revoked = all.withLock { $0.compactMap(\.connection) }.filter { $0.isRevoked(by: identity.security) }
        for connection in revoked { connection.close() }
    }
}
