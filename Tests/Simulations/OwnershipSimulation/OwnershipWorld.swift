import Ownership
import Placement
import SimulationSupport
import Supervision

/// Nodes with clocks that drift, a store whose messages are lost and late, and a log that each owner writes to.
///
/// The machine, the gate and the placer are real. What a shell does for the machine, and what the store does, is this world's. Its time is in
/// milliseconds; each node's clock begins somewhere and runs by its own rate.
package final class OwnershipWorld: SimulatedWorld {
    package static let flag = "--ownership"

    /// What is going to happen.
    enum Event {
        // At the store.
        case request(node: Int, life: Int, Request, sentAt: Duration)
        case expire(lease: Int64, renewal: Int)
        case leaderIsBack
        case place
        case removeForeignKey(path: Int, Epoch)
        // At a node.
        case answer(node: Int, life: Int, OwnershipMachine.Event)
        case change(node: Int, life: Int, index: Int)
        case list(node: Int, life: Int)
        case wake(node: Int, life: Int, number: Int)
        case goOn(node: Int, stop: Int)
        case boot(node: Int)
        // A subtree's process, and the log.
        case write(process: Int)
        case sendAgain(process: Int, write: Int)
        case reachLog(process: Int, write: Int)
        case acknowledge(process: Int, write: Int, Epoch?)
        case die(process: Int)
    }

    let scenario: OwnershipScenario
    let fault: OwnershipFault?
    let recordsTrace: Bool
    package private(set) var trace: [String] = []
    package private(set) var events = 0
    var chance: SplitMix64
    private var agenda = Agenda<Event>()
    private(set) var time = 1
    /// Whether messages are lost and late, and nodes' requests fail.
    var isFaulty = true

    let paths: [String]
    var store = Store()
    var nodes: [Node] = []
    /// The processes of subtrees, dead ones too.
    var processes: [Process] = []
    var writes: [Write] = []
    var gate = EpochGate()
    var accepted: [Epoch?]
    /// The epoch with which each path was started last.
    var latestStart: [Epoch?]
    /// Whether foreign hands have changed the key of a path: then two nodes may believe for a moment that they own it.
    var isMeddled: [Bool]

    /// Creates the world of a scenario, with a fault planted in it or none.
    package init(_ scenario: OwnershipScenario, _ fault: OwnershipFault?, recordsTrace: Bool) {
        self.scenario = scenario
        self.fault = fault
        self.recordsTrace = recordsTrace
        chance = SplitMix64(seed: scenario.seed ^ 0x0E)
        paths = (0..<scenario.paths).map { "/path\($0)" }
        accepted = paths.map { _ in nil }
        latestStart = accepted
        isMeddled = paths.map { _ in false }
        store.owners = paths.map { _ in nil }
        store.assignments = paths.map { _ in nil }
        store.failures = paths.map { _ in [] }
        for number in 0..<scenario.nodes {
            // Two percent is a thousand times what clocks do, and still within the margin.
            nodes.append(Node(number, rate: Double(chance.one(of: [980, 995, 1_000, 1_005, 1_020])) / 1_000, machine: newMachine()))
            boot(number)
        }
    }

    func note(_ text: @autoclosure () -> String) {
        if recordsTrace { trace.append("\(time): \(OwnershipViolation.plain(text()))") }
    }

    func later(_ event: Event, in delay: Int) { agenda.add(event, at: time + delay) }

    /// Returns the milliseconds that a message travels.
    func delay() -> Int {
        isFaulty && chance.oneIn(25) ? Int.random(in: 20...1_500, using: &chance) : Int.random(in: 1...8, using: &chance)
    }

    /// Returns whether a message is lost.
    func isLost() -> Bool { isFaulty && scenario.loss > 0 && Int.random(in: 0..<1_000, using: &chance) < scenario.loss }

    // MARK: - The course

    package func run() throws(OwnershipViolation) {
        try goOn(until: time + 1_000)
        for step in scenario.steps {
            note("step \(step.number): \(step.action)")
            try perform(step.action)
            try goOn(until: time + step.pause)
        }
        try endFaults()
        try goOn(until: time + 4 * scenario.timeToLive + 5_000)
        try checkRecovery()
    }

    private func goOn(until end: Int) throws(OwnershipViolation) {
        while let (moment, event) = agenda.next(until: end) {
            time = max(time, moment)
            events += 1
            switch event {
            case .request(let node, let life, let request, let sentAt): try reachStore(node, life, request, sentAt: sentAt)
            case .expire(let lease, let renewal): expire(lease, renewal)
            case .leaderIsBack: leaderIsBack()
            case .place: place()
            case .removeForeignKey(let path, let epoch): if store.owners[path]?.epoch == epoch { deleteOwner(path) }
            case .answer(let node, let life, let event):
                if nodes[node].life == life { try tell(node, event) }
            case .change(let node, let life, let index): try seeChange(node, life, index)
            case .list(let node, let life): try list(node, life)
            case .wake(let node, let life, let number):
                if nodes[node].life == life, nodes[node].wakes == number { try tell(node, .timePassed) }
            case .goOn(let node, let stop): try goOnAgain(node, stop)
            case .boot(let node): if !nodes[node].isAlive { boot(node) }
            case .write(let process): try write(process)
            case .sendAgain(let process, let write): try send(process, write)
            case .reachLog(let process, let write): try reachLog(process, write)
            case .acknowledge(let process, let write, let epoch): try acknowledge(process, write, epoch)
            case .die(let process): try die(process)
            }
        }
        time = end
    }

    private func perform(_ action: OwnershipScenario.Action) throws(OwnershipViolation) {
        switch action {
        case .cut(let node, let direction):
            nodes[node].cut.toStore = nodes[node].cut.toStore || direction != .fromStore
            nodes[node].cut.fromStore = nodes[node].cut.fromStore || direction != .toStore
        case .heal(let node): heal(node)
        case .stop(let node, let duration): stop(node, for: duration)
        case .kill(let node, let time):
            guard nodes[node].isAlive else { return }
            kill(node)
            later(.boot(node: node), in: time)
        case .loseLeader(let duration): loseLeader(for: duration)
        case .deleteKey(let path):
            isMeddled[path] = true
            if store.owners[path] != nil { deleteOwner(path) }
        case .overwriteKey(let path, let time):
            guard let owner = store.owners[path] else { return }
            isMeddled[path] = true
            putOwner(path, Store.Owner(epoch: owner.epoch, lease: nil))
            later(.removeForeignKey(path: path, owner.epoch), in: time)
        case .compete(let path, let time):
            isMeddled[path] = true
            if store.owners[path] != nil { deleteOwner(path) }
            let epoch = store.nextEpoch()
            putOwner(path, Store.Owner(epoch: epoch, lease: nil))
            // The competitor writes too.
            _ = gate.admit(epoch, of: paths[path])
            accepted[path] = max(accepted[path] ?? epoch, epoch)
            later(.removeForeignKey(path: path, epoch), in: time)
        case .revoke(let node):
            for (lease, entry) in store.leases.sorted(by: { $0.key < $1.key }) where entry.node == node {
                for path in paths.indices where store.owners[path]?.lease == lease { isMeddled[path] = true }
                endLease(lease)
            }
        case .drain(let node, let time):
            guard nodes[node].isAlive else { return }
            nodes[node].isDraining = true
            nodes[node].downtime = time
            placeSoon()
            try tell(node, .drainRequested)
        case .move(let path, let node):
            store.pins[path] = node
            placeSoon()
        case .stopEverywhere(let path): stopEverywhere(path, true)
        case .startEverywhere(let path): stopEverywhere(path, false)
        case .fail(let path): try fail(path)
        case .goOn: break
        }
    }

    private func endFaults() throws(OwnershipViolation) {
        note("faults end")
        isFaulty = false
        store.pins = [:]
        store.failures = paths.map { _ in [] }
        store.givenUp = []
        if store.isAway { leaderIsBack() }
        for path in paths.indices {
            if let owner = store.owners[path], owner.lease == nil { deleteOwner(path) }
        }
        for node in nodes.indices {
            heal(node)
            nodes[node].downtime = 200
            try goOnAgain(node, nodes[node].stops)
            if !nodes[node].isAlive { boot(node) }
        }
        placeSoon()
    }

    private func checkRecovery() throws(OwnershipViolation) {
        for path in paths.indices {
            let running = processes.indices.filter { processes[$0].path == path && processes[$0].isRunning }
            if store.stopped.contains(path) {
                guard running.isEmpty, store.owners[path] == nil, store.assignments[path] == nil else {
                    throw OwnershipViolation(.recovery, "\(paths[path]) is stopped on all nodes, and isn't gone from all")
                }
                continue
            }
            guard running.count == 1, let process = running.first else {
                throw OwnershipViolation(.recovery, "\(running.count) nodes run \(paths[path])")
            }
            guard store.owners[path]?.epoch == processes[process].epoch, let lease = store.owners[path]?.lease,
                store.leases[lease]?.node == processes[process].node
            else {
                throw OwnershipViolation(
                    .recovery,
                    "\(paths[path]) runs on node \(processes[process].node), and the store names another owner"
                )
            }
        }
    }
}
