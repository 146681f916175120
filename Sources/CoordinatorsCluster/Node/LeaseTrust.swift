import ConcurrencySupport

/// The time until which a node trusts its lease, compared with the clock before a message for a subtree is taken.
///
/// A process that was stopped, and goes on after the end of its lease, may get messages before the node's own timer fires. The comparison
/// takes no system call.
package final class LeaseTrust: Sendable {
    private let end = Lock<ContinuousClock.Instant?>(nil)

    /// Creates the trust of a node that has no lease.
    package init() {}

    /// Whether the node may take messages for the subtrees that it runs.
    package var isGiven: Bool { end.withLock { $0 }.map { ContinuousClock.now < $0 } ?? false }

    /// Takes note of the time until which the node trusts its lease; `nil`: it has none.
    func reach(_ end: ContinuousClock.Instant?) { self.end.withLock { $0 = end } }
}
