import Ownership

extension RevisionedStore {
    /// Writes a value, if the guard holds at that moment.
    ///
    /// It's also a condition that the key is as it was when it was read: a try whose answer was lost may arrive after a later write of the same
    /// owner, and must not undo that.
    @discardableResult
    public func put(_ value: [UInt8]?, for key: StoreKey, guardedBy guard: StoreGuard, until deadline: ContinuousClock.Instant)
        async throws(StoreError) -> StoreRevision
    {
        let action = "write \(key)"
        var known: StoreRevision?
        var isKnown = false
        switch `guard` {
        case .unchanged(let revision), .placement(_, let revision): (known, isKnown) = (revision, true)
        case .owner, .leader, .node: break
        }
        var mayBeWritten = false
        while true {
            if !isKnown {
                known = try await list(.key(key), until: deadline).entries.first?.modified
                isKnown = true
            }
            let write: Transaction.Write =
                if let value { known == nil ? .put(value, lease: nil) : .replace(value) } else { .remove }
            let transaction = Transaction(
                key,
                write,
                if: [.modified(key, known)] + `guard`.conditions,
                otherwise: [key] + `guard`.keys.filter { $0 != key }
            )
            var triesBefore = mayBeWritten
            let result = try await retrying(action, until: deadline) { limit throws(StoreError) in
                do throws(StoreError) {
                    return try await commit(transaction, before: limit)
                } catch {
                    triesBefore = triesBefore || error.mayHaveHappened
                    throw error
                }
            }
            mayBeWritten = triesBefore
            guard case .refused(let found) = result else {
                guard case .written(let revision) = result else { continue }
                return revision
            }
            let present = found.first { $0.key == key }
            // An earlier try has written it, and its answer was lost.
            if mayBeWritten, let present, present.value == value, present.modified != known { return present.modified }
            if mayBeWritten, present == nil, value == nil { return known ?? StoreRevision(rawValue: 0) }
            try `guard`.check(found, key)
            // Another writer whom the guard allows was faster: this value is the later one.
            known = present?.modified
        }
    }
}

extension StoreGuard {
    /// The conditions beside that the key is as it was.
    fileprivate var conditions: [Transaction.Condition] {
        switch self {
        case .owner(let path, let epoch): [.created(.owner(path), StoreRevision(rawValue: epoch.rawValue))]
        case .leader(let epoch), .placement(let epoch, _): [.created(.leader, StoreRevision(rawValue: epoch.rawValue))]
        case .node(let lease): [.leased(.node(lease.node), lease.id)]
        case .unchanged: []
        }
    }

    /// The keys of these conditions.
    fileprivate var keys: [StoreKey] {
        switch self {
        case .owner(let path, _): [.owner(path)]
        case .leader, .placement: [.leader]
        case .node(let lease): [.node(lease.node)]
        case .unchanged: []
        }
    }

    /// Throws what the entries say against the guard.
    fileprivate func check(_ found: [StoreEntry], _ key: StoreKey) throws(StoreError) {
        let entry = found.first { $0.key == keys.first }
        switch self {
        case .owner(let path, let epoch):
            guard entry?.created.rawValue != epoch.rawValue else { return }
            throw .fenced("\(path) isn't owned under the epoch \(epoch) any more", key)
        case .leader(let epoch):
            guard entry?.created.rawValue != epoch.rawValue else { return }
            throw .fenced("the leadership of the epoch \(epoch) is over", key)
        case .node(let lease):
            guard entry?.lease != lease.id else { return }
            throw .fenced("node \(lease.node) hasn't the lease \(lease.id) any more", key)
        case .placement(let epoch, _):
            guard entry?.created.rawValue == epoch.rawValue else {
                throw .fenced("the leadership of the epoch \(epoch) is over", key)
            }
            throw .conflict(key)
        case .unchanged: throw .conflict(key)
        }
    }
}

extension StoreError {
    fileprivate static func conflict(_ key: StoreKey) -> StoreError {
        StoreError(code: .conflict, message: "Could not write \(key): it was changed meanwhile. Read it again.")
    }

    fileprivate static func fenced(_ reason: String, _ key: StoreKey) -> StoreError {
        StoreError(code: .fenced, message: "Could not write \(key): \(reason).")
    }
}
