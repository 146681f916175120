import Ownership
import SimulationSupport
import Supervision

// The nodes: their clocks, their networks, and what the shell around the machine does.

extension OwnershipWorld {
    struct Node {
        let name: NodeName
        let rate: Double
        /// The time that the node's clock showed at the world's time 0.
        var origin: Duration
        var machine: OwnershipMachine
        var life = 0
        var isAlive = false
        var isStopped = false
        /// The number of stops so far.
        var stops = 0
        var stoppedAt = 0
        /// What waits for a stopped process.
        var inbox: [OwnershipMachine.Event] = []
        var cut = (toStore: false, fromStore: false)
        var isDraining = false
        /// The time after which a node that has left starts again.
        var downtime = 0
        /// The number of the latest wake.
        var wakes = 0
        /// The number of changes that the node has seen; `nil`: it hasn't listed the keys yet.
        var seen: Int?
        var latestChange = 0
        /// The paths of which the node has seen that they are stopped on all nodes.
        var sawStopped: Set<Int> = []
        var hasJoined = false

        init(_ number: Int, rate: Double, machine: OwnershipMachine) {
            guard let name = NodeName("node\(number)") else { preconditionFailure() }
            self.name = name
            self.rate = rate
            origin = .seconds(1_000 * number)
            self.machine = machine
        }
    }

    func newMachine() -> OwnershipMachine {
        let timeToLive = Duration.milliseconds(scenario.timeToLive)
        let terms = LeaseTerms(timeToLive: timeToLive, margin: fault == .leavesNoMargin ? .zero : nil)
        return OwnershipMachine(terms: terms, onStoreLoss: scenario.freezes ? .freeze : .fence, moveLimit: 2, now: .zero)
    }

    /// The time by the clock of a node.
    func now(_ node: Int) -> Duration { nodes[node].origin + .microseconds(Int(Double(time) * 1_000 * nodes[node].rate)) }

    // MARK: - Life

    func boot(_ node: Int) {
        nodes[node].life += 1
        nodes[node].isAlive = true
        nodes[node].isDraining = false
        nodes[node].hasJoined = false
        nodes[node].seen = nil
        nodes[node].sawStopped = []
        nodes[node].machine = newMachine()
        later(.wake(node: node, life: nodes[node].life, number: nodes[node].wakes), in: 1)
        later(.list(node: node, life: nodes[node].life), in: delay())
    }

    func kill(_ node: Int) {
        nodes[node].isAlive = false
        nodes[node].isStopped = false
        nodes[node].life += 1
        nodes[node].inbox = []
        // What the kernel does to the processes of subtrees.
        for process in processes.indices where processes[process].node == node && processes[process].end == nil {
            processes[process].end = .killed
        }
    }

    func stop(_ node: Int, for duration: Int) {
        guard nodes[node].isAlive, !nodes[node].isStopped else { return }
        nodes[node].isStopped = true
        nodes[node].stops += 1
        nodes[node].stoppedAt = time
        later(.goOn(node: node, stop: nodes[node].stops), in: duration)
    }

    func goOnAgain(_ node: Int, _ stop: Int) throws(OwnershipViolation) {
        guard nodes[node].isStopped, nodes[node].stops == stop else { return }
        note("  node \(node) goes on")
        nodes[node].isStopped = false
        if fault == .sleepsWithTheMachine {
            nodes[node].origin -= .microseconds(Int(Double(time - nodes[node].stoppedAt) * 1_000 * nodes[node].rate))
        }
        // A thread of a subtree may be the first to run.
        for process in processes.indices where processes[process].node == node && processes[process].isRunning { try write(process) }
        let inbox = nodes[node].inbox
        nodes[node].inbox = []
        for event in inbox { try tell(node, event) }
    }

    func heal(_ node: Int) {
        guard nodes[node].cut.toStore || nodes[node].cut.fromStore else { return }
        nodes[node].cut = (false, false)
        // The watch goes on behind the last change that has come.
        if let seen = nodes[node].seen { for index in seen..<store.changes.count { watch(node, index) } }
    }

    // MARK: - Watch

    func list(_ node: Int, _ life: Int) throws(OwnershipViolation) {
        guard nodes[node].life == life else { return }
        guard !nodes[node].cut.toStore, !nodes[node].cut.fromStore, !store.isAway, !nodes[node].isStopped else {
            return later(.list(node: node, life: life), in: 250)
        }
        nodes[node].seen = store.changes.count
        // Before the assignments, so that nothing is claimed that is stopped.
        for path in store.stopped.sorted() { try see(node, .stopped(path: path, true)) }
        for path in paths.indices {
            if let assignment = store.assignments[path] { try see(node, .assignment(path: path, assignment)) }
            if let owner = store.owners[path] { try see(node, .owner(path: path, owner)) }
        }
    }

    func seeChange(_ node: Int, _ life: Int, _ index: Int) throws(OwnershipViolation) {
        guard nodes[node].life == life, nodes[node].seen == index, !nodes[node].cut.fromStore else { return }
        nodes[node].seen = index + 1
        try see(node, store.changes[index])
    }

    private func see(_ node: Int, _ change: Store.Change) throws(OwnershipViolation) {
        switch change {
        case .assignment(let path, let assignment):
            if let assignment, assignment.node == node {
                try tell(node, .assigned(paths[path], moves: assignment.moves))
            } else {
                try tell(node, .unassigned(paths[path]))
            }
        case .owner(let path, let owner): try tell(node, .ownerSeen(paths[path], owner.epoch, lease: owner.lease))
        case .gone(let path, let revision):
            if fault != .overlooksDeletions { try tell(node, .ownerGone(paths[path], revision: revision)) }
        case .stopped(let path, let isStopped):
            if isStopped { nodes[node].sawStopped.insert(path) } else { nodes[node].sawStopped.remove(path) }
            if fault == (isStopped ? .overlooksStops : .overlooksStarts) { return }
            try tell(node, isStopped ? .stopRequested(paths[path]) : .startRequested(paths[path]))
        }
    }

    // MARK: - The shell

    func tell(_ node: Int, _ event: OwnershipMachine.Event) throws(OwnershipViolation) {
        guard nodes[node].isAlive else { return }
        guard !nodes[node].isStopped else { return nodes[node].inbox.append(event) }
        let now = now(node)
        let event = mistaken(event, now)
        note("  node \(node): \(event)")
        for directive in nodes[node].machine.handle(event, now: now) {
            if case .fence(let path, let epoch) = directive, nodes[node].machine.epoch(of: path, at: now) == epoch {
                throw OwnershipViolation(.fence, "node \(node) may write to \(path) in epoch \(epoch), which was fenced")
            }
            try perform(directive, node, now)
        }
    }

    private func mistaken(_ event: OwnershipMachine.Event, _ now: Duration) -> OwnershipMachine.Event {
        switch event {
        case .renewed(let lease, _, let granted) where fault == .countsFromTheAnswer: .renewed(lease: lease, sentAt: now, granted: granted)
        case .leaseLost(let lease) where fault == .believesADeadLease:
            .renewed(lease: lease, sentAt: now, granted: .milliseconds(scenario.timeToLive))
        default: event
        }
    }

    private func perform(_ directive: OwnershipMachine.Directive, _ node: Int, _ now: Duration) throws(OwnershipViolation) {
        switch directive {
        case .wake(let moment):
            nodes[node].wakes += 1
            let wait = (moment - now) / .milliseconds(1) / nodes[node].rate
            let late = isFaulty ? chance.one(of: [0, 0, 1, 5]) : 0
            later(.wake(node: node, life: nodes[node].life, number: nodes[node].wakes), in: max(0, Int(wait.rounded(.up))) + late)
            return
        case .join, .renew, .revoke, .claim, .release, .start, .fence, .stop, .left: note("    \(directive)")
        }
        switch directive {
        case .join:
            if nodes[node].hasJoined, fault == .joinsOnce { return }
            request(node, .join, now, failure: .joinFailed)
        case .renew(let lease): request(node, .renew(lease), now, failure: .renewalFailed(lease: lease))
        case .revoke(let lease): request(node, .revoke(lease), now, failure: nil)
        case .claim(let path, let lease): request(node, .claim(number(of: path), lease), now, failure: .claimFailed(path, lease: lease))
        case .start(let path, let epoch):
            nodes[node].hasJoined = true
            try start(number(of: path), epoch, on: node)
        case .fence(let path, let epoch):
            guard fault != .neverFences else { return }
            for process in processes.indices where processes[process].isOf(node, number(of: path), epoch) {
                processes[process].isFenced = true
            }
        case .stop(let path, let epoch, let drains):
            for process in processes.indices where processes[process].isOf(node, number(of: path), epoch) {
                try stopProcess(process, drains: drains)
            }
        case .release(let path, let epoch, let reason):
            if fault == .forgetsReleases { return try tell(node, .released(path, epoch)) }
            request(node, .release(number(of: path), epoch, reason), now, failure: .releaseFailed(path, epoch))
        case .wake: break
        case .left:
            kill(node)
            later(.boot(node: node), in: nodes[node].downtime)
        }
    }

    func number(of path: String) -> Int { paths.firstIndex(of: path) ?? 0 }

    private func request(_ node: Int, _ request: Request, _ now: Duration, failure: OwnershipMachine.Event?) {
        let life = nodes[node].life
        if nodes[node].cut.toStore || isLost() {
            // Some failures are told at once, as a refused connection is; the others by silence.
            if let failure, chance.oneIn(2) { later(.answer(node: node, life: life, failure), in: delay()) }
            return
        }
        later(.request(node: node, life: life, request, sentAt: now), in: delay())
    }
}
