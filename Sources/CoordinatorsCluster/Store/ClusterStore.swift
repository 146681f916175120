public import Ownership

/// The place where the nodes of a cluster keep what they must agree on: which nodes there are, which of them owns a path, and which one leads.
///
/// A node has one lease, which ``join(_:timeToLive:until:)`` gives it and ``renew(_:until:)`` keeps alive. What the node writes about itself
/// and about the paths that it owns hangs on that lease, and goes with it. An owner's ``Epoch`` grows with each owner of the path, so that
/// what an earlier owner still writes can be refused.
///
/// Every call has a deadline and may be cancelled. A store tries again by itself until the deadline, as long as trying again may help. An
/// error tells by ``StoreError/mayHaveHappened`` whether the call may have had its effect; each call may be repeated then, and finds
/// out what the earlier one has done.
///
/// ``LocalStore`` is for one machine, ``EtcdStore`` for several.
public protocol ClusterStore: Sendable {
    /// Adds a node to the cluster and gives it a lease.
    ///
    /// - Parameters:
    ///   - node: What the other nodes are to know of it.
    ///   - timeToLive: The time after which the lease ends when it isn't renewed; a store may give a longer one.
    ///   - deadline: The time at which the call gives up.
    /// - Returns: The lease, and the time from which it counts.
    /// - Throws: ``StoreError`` with the code ``StoreError/Code/nameTaken`` when another lease has a node of this name.
    func join(_ node: NodeRecord, timeToLive: Duration, until deadline: ContinuousClock.Instant) async throws(StoreError) -> LeaseRenewal

    /// Renews a node's lease.
    ///
    /// - Parameters:
    ///   - lease: The lease.
    ///   - deadline: The time at which the call gives up.
    /// - Returns: The time from which the lease counts now: that at which the request was sent.
    /// - Throws: ``StoreError`` with the code ``StoreError/Code/leaseLost`` when there is no such lease any more.
    func renew(_ lease: NodeLease, until deadline: ContinuousClock.Instant) async throws(StoreError) -> LeaseRenewal

    /// Ends a node's lease, with all that hangs on it; has no effect when the lease has ended.
    ///
    /// - Parameters:
    ///   - lease: The lease.
    ///   - deadline: The time at which the call gives up.
    func leave(_ lease: NodeLease, until deadline: ContinuousClock.Instant) async throws(StoreError)

    /// Makes a node the owner of a path that has none.
    ///
    /// A claim of a path that the same lease owns already is granted again, with the same epoch.
    ///
    /// After an error that may have happened, such as one by cancellation, the path may be owned: claim or resolve it again. A request that
    /// was given up may even arrive later, so that a watch shows an owner's key with the node's own lease and an unknown epoch: release that
    /// epoch, or take it.
    ///
    /// - Parameters:
    ///   - path: The path.
    ///   - owner: What the other nodes are to know of the owner.
    ///   - lease: The owner's lease, on which the ownership hangs.
    ///   - assignment: The revision of the path's assignment, when the claim is good only as long as that is unchanged; `nil`: always.
    ///   - deadline: The time at which the call gives up.
    /// - Returns: The epoch, or the owner that the path has.
    /// - Throws: ``StoreError`` with the code ``StoreError/Code/leaseLost`` when there is no such lease any more.
    func claim(
        _ path: String,
        as owner: OwnerRecord,
        with lease: NodeLease,
        assigned assignment: StoreRevision?,
        until deadline: ContinuousClock.Instant
    ) async throws(StoreError) -> ClaimOutcome

    /// Gives a path up, if its owner is still that of the epoch.
    ///
    /// - Parameters:
    ///   - path: The path.
    ///   - epoch: The epoch under which it was claimed.
    ///   - assignment: The value that the path's assignment gets in the same transaction, if the assignment is as it was at its last change,
    ///     which had this revision: a failed owner's note for the leader. When it has changed since then, the path alone is given up.
    ///   - deadline: The time at which the call gives up.
    /// - Returns: Whether the path was owned under that epoch. Also false when an earlier try has released it, and only its answer was lost.
    @discardableResult
    func release(
        _ path: String,
        epoch: Epoch,
        leaving assignment: (value: [UInt8], since: StoreRevision)?,
        until deadline: ContinuousClock.Instant
    ) async throws(StoreError) -> Bool

    /// Returns the owner of a path; `nil` when it has none.
    ///
    /// - Parameters:
    ///   - path: The path.
    ///   - deadline: The time at which the call gives up.
    func resolve(_ path: String, until deadline: ContinuousClock.Instant) async throws(StoreError) -> Owner?

    /// Returns entries as they were at one revision.
    ///
    /// - Parameters:
    ///   - range: The keys.
    ///   - deadline: The time at which the call gives up.
    func list(_ range: StoreRange, until deadline: ContinuousClock.Instant) async throws(StoreError) -> StoreListing

    /// Returns the changes after a revision, in their order, and without a gap, for as long as they are iterated.
    ///
    /// - Parameters:
    ///   - range: The keys.
    ///   - revision: The revision of a listing, or of the last change that was seen.
    func watch(_ range: StoreRange, after revision: StoreRevision) -> StoreWatch

    /// Writes a value, if the guard holds at that moment.
    ///
    /// A key that hangs on a lease stays with it.
    ///
    /// - Parameters:
    ///   - value: The value; `nil` removes the key.
    ///   - key: The key.
    ///   - guard: What must hold.
    ///   - deadline: The time at which the call gives up.
    /// - Returns: The revision of the write.
    /// - Throws: ``StoreError`` with the code ``StoreError/Code/fenced`` when the owner, the leader or the node isn't the guard's any more, or
    ///   ``StoreError/Code/conflict`` when the key isn't as the guard says.
    @discardableResult
    func put(_ value: [UInt8]?, for key: StoreKey, guardedBy guard: StoreGuard, until deadline: ContinuousClock.Instant)
        async throws(StoreError) -> StoreRevision

    /// Makes a node the leader, if there is none.
    ///
    /// A node that isn't elected watches ``StoreKey/leader``, and tries again when that is removed.
    ///
    /// - Parameters:
    ///   - candidate: What the other nodes are to know of the leader.
    ///   - lease: The candidate's lease, on which the leadership hangs.
    ///   - deadline: The time at which the call gives up.
    /// - Returns: The leadership's epoch, or the leader that there is; never ``ClaimOutcome/notAssigned``.
    func elect(_ candidate: OwnerRecord, with lease: NodeLease, until deadline: ContinuousClock.Instant) async throws(StoreError)
        -> ClaimOutcome

    /// Gives the leadership up, if it's still that of the epoch.
    ///
    /// - Parameters:
    ///   - epoch: The epoch of the leadership.
    ///   - deadline: The time at which the call gives up.
    /// - Returns: Whether the node was the leader under that epoch; as of ``release(_:epoch:until:)``.
    @discardableResult
    func resign(epoch: Epoch, until deadline: ContinuousClock.Instant) async throws(StoreError) -> Bool
}

extension ClusterStore {
    /// Gives a path up, if its owner is still that of the epoch, and leaves its assignment as it is.
    ///
    /// - Parameters:
    ///   - path: The path.
    ///   - epoch: The epoch under which it was claimed.
    ///   - deadline: The time at which the call gives up.
    /// - Returns: Whether the path was owned under that epoch. Also false when an earlier try has released it, and only its answer was lost.
    @discardableResult
    public func release(_ path: String, epoch: Epoch, until deadline: ContinuousClock.Instant) async throws(StoreError) -> Bool {
        try await release(path, epoch: epoch, leaving: nil, until: deadline)
    }

    /// Makes a node the owner of a path that has none, whatever the path's assignment is.
    ///
    /// - Parameters:
    ///   - path: The path.
    ///   - owner: What the other nodes are to know of the owner.
    ///   - lease: The owner's lease, on which the ownership hangs.
    ///   - deadline: The time at which the call gives up.
    /// - Returns: The epoch, or the owner that the path has.
    public func claim(_ path: String, as owner: OwnerRecord, with lease: NodeLease, until deadline: ContinuousClock.Instant)
        async throws(StoreError) -> ClaimOutcome
    {
        try await claim(path, as: owner, with: lease, assigned: nil, until: deadline)
    }
}
