import Ownership

/// A store with revisions, leases and transactions, as etcd has them: everything that ``ClusterStore`` asks for is made of these few calls,
/// in the same way for all such stores.
///
/// Each call is one try, which ends at its limit. A call may be repeated after an error: that finds what an earlier try has done.
package protocol RevisionedStore: ClusterStore {
    /// The longest time that one try may take.
    var tryLimit: Duration { get }

    /// Makes a lease, and returns the time that it lives; `nil` when there is one of this number already.
    func grant(_ id: LeaseIdentifier, timeToLive: Duration, before limit: ContinuousClock.Instant) async throws(StoreError) -> Duration?
    /// Renews a lease, and returns the time that it lives; `nil` when there is no such lease.
    func keepAlive(_ id: LeaseIdentifier, before limit: ContinuousClock.Instant) async throws(StoreError) -> Duration?
    /// Ends a lease, if there is one.
    func revoke(_ id: LeaseIdentifier, before limit: ContinuousClock.Instant) async throws(StoreError)
    /// Carries a transaction out.
    func commit(_ transaction: Transaction, before limit: ContinuousClock.Instant) async throws(StoreError) -> TransactionResult
    /// Returns entries as they are at one revision.
    func read(_ range: StoreRange, before limit: ContinuousClock.Instant) async throws(StoreError) -> StoreListing
}

/// A write that happens when all conditions hold, and else the entries of the keys that the writer looks at.
package struct Transaction: Sendable {
    package enum Condition: Sendable {
        /// The key was made at the revision; `nil`: there is no such key.
        case created(StoreKey, StoreRevision?)
        /// The key was changed last at the revision; `nil`: there is no such key.
        case modified(StoreKey, StoreRevision?)
        /// The key hangs on the lease.
        case leased(StoreKey, LeaseIdentifier)
    }

    package enum Write: Sendable {
        case put([UInt8], lease: LeaseIdentifier?)
        /// Writes a value to a key that exists, and leaves its lease as it is.
        case replace([UInt8])
        case remove
    }

    package let key: StoreKey
    package let write: Write
    package let conditions: [Condition]
    /// What is written to other keys at the same revision.
    package var others: [(key: StoreKey, write: Write)] = []
    /// The keys whose entries are returned when a condition doesn't hold.
    package let otherwise: [StoreKey]

    package init(_ key: StoreKey, _ write: Write, if conditions: [Condition], otherwise: [StoreKey]) {
        (self.key, self.write, self.conditions, self.otherwise) = (key, write, conditions, otherwise)
    }
}

package enum TransactionResult: Sendable {
    /// The write has happened, at this revision.
    case written(StoreRevision)
    /// Nothing was written; these are the entries of those keys that exist.
    case refused([StoreEntry])
}
