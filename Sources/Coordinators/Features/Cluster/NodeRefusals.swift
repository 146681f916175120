import ConcurrencySupport

/// The children for which this node has refused messages of another node on a link, each in the latest epoch that was meant.
///
/// Later messages are refused too until the other node asks, because it may have sent them before it got the first one back.
final class NodeRefusals: Sendable {
    private let epochs = Lock<[String: UInt64]>([:])

    func includes(_ target: NodeTarget) -> Bool { epochs.withLock { $0[target.key] == target.epoch } }

    func note(_ target: NodeTarget) { epochs.withLock { $0[target.key] = target.epoch } }

    func lift(_ target: NodeTarget) {
        epochs.withLock { if $0[target.key] == target.epoch { $0[target.key] = nil } }
    }
}
