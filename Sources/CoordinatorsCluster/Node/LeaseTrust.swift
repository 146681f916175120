import ConcurrencySupport

/// The time until which a node trusts its lease, as any thread may ask before it takes a message for a subtree.
///
/// A process that goes on after its lease has ended may take messages before the node is told of the time. So each of them is compared with
/// the clock, which is no system call.
package final class LeaseTrust: Sendable {
    private let end = Lock<ContinuousClock.Instant?>(nil)

    /// Creates the trust of a node that has no lease.
    package init() {}

    /// Whether the node may take messages for the subtrees that it runs.
    package var isGiven: Bool { end.withLock { $0 }.map { ContinuousClock.now < $0 } ?? false }

    /// Takes note of the time until which the node trusts its lease; `nil`: it has none.
    func reach(_ end: ContinuousClock.Instant?) { self.end.withLock { $0 = end } }
}
