// The node's lease: join, renewals, the deadline, and the end.

extension OwnershipMachine {
    /// Fences or freezes at the deadline, before anything else is done.
    ///
    /// - Parameter wasAbsent: Whether the machine is woken so late that its own process was stopped.
    mutating func lookAtDeadline(wasAbsent: Bool) {
        switch state {
        case .member(let lease) where now >= lease.deadline:
            if onStoreLoss == .freeze, !wasAbsent { state = .frozen(lease) } else { loseLease() }
        case .frozen:
            if wasAbsent { loseLease() }
        case .joining, .member, .left: break
        }
    }

    mutating func joined(_ id: Int64, sentAt: Duration, granted: Duration) {
        switch state {
        case .joining:
            let deadline = terms.deadline(sentAt: sentAt, granted: granted)
            guard deadline > now, !isLeaving else {
                directives.append(.revoke(lease: id))
                if !isLeaving { state = .joining(.due(at: now + terms.pause)) }
                return
            }
            state = .member(Lease(id: id, deadline: deadline, request: .due(at: sentAt + terms.renewalInterval)))
            claimSoon()
        case .member(let lease), .frozen(let lease):
            // An earlier request was answered late: its lease would keep nothing but a name.
            if lease.id != id { directives.append(.revoke(lease: id)) }
        case .left: directives.append(.revoke(lease: id))
        }
    }

    mutating func renewed(_ id: Int64, sentAt: Duration, granted: Duration) {
        guard var lease, lease.id == id else { return }
        lease.deadline = max(lease.deadline, terms.deadline(sentAt: sentAt, granted: granted))
        // The answer of an earlier try counts too, but a later one may be under way.
        switch lease.request {
        case .sent(let time) where time > sentAt: break
        case .sent, .due: lease.request = .due(at: sentAt + terms.renewalInterval)
        }
        switch state {
        case .member: state = .member(lease)
        case .frozen:
            guard lease.deadline > now else { return state = .frozen(lease) }
            state = .member(lease)
            claimSoon()
        case .joining, .left: break
        }
    }

    mutating func renewalFailed(_ id: Int64) {
        guard let lease, lease.id == id, case .sent = lease.request else { return }
        set(.due(at: now + terms.pause))
    }

    /// Replaces the request of the lease.
    private mutating func set(_ request: Request) {
        switch state {
        case .joining: state = .joining(request)
        case .member(var lease):
            lease.request = request
            state = .member(lease)
        case .frozen(var lease):
            lease.request = request
            state = .frozen(lease)
        case .left: break
        }
    }

    /// Fences everything, and begins anew with another lease.
    mutating func loseLease() {
        guard let lease else { return }
        state = .joining(.due(at: now))
        // First the epochs end, all of them; to stop what runs takes time.
        for subtree in subtrees {
            switch subtree.standing {
            case .running(let epoch), .stopping(let epoch): directives.append(.fence(subtree.path, epoch))
            case .waiting, .claiming, .ending, .releasing: break
            }
        }
        for index in subtrees.indices {
            switch subtrees[index].standing {
            case .running(let epoch), .stopping(let epoch):
                subtrees[index].standing = .ending(epoch, lease: lease.id)
                directives.append(.stop(subtrees[index].path, epoch, drains: false))
            case .claiming, .releasing: subtrees[index].standing = .waiting(until: now)
            case .waiting, .ending: break
            }
        }
        removeWhatIsOver()
        revokeIfUnused(lease.id)
    }

    /// Gives a lease back that isn't the node's any more, when nothing of its subtrees is left.
    ///
    /// It may live: answers were late, or the store was away. Its keys would be in the way of the next owner until it expires.
    mutating func revokeIfUnused(_ id: Int64) {
        guard lease?.id != id else { return }
        let isUsed = subtrees.contains { subtree in
            if case .ending(_, id) = subtree.standing { true } else { false }
        }
        if !isUsed { directives.append(.revoke(lease: id)) }
    }

    /// Sends what is due, and sends again what wasn't answered.
    mutating func repeatRequests() {
        switch state {
        case .joining(let request):
            guard !isLeaving, now >= request.dueTime(terms) else { return }
            set(.sent(at: now))
            directives.append(.join)
        case .member(let lease), .frozen(let lease):
            if now >= lease.request.dueTime(terms) {
                set(.sent(at: now))
                directives.append(.renew(lease: lease.id))
            }
            for index in subtrees.indices { repeatRequest(of: index, on: lease.id) }
        case .left: break
        }
    }

    mutating func drain() {
        guard !isLeaving, state != .left else { return }
        isLeaving = true
        for index in subtrees.indices { stopToHandOver(index) }
    }

    private var isFrozen: Bool { if case .frozen = state { true } else { false } }

    mutating func leaveIfNothingIsLeft() {
        guard isLeaving, state != .left else { return }
        for subtree in subtrees {
            switch subtree.standing {
            case .waiting: continue
            // The store is away, and may never answer; the lease that the keys are bound to isn't renewed any more.
            case .claiming where isFrozen, .releasing where isFrozen: continue
            case .claiming, .running, .stopping, .ending, .releasing: return
            }
        }
        if let lease { directives.append(.revoke(lease: lease.id)) }
        state = .left
        subtrees = []
        directives.append(.left)
    }
}
