/// A node's membership in a cluster and the subtrees that it owns, as a value: leases, claims, fencing and hand-over.
///
/// The machine takes events in the past tense and the time, and returns directives for its owner, the shell, to carry out in order. It does
/// nothing by itself and reads no clock, so the same events give the same directives.
///
/// Whatever the event, the machine first looks at the time. A process that was stopped past its deadline fences its subtrees before it does
/// anything with the answers that have come meanwhile; for that the shell's clock has to count the time for which the machine slept
/// (`CLOCK_BOOTTIME`, which Swift's `ContinuousClock` reads on Linux).
///
/// The shell carries ``Directive/fence(_:_:)`` out at once, and then ``Directive/stop(_:_:drains:)``, which takes its time. Before each
/// write it asks for ``epoch(of:at:)``, and before each message that it takes for a subtree it compares the time with that until which the
/// machine trusts its lease: a timer may be late.
///
/// - Guarantees: ``Directive/start(_:_:)`` is given with an epoch that the store has granted on the lease that the node trusts, once for each
///   epoch, and not before everything of the path's last life here has stopped. A path that an operator has stopped on all nodes isn't
///   started from when the node is told. A subtree that isn't fenced is stopped before its key is
///   released. After ``Directive/fence(_:_:)`` neither the subtree nor ``epoch(of:at:)`` gets that epoch again.
/// - Cost: an event costs O(subtrees of this node). A subtree may have any number of coordinators.
public struct OwnershipMachine: Sendable {
    /// The times of the lease.
    public let terms: LeaseTerms
    /// The policy for a lease that can't be renewed in time.
    public let onStoreLoss: StoreLossPolicy
    /// The number of nodes to which a subtree may move on because it fails.
    public let moveLimit: Int
    /// The progress of the node's membership.
    public internal(set) var state: State
    /// The subtrees that are assigned to the node, or of which it has something left, by path.
    public internal(set) var subtrees: [Subtree] = []
    /// The paths that operators have stopped on all nodes: the node claims none of them, and runs none.
    public internal(set) var stoppedPaths: Set<String> = []
    /// Whether the node is to give everything over and leave.
    public internal(set) var isLeaving = false

    /// The revision by which the keys that were created before are known to be gone, by path: an answer that is late may tell of one.
    var goneBefore: [String: UInt64] = [:]
    var now: Duration
    var directives: [Directive] = []
    /// The time of the latest ``Directive/wake(at:)``.
    var wake: Duration?

    /// Creates the machine of a node that joins.
    ///
    /// - Parameters:
    ///   - terms: The times of the lease.
    ///   - onStoreLoss: The policy for a lease that can't be renewed in time.
    ///   - moveLimit: The number of nodes to which a subtree may move on because it fails.
    ///   - now: The monotonic time since any fixed origin. The first event, `timePassed` at this time, begins the join.
    public init(terms: LeaseTerms, onStoreLoss: StoreLossPolicy = .fence, moveLimit: Int = 3, now: Duration) {
        (self.terms, self.onStoreLoss, self.moveLimit, self.now) = (terms, onStoreLoss, moveLimit, now)
        state = .joining(.due(at: now))
    }

    /// Takes note of an event and returns the directives to carry out, in order.
    ///
    /// - Parameters:
    ///   - event: What has happened.
    ///   - now: The monotonic time since the origin of `init`'s; it never runs backwards, and counts while the machine sleeps.
    public mutating func handle(_ event: Event, now: Duration) -> [Directive] {
        let wasAbsent = now - (wake ?? now) > terms.pause
        self.now = now
        lookAtDeadline(wasAbsent: wasAbsent)
        apply(event)
        repeatRequests()
        leaveIfNothingIsLeft()
        askToBeWoken()
        defer { directives = [] }
        return directives
    }

    /// The epoch under which the node may write for a subtree and take messages for it; `nil` when it may not.
    ///
    /// - Parameters:
    ///   - path: The path of the subtree.
    ///   - now: The time of the question, which may be later than that of the last event.
    public func epoch(of path: String, at now: Duration) -> Epoch? {
        guard let index = index(of: path), let trustEnd, now < trustEnd else { return nil }
        switch subtrees[index].standing {
        case .running(let epoch), .stopping(let epoch): return epoch
        case .waiting, .claiming, .ending, .releasing: return nil
        }
    }

    /// The time until which the node trusts its lease; `nil`: it doesn't.
    ///
    /// A member does so until the lease's deadline. A node that is frozen goes on, unless its own process was stopped: the machine would have been
    /// told of the time for which it has asked.
    package var trustEnd: Duration? {
        switch state {
        case .joining, .left: nil
        case .member(let lease): lease.deadline
        case .frozen: (wake ?? now) + terms.pause
        }
    }
}

extension OwnershipMachine {
    /// Decides about every event.
    private mutating func apply(_ event: Event) {
        switch event {
        case .joined(let lease, let sentAt, let granted): joined(lease, sentAt: sentAt, granted: granted)
        case .joinFailed:
            if case .joining = state { state = .joining(.due(at: now + terms.pause)) }
        case .renewed(let lease, let sentAt, let granted): renewed(lease, sentAt: sentAt, granted: granted)
        case .renewalFailed(let lease): renewalFailed(lease)
        case .leaseLost(let id):
            if let lease, lease.id == id { loseLease() }
        case .assigned(let path, let moves): assign(path, moves: moves)
        case .unassigned(let path): unassign(path)
        case .stopRequested(let path): stopEverywhere(path)
        case .startRequested(let path): startAgain(path)
        case .claimed(let path, let lease, let epoch): claimed(path, on: lease, epoch)
        case .claimRefused(let path, let lease): claimEnded(path, on: lease)
        case .claimFailed(let path, let lease): claimFailed(path, on: lease)
        case .ownerSeen(let path, let epoch, let lease): ownerSeen(path, epoch, on: lease)
        case .ownerGone(let path, let revision): ownerGone(path, at: revision)
        case .refusedAsStale(let path, let epoch): refused(path, since: epoch)
        case .stopped(let path, let epoch): stopped(path, epoch, gaveUp: false)
        case .gaveUp(let path, let epoch): stopped(path, epoch, gaveUp: true)
        case .released(let path, let epoch): released(path, epoch)
        case .releaseFailed(let path, let epoch): releaseFailed(path, epoch)
        case .drainRequested: drain()
        case .timePassed: break
        }
    }

    private mutating func askToBeWoken() {
        let next = nextTime
        guard let next, next != wake || next <= now else { return wake = next }
        wake = next
        directives.append(.wake(at: next))
    }

    /// The first time at which something is due.
    private var nextTime: Duration? {
        var next: Duration?
        func consider(_ time: Duration) { next = min(next ?? time, time) }
        switch state {
        case .joining(let request):
            if !isLeaving { consider(request.dueTime(terms)) }
        case .member(let lease):
            consider(lease.request.dueTime(terms))
            consider(lease.deadline)
        case .frozen(let lease): consider(lease.request.dueTime(terms))
        case .left: return nil
        }
        guard lease != nil else { return next }
        for subtree in subtrees {
            switch subtree.standing {
            case .waiting(let time): if isWanted(subtree), isMember { consider(time) }
            case .claiming(let request), .releasing(_, _, let request): consider(request.dueTime(terms))
            case .running, .stopping, .ending: break
            }
        }
        return next
    }
}
