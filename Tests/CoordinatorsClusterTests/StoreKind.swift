import ConcurrencySupport
import CoordinatorsCluster
import Testing

/// The stores on which the same tests run.
enum StoreKind: String, CaseIterable, CustomTestStringConvertible {
    case local
    /// A local store whose tries fail at random.
    case faulty
    case etcd
    /// etcd, reached by tries that fail at random.
    case faultyEtcd

    var testDescription: String { rawValue }

    /// A time for which such a store gives a lease, and in which it can be renewed on a busy machine.
    var leaseTime: Duration {
        switch self {
        case .local, .faulty: .seconds(2)
        case .etcd, .faultyEtcd: .seconds(3)
        }
    }

    /// Runs a test on a store of its own.
    func with(_ test: String = #function, _ body: (any ClusterStore) async throws -> Void) async throws {
        switch self {
        case .local: try await body(LocalStore(epochs: nil))
        case .faulty: try await body(FaultyStore(LocalStore(epochs: nil), test: test))
        case .etcd: try await EtcdMembers.shared.withStore(body)
        case .faultyEtcd: try await EtcdMembers.shared.withStore { try await body(FaultyStore($0, test: test)) }
        }
    }
}

/// A deadline that no test reaches on a machine that isn't busy beyond measure.
var soon: ContinuousClock.Instant { .now + .seconds(30) }

/// A node that has joined.
struct Joined: Sendable {
    let node: NodeRecord
    let lease: NodeLease
}

extension NodeRecord {
    static func test(_ name: String) throws -> NodeRecord {
        NodeRecord(
            name: try #require(NodeName(name)),
            address: "tls+tcp://\(name):7000",
            labels: ["zone": "west"],
            capacity: 4,
            version: "1.2"
        )
    }

    var owner: OwnerRecord { OwnerRecord(node: name, address: address) }
}

extension ClusterStore {
    /// Adds a node with a lease that outlives the test.
    func joined(_ name: String) async throws -> Joined {
        let node = try NodeRecord.test(name)
        return Joined(node: node, lease: try await join(node, timeToLive: .seconds(120), until: soon).lease)
    }

    /// Claims a path, which must have no owner.
    func owned(_ path: String, by node: Joined) async throws -> Epoch {
        let outcome = try await claim(path, as: node.node.owner, with: node.lease, until: soon)
        guard case .granted(let epoch) = outcome else {
            Issue.record("\(path) wasn't granted: \(outcome)")
            throw CancellationError()
        }
        return epoch
    }

    func entry(_ key: StoreKey) async throws -> StoreEntry? { try await list(.key(key), until: soon).entries.first }
}

extension StoreWatch.AsyncIterator {
    /// Waits for as many changes as that.
    mutating func changes(_ count: Int) async -> [StoreChange] {
        var changes: [StoreChange] = []
        while changes.count < count, let event = await next() {
            if case .changed(let some) = event { changes += some }
            if case .outdated = event { break }
        }
        return changes
    }
}

/// Runs an action that must fail, and returns its error.
func failure(_ action: () async throws -> Void, sourceLocation: SourceLocation = #_sourceLocation) async -> StoreError? {
    do {
        try await action()
        Issue.record("nothing failed", sourceLocation: sourceLocation)
    } catch let error as StoreError {
        return error
    } catch {
        Issue.record("another error: \(error)", sourceLocation: sourceLocation)
    }
    return nil
}
