// The node's subtrees: assignment, stop on all nodes, claim, loss, hand-over and failure.

extension OwnershipMachine {
    mutating func assign(_ path: String, moves: Int) {
        guard let index = index(of: path) else {
            let subtree = Subtree(path: path, isAssigned: true, moves: moves, standing: .waiting(until: now))
            return subtrees.insert(subtree, at: position(of: path))
        }
        subtrees[index].isAssigned = true
        subtrees[index].moves = moves
    }

    mutating func unassign(_ path: String) {
        guard let index = index(of: path) else { return }
        subtrees[index].isAssigned = false
        stopToHandOver(index)
        removeWhatIsOver()
    }

    /// Stops a path that an operator has stopped on all nodes, and claims it no more.
    mutating func stopEverywhere(_ path: String) {
        guard stoppedPaths.insert(path).inserted, let index = index(of: path) else { return }
        stopToHandOver(index)
    }

    mutating func startAgain(_ path: String) {
        guard stoppedPaths.remove(path) != nil, let index = index(of: path), case .waiting = subtrees[index].standing else { return }
        subtrees[index].standing = .waiting(until: now)
    }

    /// Whether the node is to run a subtree, or to claim it.
    func isWanted(_ subtree: Subtree) -> Bool { subtree.isAssigned && !isLeaving && !stoppedPaths.contains(subtree.path) }

    /// Stops a subtree that runs, after it has finished what it has taken.
    mutating func stopToHandOver(_ index: Int) {
        guard case .running(let epoch) = subtrees[index].standing else { return }
        subtrees[index].standing = .stopping(epoch)
        directives.append(.stop(subtrees[index].path, epoch, drains: true))
    }

    /// Claims at once what waits, since the node has a lease now.
    mutating func claimSoon() {
        for index in subtrees.indices {
            if case .waiting = subtrees[index].standing { subtrees[index].standing = .waiting(until: now) }
        }
    }

    mutating func repeatRequest(of index: Int, on lease: Int64) {
        let subtree = subtrees[index]
        switch subtree.standing {
        case .waiting(let time):
            guard isMember, isWanted(subtree), now >= time else { return }
            subtrees[index].standing = .claiming(.sent(at: now))
            directives.append(.claim(subtree.path, lease: lease))
        case .claiming(let request):
            guard now >= request.dueTime(terms) else { return }
            subtrees[index].standing = .claiming(.sent(at: now))
            directives.append(.claim(subtree.path, lease: lease))
        case .releasing(let epoch, let reason, let request):
            guard now >= request.dueTime(terms) else { return }
            subtrees[index].standing = .releasing(epoch, reason, .sent(at: now))
            directives.append(.release(subtree.path, epoch, reason))
        case .running, .stopping, .ending: break
        }
    }

    // MARK: - Claims

    /// Remembers that no key of a path is left that was created before a revision.
    private mutating func recordLoss(_ path: String, goneBefore revision: UInt64) {
        goneBefore[path] = max(goneBefore[path] ?? 0, revision)
    }

    /// The subtree of a claim that is under way on the lease that the node has.
    private func claiming(_ path: String, on id: Int64) -> Int? {
        guard let lease, lease.id == id, let index = index(of: path), case .claiming = subtrees[index].standing else { return nil }
        return index
    }

    mutating func claimed(_ path: String, on id: Int64, _ epoch: Epoch) {
        guard let index = claiming(path, on: id) else { return giveBack(path, epoch, on: id) }
        guard epoch.rawValue >= goneBefore[path] ?? 0 else { return subtrees[index].standing = .waiting(until: now) }
        if isWanted(subtrees[index]), isMember {
            subtrees[index].standing = .running(epoch)
            directives.append(.start(path, epoch))
        } else {
            // The assignment has changed meanwhile, an operator has stopped the path, or the lease can't be trusted: nothing was started under
            // this epoch.
            subtrees[index].standing = .releasing(epoch, .handedOver, .due(at: now))
        }
    }

    mutating func claimEnded(_ path: String, on id: Int64) {
        guard let index = claiming(path, on: id) else { return }
        // The key's deletion is told by the watch. The next try is for a watch that has missed it.
        subtrees[index].standing = .waiting(until: now + terms.renewalInterval)
        removeWhatIsOver()
    }

    mutating func claimFailed(_ path: String, on id: Int64) {
        guard let index = claiming(path, on: id) else { return }
        // It may have succeeded, so it's repeated even when the assignment has changed: a key that isn't known can't be released.
        subtrees[index].standing = .claiming(.due(at: now + terms.pause))
    }

    /// Releases a key that the node has got and doesn't want: the request of a claim was late, and the node has stopped to wait for it.
    private mutating func giveBack(_ path: String, _ epoch: Epoch, on id: Int64?) {
        guard let lease, lease.id == id, epoch.rawValue >= goneBefore[path] ?? 0, state != .left else { return }
        let standing = Standing.releasing(epoch, .handedOver, .due(at: now))
        guard let index = index(of: path) else {
            return subtrees.insert(Subtree(path: path, isAssigned: false, moves: 0, standing: standing), at: position(of: path))
        }
        switch subtrees[index].standing {
        case .waiting: subtrees[index].standing = standing
        case .claiming, .running, .stopping, .ending, .releasing: break
        }
    }

    // MARK: - Losses

    mutating func ownerSeen(_ path: String, _ epoch: Epoch, on id: Int64?) {
        if let id, id == lease?.id { giveBack(path, epoch, on: id) } else { recordLoss(path, goneBefore: epoch.rawValue) }
        guard let index = index(of: path) else { return }
        switch subtrees[index].standing {
        case .running(let own), .stopping(let own):
            // A key of this epoch that hangs on another lease was overwritten: it outlives the node.
            if epoch > own || epoch == own && id != lease?.id { lose(index, own) }
        case .releasing(let own, _, _):
            if epoch > own { release(index) }
        case .waiting, .claiming, .ending: break
        }
    }

    /// Takes note of a receiver that knows a later owner.
    ///
    /// The refusal may be late and tell of the epoch that the node has by now.
    mutating func refused(_ path: String, since epoch: Epoch) {
        guard let index = index(of: path) else { return }
        switch subtrees[index].standing {
        case .running(let own), .stopping(let own):
            if epoch > own { lose(index, own) }
        case .waiting, .claiming, .ending, .releasing: break
        }
    }

    mutating func ownerGone(_ path: String, at revision: UInt64) {
        recordLoss(path, goneBefore: revision)
        guard let index = index(of: path) else { return }
        switch subtrees[index].standing {
        case .running(let own), .stopping(let own):
            if revision > own.rawValue { lose(index, own) }
        case .releasing(let own, _, _):
            if revision > own.rawValue { release(index) }
        case .waiting: subtrees[index].standing = .waiting(until: now)
        case .claiming, .ending: break
        }
    }

    /// Fences a subtree whose key is gone or another's.
    private mutating func lose(_ index: Int, _ epoch: Epoch) {
        guard let lease else { return }
        let path = subtrees[index].path
        recordLoss(path, goneBefore: epoch.next.rawValue)
        subtrees[index].standing = .ending(epoch, lease: lease.id)
        directives += [.fence(path, epoch), .stop(path, epoch, drains: false)]
    }

    // MARK: - Ends

    mutating func stopped(_ path: String, _ epoch: Epoch, gaveUp: Bool) {
        guard let index = index(of: path) else { return }
        switch subtrees[index].standing {
        case .running(epoch):
            // Nothing that the machine has wanted: the subtree has failed here, whatever its end is called.
            let moves = subtrees[index].moves + 1
            let reason = moves > moveLimit ? ReleaseReason.givenUp : .failed(moves: moves)
            subtrees[index].standing = .releasing(epoch, reason, .due(at: now))
        case .stopping(epoch): subtrees[index].standing = .releasing(epoch, .handedOver, .due(at: now))
        case .ending(epoch, let lease):
            subtrees[index].standing = .waiting(until: now)
            removeWhatIsOver()
            revokeIfUnused(lease)
        case .waiting, .claiming, .running, .stopping, .ending, .releasing: break
        }
    }

    mutating func released(_ path: String, _ epoch: Epoch) {
        guard let index = index(of: path), case .releasing(epoch, _, _) = subtrees[index].standing else { return }
        release(index)
    }

    mutating func releaseFailed(_ path: String, _ epoch: Epoch) {
        guard let index = index(of: path), case .releasing(epoch, let reason, _) = subtrees[index].standing else { return }
        subtrees[index].standing = .releasing(epoch, reason, .due(at: now + terms.pause))
    }

    /// Takes note that a key isn't the node's any more.
    private mutating func release(_ index: Int) {
        guard case .releasing(let epoch, let reason, _) = subtrees[index].standing else { return }
        recordLoss(subtrees[index].path, goneBefore: epoch.next.rawValue)
        switch reason {
        case .handedOver: subtrees[index].standing = .waiting(until: now)
        // The assignment goes with the key. If it stays, the key had been deleted by another hand, and the failure wasn't told: the subtree
        // starts here again, and fails again.
        case .failed, .givenUp: subtrees[index].standing = .waiting(until: now + terms.timeToLive)
        }
        removeWhatIsOver()
    }

    /// Forgets the subtrees that aren't the node's, and of which it has nothing left.
    mutating func removeWhatIsOver() {
        subtrees.removeAll { subtree in
            guard !subtree.isAssigned else { return false }
            switch subtree.standing {
            case .waiting: return true
            case .claiming, .running, .stopping, .ending, .releasing: return false
            }
        }
    }
}
