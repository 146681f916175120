package import ConcurrencySupport
public import Logging
public import Ownership
import Placement
import Processes

/// A node of a cluster: the shell that carries out what `OwnershipMachine` says, with a store and a host of subtrees, and that places all
/// subtrees while it leads.
///
/// The node looks at its own clock before it does anything else, so that a process that was stopped for longer than its lease fences its
/// subtrees first.
public actor ClusterNode {
    /// What a node is, and how it behaves.
    public struct Options: Sendable {
        /// What the other nodes are to know of it.
        public var record: NodeRecord
        /// The times of its lease.
        public var terms: LeaseTerms
        /// What becomes of its subtrees when the lease can't be renewed in time.
        public var onStoreLoss: StoreLossPolicy
        /// Whether, as the leader, it moves subtrees to nodes that score higher, such as ones that have joined.
        public var rebalances: Bool
        /// The logger of the node.
        public var logger: Logger

        /// Creates options.
        ///
        /// - Parameters:
        ///   - record: What the other nodes are to know of it.
        ///   - terms: The times of its lease.
        ///   - onStoreLoss: What becomes of its subtrees when the lease can't be renewed in time.
        ///   - rebalances: Whether, as the leader, it moves subtrees to nodes that score higher.
        ///   - logger: The logger of the node.
        public init(
            record: NodeRecord,
            terms: LeaseTerms = LeaseTerms(),
            onStoreLoss: StoreLossPolicy = .fence,
            rebalances: Bool = false,
            logger: Logger
        ) {
            (self.record, self.terms, self.onStoreLoss) = (record, terms, onStoreLoss)
            (self.rebalances, self.logger) = (rebalances, logger)
        }
    }

    /// The work that a directive begins.
    typealias Job = @Sendable () async -> Void

    /// The start of a subtree under one epoch, so that its stop comes after it.
    struct Life {
        let epoch: Epoch
        /// Settled when the host has returned from the start.
        let started = OneShot<Void>()
        var isOver = false
        /// Why the subtree can't run on this node.
        var failure: String?
    }

    nonisolated let store: any ClusterStore
    nonisolated let host: any SubtreeHost
    nonisolated let options: Options
    var machine: OwnershipMachine
    var view = ClusterView()
    var lives: [String: Life] = [:]
    /// The record by which other nodes know this one; an operator's drain changes it.
    var record: NodeRecord
    var leadership: Leadership?
    var isElecting = false
    var isPlacing = false
    /// The subtrees that got no node in the last plan, so that each is logged once.
    var unplaced: Set<PlacementPlan.Unplaced> = []
    /// The entries that can't be read and were logged.
    var unreadable: Set<StoreKey> = []
    /// Whether the view has changed since the last plan was made.
    var isViewNew = false
    /// The subtrees that this node is to make known; `nil` for those that aren't to run any more.
    var wishes: [String: PlacementConstraints?] = [:]
    var isPublishing = false
    /// The time of the store's last answer about the lease.
    var lastAnswer: ContinuousClock.Instant?
    /// Why the store's last answer about the lease has failed; `nil`: it hasn't.
    var trouble: String?
    /// The last loss of a lease that the node's subtrees were stopped by.
    var loss: LeaseLoss?
    /// The number of leases that are being given back.
    var revocations = 0
    /// The time until which the node takes messages.
    nonisolated package let trust = LeaseTrust()
    /// The changes of what the node sees of the cluster, and of what it owns.
    nonisolated package let changes: ChangeSignal
    private let origin = ContinuousClock.now
    /// By the clock that the machine is told: a lease also ends while the machine sleeps.
    private var wakeTimer: Timers.Timer?
    private let jobs: AsyncStream<Job>
    private let newJob: AsyncStream<Job>.Continuation
    private nonisolated let hasLeft = OneShot<Void>()

    /// Creates a node that does nothing before ``run()``.
    ///
    /// - Parameters:
    ///   - store: The place where the nodes agree.
    ///   - host: What runs the subtrees.
    ///   - options: What the node is, and how it behaves.
    public init(_ store: any ClusterStore, host: any SubtreeHost, options: Options) {
        self.init(store, host: host, options: options, changes: ChangeSignal())
    }

    /// - Parameter changes: The signal in which the node notes its changes.
    package init(_ store: any ClusterStore, host: any SubtreeHost, options: Options, changes: ChangeSignal) {
        (self.store, self.host, self.options, self.changes) = (store, host, options, changes)
        record = options.record
        // Each subtree has its own limit of moves, by which the node decides.
        machine = OwnershipMachine(terms: options.terms, onStoreLoss: options.onStoreLoss, moveLimit: .max, now: .zero)
        (jobs, newJob) = AsyncStream.makeStream()
    }

    /// Joins the cluster, and runs subtrees until the node has left it.
    public func run() async {
        await withDiscardingTaskGroup { group in
            group.addTask { await self.watch() }
            tell(.timePassed)
            for await job in jobs { group.addTask { await job() } }
            group.cancelAll()
        }
        if let wakeTimer { ContinuousTimers.cancel(wakeTimer) }
    }

    /// Gives everything over and leaves the cluster; returns when that is done.
    public func leave() async {
        options.logger.notice("the node leaves the cluster")
        tell(.drainRequested)
        _ = await hasLeft.valueUnlessCancelled()
    }

    /// Takes note that a subtree has ended by itself, beyond its limit of restarts, and that nothing is left of it.
    ///
    /// - Parameters:
    ///   - path: The path of the subtree.
    ///   - epoch: The epoch under which it was started.
    ///   - reason: How it has ended.
    public func gaveUp(_ path: String, epoch: Epoch, because reason: String? = nil) {
        if lives[path]?.epoch == epoch { lives[path]?.failure = reason }
        tell(.gaveUp(path, epoch))
    }

    /// Returns the epoch under which the node may take messages for a subtree now; `nil` when it may not, as when it hands the subtree over.
    ///
    /// - Parameter path: The path of the subtree.
    public func epoch(of path: String) -> Epoch? { isEnding(path) ? nil : machine.epoch(of: path, at: now) }

    /// Whether the subtree's life on this node was told to stop; the node then takes no message for it.
    ///
    /// - Parameter path: The path of the subtree.
    public func isEnding(_ path: String) -> Bool { lives[path]?.isOver == true }

    // MARK: - The machine

    /// The continuous time since the node was made, which counts while the process is stopped and the machine sleeps.
    var now: Duration { ContinuousClock.now - origin }

    func time(_ instant: ContinuousClock.Instant) -> Duration { instant - origin }

    /// The time at which a request is given up.
    nonisolated var tryEnd: ContinuousClock.Instant { .now + options.terms.tryTimeout }

    /// The node's lease, trusted or frozen.
    var lease: NodeLease? {
        switch machine.state {
        case .member(let lease), .frozen(let lease): lease.identifier.map { NodeLease(id: $0, node: record.name) }
        case .joining, .left: nil
        }
    }

    func tell(_ event: OwnershipMachine.Event) {
        defer { changes.noteChange() }
        let (former, formerState) = (lease, machine.state)
        let directives = machine.handle(event, now: now)
        trust.reach(machine.trustEnd.map { origin + $0 })
        for directive in directives { perform(directive) }
        if let former, lease?.id != former.id {
            leadership = nil
            guard !machine.isLeaving else { return }
            noteLoss(of: former, event, directives)
        }
        noteMembership(since: formerState)
        if lease != former { considerElection() }
    }

    func enqueueJob(_ job: @escaping Job) { newJob.yield(job) }

    private func perform(_ directive: OwnershipMachine.Directive) {
        switch directive {
        case .join: enqueueJob { await self.join() }
        case .renew(let lease): enqueueJob { await self.renew(lease) }
        case .revoke(let lease):
            revocations += 1
            enqueueJob { await self.revoke(lease) }
        case .claim(let path, let lease): enqueueJob { await self.claim(path, lease) }
        case .release(let path, let epoch, let reason): enqueueJob { await self.release(path, epoch, reason) }
        case .start(let path, let epoch):
            lives[path] = Life(epoch: epoch)
            enqueueJob { await self.start(path, epoch) }
        case .fence(let path, let epoch):
            lives[path]?.isOver = true
            host.fence(path, epoch: epoch)
        case .stop(let path, let epoch, let drains):
            lives[path]?.isOver = true
            enqueueJob { await self.stop(path, epoch, drains: drains) }
        case .wake(let time):
            if let wakeTimer { ContinuousTimers.cancel(wakeTimer) }
            wakeTimer = ContinuousTimers.schedule(at: origin + time) { [weak self] in
                // The timer's thread must not wait for the actor.
                self?.newJob.yield { [weak self] in await self?.tell(.timePassed) }
            }
        case .left:
            leadership = nil
            endWhenLeft()
        }
    }

    /// Ends the run when the node has left, and its lease was given back.
    func endWhenLeft() {
        guard machine.state == .left, revocations == 0 else { return }
        hasLeft.settle()
        newJob.finish()
    }

    // MARK: - Subtrees

    private func start(_ path: String, _ epoch: Epoch) async {
        guard let life = lives[path], life.epoch == epoch else { return }
        defer { life.started.settle() }
        guard !life.isOver else { return }
        let metadata: Logger.Metadata = ["coordinator.path": "\(path)", "epoch": "\(epoch)"]
        options.logger.notice("the node owns a subtree and starts it", metadata: metadata)
        do {
            try await host.start(path, epoch: epoch)
        } catch {
            guard lives[path]?.epoch == epoch, lives[path]?.isOver == false else { return }
            options.logger.error("a subtree can't run on this node", metadata: metadata.merging(["error": "\(error)"]) { $1 })
            lives[path]?.failure = "\(error)"
            tell(.gaveUp(path, epoch))
        }
    }

    private func stop(_ path: String, _ epoch: Epoch, drains: Bool) async {
        guard let life = lives[path], life.epoch == epoch else { return tell(.stopped(path, epoch)) }
        options.logger.notice(
            drains ? "the node hands a subtree over" : "the node kills a subtree, whose epoch is over",
            metadata: ["coordinator.path": "\(path)", "epoch": "\(epoch)"]
        )
        await host.stop(path, drains: drains)
        // A start that was under way may have come after the stop.
        while await life.started.value(before: .now + .milliseconds(20)) == nil { await host.stop(path, drains: drains) }
        await host.stop(path, drains: drains)
        if lives[path]?.epoch == epoch { lives[path] = nil }
        tell(.stopped(path, epoch))
    }
}

extension OwnershipMachine.Lease {
    fileprivate var identifier: LeaseIdentifier? { LeaseIdentifier(rawValue: id) }
}
