package import Ownership

extension RevisionedStore {
    /// Makes a node the owner of a path that has none.
    public func claim(
        _ path: String,
        as owner: OwnerRecord,
        with lease: NodeLease,
        assigned assignment: StoreRevision?,
        until deadline: ContinuousClock.Instant
    ) async throws(StoreError) -> ClaimOutcome {
        let assigned = assignment.map { Transaction.Condition.modified(.assignment(path), $0) }
        return try await claim(.owner(path), as: owner, with: lease, if: assigned, until: deadline)
    }

    /// Makes a node the leader, if there is none.
    public func elect(_ candidate: OwnerRecord, with lease: NodeLease, until deadline: ContinuousClock.Instant)
        async throws(StoreError) -> ClaimOutcome
    {
        try await claim(.leader, as: candidate, with: lease, if: nil, until: deadline)
    }

    /// Gives a path up, if its owner is still that of the epoch.
    @discardableResult
    public func release(
        _ path: String,
        epoch: Epoch,
        leaving assignment: (value: [UInt8], since: StoreRevision)?,
        until deadline: ContinuousClock.Instant
    ) async throws(StoreError) -> Bool {
        guard let assignment else { return try await giveUp(.owner(path), epoch, until: deadline) }
        let isOurs = Transaction.Condition.created(.owner(path), StoreRevision(rawValue: epoch.rawValue))
        let isUnchanged = Transaction.Condition.modified(.assignment(path), assignment.since)
        var transaction = Transaction(.owner(path), .remove, if: [isOurs, isUnchanged], otherwise: [])
        transaction.others = [(.assignment(path), .put(assignment.value, lease: nil))]
        let whole = transaction
        let result = try await retrying("release \(path)", until: deadline) { limit throws(StoreError) in
            try await commit(whole, before: limit)
        }
        if case .written = result { return true }
        // The leader or an operator has decided otherwise meanwhile, or the path isn't owned under the epoch.
        return try await giveUp(.owner(path), epoch, until: deadline)
    }

    /// Gives the leadership up, if it's still that of the epoch.
    @discardableResult
    public func resign(epoch: Epoch, until deadline: ContinuousClock.Instant) async throws(StoreError) -> Bool {
        try await giveUp(.leader, epoch, until: deadline)
    }

    /// Returns the owner of a path; `nil` when it has none.
    public func resolve(_ path: String, until deadline: ContinuousClock.Instant) async throws(StoreError) -> Owner? {
        try await list(.key(.owner(path)), until: deadline).entries.first.map(Owner.init)
    }

    /// Returns entries as they were at one revision.
    public func list(_ range: StoreRange, until deadline: ContinuousClock.Instant) async throws(StoreError) -> StoreListing {
        try await retrying("list \(range)", until: deadline) { limit throws(StoreError) in try await read(range, before: limit) }
    }

    /// Makes a key that doesn't exist, on a lease.
    ///
    /// A try that was repeated after a lost answer finds the key on its own lease, and is granted what the earlier try got.
    private func claim(
        _ key: StoreKey,
        as owner: OwnerRecord,
        with lease: NodeLease,
        if condition: Transaction.Condition?,
        until deadline: ContinuousClock.Instant
    ) async throws(StoreError) -> ClaimOutcome {
        let conditions = [.created(key, nil)] + (condition.map { [$0] } ?? [])
        let transaction = Transaction(key, .put(owner.json, lease: lease.id), if: conditions, otherwise: [key])
        let result = try await retrying("claim \(key)", until: deadline) { limit throws(StoreError) in
            try await commit(transaction, before: limit)
        }
        switch result {
        case .written(let revision): return .granted(Epoch(rawValue: revision.rawValue))
        case .refused(let found):
            guard let entry = found.first else { return .notAssigned }
            let holder = Owner(entry)
            return holder.lease == lease.id ? .granted(holder.epoch) : .held(holder)
        }
    }

    private func giveUp(_ key: StoreKey, _ epoch: Epoch, until deadline: ContinuousClock.Instant) async throws(StoreError) -> Bool {
        let isOurs = Transaction.Condition.created(key, StoreRevision(rawValue: epoch.rawValue))
        let transaction = Transaction(key, .remove, if: [isOurs], otherwise: [])
        let result = try await retrying("release \(key)", until: deadline) { limit throws(StoreError) in
            try await commit(transaction, before: limit)
        }
        if case .written = result { return true }
        return false
    }
}
