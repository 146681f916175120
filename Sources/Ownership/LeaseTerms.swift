/// The times of a node's lease: how long the store keeps it, when it's renewed, and how much earlier the node stops to trust it.
///
/// The node and the store count the same seconds with two clocks. The node starts before the store does, when it sends the request, and ends
/// ``margin`` earlier. So the node has stopped when the store gives its subtrees away, as long as during ``timeToLive`` the clocks differ by
/// less than the margin, less the time that a subtree takes to be killed.
public struct LeaseTerms: Hashable, Sendable {
    /// The time for which the store keeps a lease that isn't renewed.
    public let timeToLive: Duration
    /// The time by which the node stops earlier than the store may give its subtrees away.
    public let margin: Duration

    /// Creates the terms of a time to live.
    ///
    /// - Parameters:
    ///   - timeToLive: The time for which the store keeps a lease that isn't renewed.
    ///   - margin: The time by which the node stops earlier; `nil`: a tenth of the time to live, 300 ms at least.
    public init(timeToLive: Duration = .seconds(5), margin: Duration? = nil) {
        self.timeToLive = timeToLive
        self.margin = margin ?? max(timeToLive / 10, .milliseconds(300))
    }

    /// The time from one renewal that succeeds to the next: a third of the time to live.
    public var renewalInterval: Duration { timeToLive / 3 }
    /// The time after which a request without an answer is sent again: a quarter of the time to live.
    public var tryTimeout: Duration { timeToLive / 4 }
    /// The time from a request that has failed to the next: a twelfth of the time to live.
    public var pause: Duration { timeToLive / 12 }

    /// Returns the time at which the node stops to trust a lease.
    ///
    /// - Parameters:
    ///   - sentAt: The time at which the request was sent that the store has answered. Not that of the answer: the store has counted since.
    ///   - granted: The time to live that the store has answered; a store may grant less than is asked for.
    public func deadline(sentAt: Duration, granted: Duration) -> Duration {
        sentAt + min(granted, timeToLive) - margin
    }
}
