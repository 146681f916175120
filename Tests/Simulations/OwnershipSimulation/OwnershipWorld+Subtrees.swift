import Ownership
import SimulationSupport
import Supervision

// The processes of subtrees, what they write, and the log that accepts it.

extension OwnershipWorld {
    struct Process {
        enum End {
            case stopped, killed
        }

        let node: Int
        let path: Int
        let epoch: Epoch
        var isFenced = false
        /// Whether the process finishes what it has taken, and takes no more.
        var isDraining = false
        /// Whether the process is being killed.
        var isDying = false
        var end: End?
        /// The writes that the process has taken and that aren't acknowledged.
        var open: Set<Int> = []

        /// Whether the process takes what comes.
        var isRunning: Bool { end == nil && !isFenced && !isDraining && !isDying }

        func isOf(_ node: Int, _ path: Int, _ epoch: Epoch) -> Bool {
            end == nil && self.node == node && self.path == path && self.epoch == epoch
        }
    }

    struct Write {
        let process: Int
        var isAccepted = false
    }

    func start(_ path: Int, _ epoch: Epoch, on node: Int) throws(OwnershipViolation) {
        if let other = processes.first(where: { $0.node == node && $0.path == path && $0.end == nil }) {
            throw OwnershipViolation(.epoch, "node \(node) starts \(paths[path]) twice, in epochs \(other.epoch) and \(epoch)")
        }
        if store.history[epoch] != node {
            throw OwnershipViolation(.epoch, "node \(node) starts \(paths[path]) in epoch \(epoch), which the store hasn't given to it")
        }
        if nodes[node].sawStopped.contains(path) {
            throw OwnershipViolation(.stop, "node \(node) starts \(paths[path]), and knows that it's stopped on all nodes")
        }
        if let latest = latestStart[path], latest >= epoch, !isMeddled[path] {
            throw OwnershipViolation(.epoch, "\(paths[path]) starts in epoch \(epoch) after it was started in \(latest)")
        }
        latestStart[path] = max(latestStart[path] ?? epoch, epoch)
        processes.append(Process(node: node, path: path, epoch: epoch))
        try write(processes.count - 1)
    }

    func stopProcess(_ process: Int, drains: Bool) throws(OwnershipViolation) {
        let path = paths[processes[process].path]
        if drains {
            processes[process].isDraining = true
            if fault == .stopsWithoutDraining { processes[process].open = [] }
            if fault == .releasesBeforeTheStop { try tell(processes[process].node, .stopped(path, processes[process].epoch)) }
            if processes[process].open.isEmpty { later(.die(process: process), in: 1) }
        } else if fault != .neverFences, !processes[process].isDying {
            processes[process].isDying = true
            later(.die(process: process), in: Int.random(in: 1...30, using: &chance))
        }
    }

    func die(_ process: Int) throws(OwnershipViolation) {
        let ended = processes[process]
        guard ended.end == nil else { return }
        guard !nodes[ended.node].isStopped else { return later(.die(process: process), in: 50) }
        processes[process].end = ended.isFenced || ended.isDying ? .killed : .stopped
        try tell(ended.node, .stopped(paths[ended.path], ended.epoch))
    }

    func fail(_ path: Int) throws(OwnershipViolation) {
        guard let process = processes.indices.first(where: { processes[$0].path == path && processes[$0].isRunning }) else { return }
        guard !nodes[processes[process].node].isStopped else { return }
        processes[process].end = .killed
        try tell(processes[process].node, .gaveUp(paths[path], processes[process].epoch))
    }

    // MARK: - Writes

    /// Whether the process of a subtree believes that it may write.
    private func believes(_ process: Int) -> Bool {
        let subtree = processes[process]
        guard subtree.end == nil, !subtree.isFenced, !subtree.isDying else { return false }
        guard nodes[subtree.node].isAlive, !nodes[subtree.node].isStopped else { return false }
        switch fault {
        case .neverFences, .writesWithoutLooking, .releasesBeforeTheStop: return true
        default: return nodes[subtree.node].machine.epoch(of: paths[subtree.path], at: now(subtree.node)) == subtree.epoch
        }
    }

    func write(_ process: Int) throws(OwnershipViolation) {
        guard processes[process].isRunning else { return }
        later(.write(process: process), in: Int.random(in: 200...700, using: &chance))
        guard believes(process) else { return }
        writes.append(Write(process: process))
        processes[process].open.insert(writes.count - 1)
        try send(process, writes.count - 1)
    }

    /// Sends a write, and again until it's acknowledged.
    func send(_ process: Int, _ write: Int) throws(OwnershipViolation) {
        guard processes[process].end == nil, processes[process].open.contains(write) else { return }
        later(.sendAgain(process: process, write: write), in: 400)
        guard believes(process) else { return }
        try checkOneOwner(process)
        if !isLost() { later(.reachLog(process: process, write: write), in: isFaulty && chance.oneIn(10) ? delay() * 4 : delay()) }
    }

    private func checkOneOwner(_ process: Int) throws(OwnershipViolation) {
        let own = processes[process]
        guard !isMeddled[own.path], !isFrozen(own.node) else { return }
        for other in processes.indices where other != process && processes[other].path == own.path && believes(other) {
            guard !isFrozen(processes[other].node) else { continue }
            let both = "node \(own.node) in epoch \(own.epoch), and node \(processes[other].node) in epoch \(processes[other].epoch)"
            throw OwnershipViolation(.oneOwner, "\(both) write to \(paths[own.path])")
        }
    }

    private func isFrozen(_ node: Int) -> Bool {
        if case .frozen = nodes[node].machine.state { true } else { false }
    }

    func reachLog(_ process: Int, _ write: Int) throws(OwnershipViolation) {
        let sender = processes[process]
        let path = paths[sender.path]
        var decision = gate.admit(sender.epoch, of: path)
        if fault == .admitsLowerEpochs { decision = .admitted }
        switch decision {
        case .admitted:
            if let latest = accepted[sender.path], latest > sender.epoch {
                throw OwnershipViolation(.order, "a write to \(path) of epoch \(sender.epoch) is accepted after one of epoch \(latest)")
            }
            accepted[sender.path] = sender.epoch
            writes[write].isAccepted = true
            if !isLost() { later(.acknowledge(process: process, write: write, nil), in: delay()) }
        case .stale(let epoch):
            if sender.end == .stopped, !writes[write].isAccepted {
                throw OwnershipViolation(.handOver, "a write to \(path) of epoch \(sender.epoch) is lost, and its owner has handed over")
            }
            if !isLost() { later(.acknowledge(process: process, write: write, epoch), in: delay()) }
        }
    }

    func acknowledge(_ process: Int, _ write: Int, _ stale: Epoch?) throws(OwnershipViolation) {
        let sender = processes[process]
        guard nodes[sender.node].isAlive, sender.end == nil else { return }
        if let stale { return try tell(sender.node, .refusedAsStale(paths[sender.path], stale)) }
        processes[process].open.remove(write)
        if sender.isDraining, processes[process].open.isEmpty { later(.die(process: process), in: 1) }
    }
}
