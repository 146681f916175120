import Ownership

extension RevisionedStore {
    /// Adds a node to the cluster and gives it a lease.
    public func join(_ node: NodeRecord, timeToLive: Duration, until deadline: ContinuousClock.Instant) async throws(StoreError)
        -> LeaseRenewal
    {
        let lease = NodeLease(id: .random(), node: node.name)
        let granted = try await retrying("get a lease for node \(node.name)", until: deadline) { limit throws(StoreError) in
            let sentAt = ContinuousClock.now
            if let time = try await grant(lease.id, timeToLive: timeToLive, before: limit) {
                return LeaseRenewal(lease: lease, sentAt: sentAt, timeToLive: time)
            }
            // An earlier try has made it, and its answer was lost.
            return try await renewal(of: lease, before: limit)
        }
        let key = StoreKey.node(node.name)
        let transaction = Transaction(key, .put(node.json, lease: lease.id), if: [.created(key, nil)], otherwise: [key])
        let result = try await retrying("add node \(node.name)", until: deadline) { limit throws(StoreError) in
            try await commit(transaction, before: limit)
        }
        if case .refused(let found) = result, found.first?.lease != lease.id {
            // The lease has nothing on it; if this fails it ends by itself.
            try? await revoke(lease.id, before: min(deadline, .now + tryLimit))
            throw StoreError(
                code: .nameTaken,
                message: "There is a node \(node.name) already. One that was killed stays until its lease ends; two nodes need two names."
            )
        }
        return granted
    }

    /// Renews a node's lease.
    public func renew(_ lease: NodeLease, until deadline: ContinuousClock.Instant) async throws(StoreError) -> LeaseRenewal {
        try await retrying("renew the lease of node \(lease.node)", until: deadline) { limit throws(StoreError) in
            try await renewal(of: lease, before: limit)
        }
    }

    /// Ends a node's lease, with all that hangs on it.
    public func leave(_ lease: NodeLease, until deadline: ContinuousClock.Instant) async throws(StoreError) {
        try await retrying("end the lease of node \(lease.node)", until: deadline) { limit throws(StoreError) in
            try await revoke(lease.id, before: limit)
        }
    }

    private func renewal(of lease: NodeLease, before limit: ContinuousClock.Instant) async throws(StoreError) -> LeaseRenewal {
        let sentAt = ContinuousClock.now
        guard let timeToLive = try await keepAlive(lease.id, before: limit) else { throw .leaseLost(lease.id) }
        return LeaseRenewal(lease: lease, sentAt: sentAt, timeToLive: timeToLive)
    }
}

extension StoreError {
    static func leaseLost(_ id: LeaseIdentifier) -> StoreError {
        StoreError(code: .leaseLost, message: "The lease \(id) has ended: it wasn't renewed in time, or was revoked. Join again.")
    }
}
