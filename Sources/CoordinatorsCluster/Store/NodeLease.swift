public import Ownership

/// The lease of a node, on which its entries hang.
///
/// It's a value: a program that takes the place of another in the same process renews the same lease.
public struct NodeLease: Hashable, Sendable {
    /// The number by which the store knows the lease.
    public let id: LeaseIdentifier
    /// The node that has it.
    public let node: NodeName

    /// Creates a lease that the store knows already.
    ///
    /// - Parameters:
    ///   - id: The number by which the store knows the lease.
    ///   - node: The node that has it.
    public init(id: LeaseIdentifier, node: NodeName) {
        (self.id, self.node) = (id, node)
    }
}

/// The number by which a store knows a lease.
public struct LeaseIdentifier: Hashable, Sendable, RawRepresentable {
    /// The number; greater than zero.
    public let rawValue: Int64

    /// Creates an identifier of a number.
    ///
    /// - Parameter rawValue: The number, greater than zero.
    public init(rawValue: Int64) { self.rawValue = rawValue }

    /// A number of a new lease, which the node chooses: a request that is repeated asks for the same lease.
    static func random() -> LeaseIdentifier { LeaseIdentifier(rawValue: .random(in: 1 ... .max)) }
}

extension LeaseIdentifier: CustomStringConvertible {
    /// The number in hexadecimal digits, as etcdctl writes it.
    public var description: String { String(rawValue, radix: 16) }
}

/// A lease that was given or renewed, and the time from which it counts.
public struct LeaseRenewal: Hashable, Sendable {
    /// The lease.
    public let lease: NodeLease
    /// The time at which the request was sent, before which the store can't have begun to count.
    public let sentAt: ContinuousClock.Instant
    /// The time for which the store keeps the lease from then on, at least.
    public let timeToLive: Duration

    /// Creates a renewal.
    ///
    /// - Parameters:
    ///   - lease: The lease.
    ///   - sentAt: The time at which the request was sent.
    ///   - timeToLive: The time for which the store keeps the lease.
    public init(lease: NodeLease, sentAt: ContinuousClock.Instant, timeToLive: Duration) {
        (self.lease, self.sentAt, self.timeToLive) = (lease, sentAt, timeToLive)
    }

    /// The time until which the lease is certain to live, by the clock of this machine; an owner stops some margin earlier.
    public var end: ContinuousClock.Instant { sentAt + timeToLive }
}
