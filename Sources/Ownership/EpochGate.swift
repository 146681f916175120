/// The receiver's side of fencing: it refuses what carries a lower epoch of a path than it has seen.
///
/// A receiver that keeps what it's told, as a log or a table does, keeps the highest epoch with that, and changes both at once: a gate that
/// forgets lets an old owner in again.
///
/// - Guarantees: the epochs that are admitted for a path never fall.
/// - Cost: an admission costs O(1); the gate remembers one number for each path.
public struct EpochGate: Sendable {
    /// The decision about a message or a write.
    public enum Decision: Hashable, Sendable {
        /// The epoch is the highest that was seen.
        case admitted
        /// A higher epoch was seen: the sender isn't the owner any more, and nothing of what it wants is done.
        case stale(Epoch)
    }

    private var highest: [String: Epoch] = [:]

    /// Creates a gate that has seen nothing.
    public init() {}

    /// Decides about what carries an epoch, and remembers the epoch.
    ///
    /// - Parameters:
    ///   - epoch: The epoch that the message carries.
    ///   - path: The path of the subtree whose owner has sent it.
    public mutating func admit(_ epoch: Epoch, of path: String) -> Decision {
        if let seen = highest[path], seen > epoch { return .stale(seen) }
        highest[path] = epoch
        return .admitted
    }

    /// Returns the highest epoch that was seen of a path.
    ///
    /// - Parameter path: The path of the subtree.
    public func highestEpoch(of path: String) -> Epoch? { highest[path] }
}
