import ConcurrencySupport
import Logging
import Ownership

// What the node asks of the store: its lease, and the keys of its subtrees.

extension ClusterNode {
    /// What other nodes see of the node as an owner or a leader.
    var owner: OwnerRecord { OwnerRecord(node: record.name, address: record.address) }

    func join() async {
        do throws(StoreError) {
            let renewal = try await store.join(record, timeToLive: options.terms.timeToLive, until: tryEnd)
            options.logger.notice("the node has joined the cluster", metadata: ["lease": "\(renewal.lease.id)"])
            hasAnswered()
            tell(.joined(lease: renewal.lease.id.rawValue, sentAt: time(renewal.sentAt), granted: renewal.timeToLive))
            considerPublication()
        } catch {
            // Once, and not with each try; the reason of the latest one is `trouble`.
            let level: Logger.Level = trouble == nil ? .warning : .debug
            options.logger.log(level: level, "the node can't join the cluster yet, and goes on trying", metadata: ["error": "\(error)"])
            trouble = error.message
            tell(.joinFailed)
        }
    }

    func renew(_ id: Int64) async {
        do throws(StoreError) {
            let renewal = try await store.renew(lease(id), until: tryEnd)
            hasAnswered()
            tell(.renewed(lease: id, sentAt: time(renewal.sentAt), granted: renewal.timeToLive))
        } catch {
            if error.code == .leaseLost { return tell(.leaseLost(lease: id)) }
            options.logger.warning("the node's lease couldn't be renewed", metadata: ["error": "\(error)"])
            trouble = error.message
            tell(.renewalFailed(lease: id))
        }
    }

    func revoke(_ id: Int64) async {
        // It expires anyway.
        try? await store.leave(lease(id), until: tryEnd)
        revocations -= 1
        endWhenLeft()
    }

    private func lease(_ id: Int64) -> NodeLease { NodeLease(id: LeaseIdentifier(rawValue: id), node: record.name) }

    func claim(_ path: String, _ id: Int64) async {
        do throws(StoreError) {
            guard let assignment = view.assignments[path], assignment.value.node == record.name else {
                // An earlier try, whose answer was lost, may have made the key: it would stay as long as the lease.
                guard let holder = try await store.resolve(path, until: tryEnd), holder.lease == lease(id).id else {
                    return tell(.claimRefused(path, lease: id))
                }
                return tell(.claimed(path, lease: id, holder.epoch))
            }
            switch try await store.claim(path, as: owner, with: lease(id), assigned: assignment.modified, until: tryEnd) {
            case .granted(let epoch): tell(.claimed(path, lease: id, epoch))
            case .held, .notAssigned: tell(.claimRefused(path, lease: id))
            }
        } catch {
            tell(error.code == .leaseLost ? .leaseLost(lease: id) : .claimFailed(path, lease: id))
        }
    }

    func release(_ path: String, _ epoch: Epoch, _ reason: OwnershipMachine.ReleaseReason) async {
        do throws(StoreError) {
            try await store.release(path, epoch: epoch, leaving: note(of: path, reason), until: tryEnd)
            tell(.released(path, epoch))
        } catch {
            tell(.releaseFailed(path, epoch))
        }
    }

    /// The note of a failure for the leader; `nil` when the subtree is handed over.
    private func note(of path: String, _ reason: OwnershipMachine.ReleaseReason) -> (value: [UInt8], since: StoreRevision)? {
        switch reason {
        case .handedOver: return nil
        case .failed, .givenUp: break
        }
        guard let known = view.assignments[path], known.value.node == record.name else { return nil }
        var assignment = known.value
        assignment.node = nil
        assignment.failures.removeAll { $0.node == record.name.description }
        let failure = lives[path]?.failure.map { String($0.prefix(Self.longestReason)) }
        assignment.failures.append(.init(node: record.name.description, lease: lease?.id.rawValue ?? 0, reason: failure))
        assignment.isGivenUp = assignment.failures.count > view.wishes[path]?.value.moves ?? 0
        options.logger.error(
            assignment.isGivenUp ? "a subtree has failed on as many nodes as it may" : "a subtree has failed here and is moved on",
            metadata: ["coordinator.path": "\(path)", "failures": "\(assignment.failures.count)"]
        )
        return (assignment.json, known.modified)
    }

    /// The length of the longest reason that is written to the store, in characters.
    private static let longestReason = 200

    // MARK: - The watch

    /// Lists the cluster's keys and follows their changes, until the task is cancelled.
    func watch() async {
        var isBlind = false
        while !Task.isCancelled {
            do throws(StoreError) {
                let listing = try await store.list(.everything, until: tryEnd)
                if isBlind { options.logger.notice("the node sees the cluster's keys again") }
                isBlind = false
                see(listing)
                for await event in store.watch(.everything, after: listing.revision) {
                    switch event {
                    case .changed(let changes): see(changes)
                    case .interrupted(let error):
                        options.logger.warning("the node doesn't see changes of the cluster", metadata: ["error": "\(error)"])
                    case .outdated: break
                    }
                }
            } catch {
                // Once, and not with each try.
                if !isBlind, !Task.isCancelled {
                    options.logger.warning("the node can't list the cluster's keys", metadata: ["error": "\(error)"])
                }
                isBlind = true
                try? await TimeSource.monotonic.sleep(until: .now + options.terms.pause)
            }
        }
    }

    private func see(_ listing: StoreListing) {
        let former = view
        if listing.revision < former.revision {
            options.logger.error(
                """
                the store's revision has gone back: it was restored from a backup, or is another one. Epochs are revisions, so that no owner is \
                sure: stop all nodes, have etcd begin at a greater revision (`snapshot restore --bump-revision`), and start them again
                """,
                metadata: ["revision": "\(listing.revision.rawValue)", "seen": "\(former.revision.rawValue)"]
            )
        }
        view = ClusterView(listing, after: former)
        // Before the assignments, so that nothing is claimed that an operator has stopped.
        for path in Set(former.wishes.keys).union(view.wishes.keys) { seeWish(path) }
        for path in Set(former.assignments.keys).union(view.assignments.keys).union(machine.subtrees.map(\.path)) { seeAssignment(path) }
        for (path, owner) in view.owners { tell(.ownerSeen(path, owner.epoch, lease: owner.lease?.rawValue)) }
        for path in Set(former.owners.keys).union(machine.subtrees.map(\.path)) where view.owners[path] == nil {
            tell(.ownerGone(path, revision: listing.revision.rawValue))
        }
        lookAround()
    }

    private func see(_ changes: [StoreChange]) {
        for change in changes {
            view.apply(change)
            switch change.key {
            case .desired(let path): seeWish(path)
            case .assignment(let path): seeAssignment(path)
            case .owner(let path):
                if let entry = change.entry {
                    tell(.ownerSeen(path, Epoch(rawValue: entry.created.rawValue), lease: entry.lease?.rawValue))
                } else {
                    tell(.ownerGone(path, revision: change.revision.rawValue))
                }
            case .node, .leader, .checkpoint: break
            }
        }
        lookAround()
    }

    /// Logs the entries that can't be read, each once.
    private func nameUnreadable() {
        let present = Set(view.unreadable.keys)
        for key in present.subtracting(unreadable).sorted(by: { $0.description < $1.description }).prefix(Self.mostUnreadableLogged) {
            options.logger.warning(
                "an entry of the cluster's store can't be read and is ignored",
                metadata: ["entry": "\(key)", "entries": "\(present.count)"]
            )
        }
        unreadable = present
    }

    /// The number of entries that are logged at once: whoever writes to the store can make any number.
    private static let mostUnreadableLogged = 20

    private func seeWish(_ path: String) {
        let isStopped = view.wishes[path]?.value.isStopped == true
        guard isStopped != machine.stoppedPaths.contains(path) else { return }
        tell(isStopped ? .stopRequested(path) : .startRequested(path))
    }

    /// Takes note that the store has answered.
    private func hasAnswered() { (lastAnswer, trouble) = (.now, nil) }

    private func seeAssignment(_ path: String) {
        if let assignment = view.assignments[path]?.value, assignment.node == record.name {
            tell(.assigned(path, moves: assignment.failures.count))
        } else {
            tell(.unassigned(path))
        }
    }

    /// Does what follows from a new view.
    private func lookAround() {
        defer { changes.noteChange() }
        isViewNew = true
        nameUnreadable()
        host.viewChanged(view)
        if let own = view.nodes[record.name], own.lease == lease?.id { record.isDraining = own.value.isDraining }
        considerElection()
        considerPlacement()
    }
}
