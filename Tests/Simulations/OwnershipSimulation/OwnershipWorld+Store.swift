import Ownership
import Placement
import SimulationSupport
import Supervision

// The store: leases, keys, changes that nodes watch, and the leader's choice of nodes.

extension OwnershipWorld {
    struct Store {
        struct Lease {
            let node: Int
            var renewal = 0
        }

        struct Owner: Equatable {
            let epoch: Epoch
            let lease: Int64?
        }

        struct Assignment: Equatable {
            let node: Int
            let moves: Int
        }

        enum Change {
            case assignment(path: Int, Assignment?)
            case owner(path: Int, Owner)
            case gone(path: Int, revision: UInt64)
            case stopped(path: Int, Bool)
        }

        var revision: UInt64 = 0
        var leaseCount: Int64 = 0
        var leases: [Int64: Lease] = [:]
        var owners: [Owner?] = []
        var assignments: [Assignment?] = []
        var failures: [[Int]] = []
        var givenUp: Set<Int> = []
        /// The paths that an operator has stopped on all nodes.
        var stopped: Set<Int> = []
        var pins: [Int: Int] = [:]
        var changes: [Change] = []
        /// The node that got each epoch.
        var history: [Epoch: Int] = [:]
        var isAway = false
        var isPlacing = false

        mutating func nextEpoch() -> Epoch {
            revision += 1
            return Epoch(rawValue: revision)
        }
    }

    enum Request {
        case join
        case renew(Int64)
        case revoke(Int64)
        case claim(Int, Int64)
        case release(Int, Epoch, OwnershipMachine.ReleaseReason)
    }

    // MARK: - Requests

    func reachStore(_ node: Int, _ life: Int, _ request: Request, sentAt: Duration) throws(OwnershipViolation) {
        if store.isAway {
            // Some requests are carried out when there is a leader again.
            if chance.oneIn(2) {
                later(.request(node: node, life: life, request, sentAt: sentAt), in: Int.random(in: 50...500, using: &chance))
            }
            return
        }
        switch request {
        case .join:
            store.leaseCount += 1
            let lease = store.leaseCount
            store.leases[lease] = Store.Lease(node: node)
            expireLater(lease, 0)
            note("  the store gives lease \(lease) to node \(node)")
            placeSoon()
            answer(node, life, .joined(lease: lease, sentAt: sentAt, granted: .milliseconds(scenario.timeToLive)))
        case .renew(let lease):
            guard var entry = store.leases[lease] else { return answer(node, life, .leaseLost(lease: lease)) }
            entry.renewal += 1
            store.leases[lease] = entry
            expireLater(lease, entry.renewal)
            answer(node, life, .renewed(lease: lease, sentAt: sentAt, granted: .milliseconds(scenario.timeToLive)))
        case .revoke(let lease): endLease(lease)
        case .claim(let path, let lease): claim(path, lease, node, life)
        case .release(let path, let epoch, let reason):
            if store.owners[path]?.epoch == epoch {
                if let process = processes.first(where: { $0.path == path && $0.epoch == epoch && $0.end == nil }) {
                    throw OwnershipViolation(.handOver, "\(paths[path]) is released, and runs on node \(process.node)")
                }
                switch reason {
                case .handedOver: break
                case .failed:
                    store.failures[path].append(node)
                    assign(path, nil)
                case .givenUp:
                    // At the end an operator places again whatever was given up, this too.
                    if isFaulty { store.givenUp.insert(path) }
                    assign(path, nil)
                }
                deleteOwner(path)
            }
            answer(node, life, .released(paths[path], epoch))
        }
    }

    private func claim(_ path: Int, _ lease: Int64, _ node: Int, _ life: Int) {
        guard store.leases[lease]?.node == node else { return answer(node, life, .claimRefused(paths[path], lease: lease)) }
        if let owner = store.owners[path] {
            if owner.lease == lease || fault == .takesARefusalForAClaim {
                answer(node, life, .claimed(paths[path], lease: lease, owner.epoch))
            } else {
                answer(node, life, .claimRefused(paths[path], lease: lease))
            }
            return
        }
        guard store.assignments[path]?.node == node else { return answer(node, life, .claimRefused(paths[path], lease: lease)) }
        let epoch = store.nextEpoch()
        store.history[epoch] = node
        putOwner(path, Store.Owner(epoch: epoch, lease: lease))
        answer(node, life, .claimed(paths[path], lease: lease, epoch))
    }

    private func answer(_ node: Int, _ life: Int, _ event: OwnershipMachine.Event) {
        guard !nodes[node].cut.fromStore, !isLost() else { return }
        later(.answer(node: node, life: life, event), in: delay())
        if isFaulty, chance.oneIn(20) { later(.answer(node: node, life: life, event), in: delay()) }
    }

    // MARK: - Leases and keys

    private func expireLater(_ lease: Int64, _ renewal: Int) {
        later(.expire(lease: lease, renewal: renewal), in: scenario.timeToLive + chance.one(of: [0, 0, 100, 250, 500]))
    }

    func expire(_ lease: Int64, _ renewal: Int) {
        guard !store.isAway, store.leases[lease]?.renewal == renewal else { return }
        note("  lease \(lease) expires")
        endLease(lease)
    }

    func endLease(_ lease: Int64) {
        guard store.leases.removeValue(forKey: lease) != nil else { return }
        for path in paths.indices where store.owners[path]?.lease == lease { deleteOwner(path) }
        placeSoon()
    }

    func loseLeader(for time: Int) {
        guard !store.isAway else { return }
        store.isAway = true
        later(.leaderIsBack, in: time)
    }

    func leaderIsBack() {
        guard store.isAway else { return }
        store.isAway = false
        for lease in store.leases.keys.sorted() {
            guard var entry = store.leases[lease] else { continue }
            entry.renewal += 1
            store.leases[lease] = entry
            expireLater(lease, entry.renewal)
        }
        placeSoon()
    }

    func putOwner(_ path: Int, _ owner: Store.Owner) {
        note("  the owner of \(paths[path]) is of epoch \(owner.epoch), lease \(owner.lease.map(String.init) ?? "none")")
        store.owners[path] = owner
        publish(.owner(path: path, owner))
    }

    /// Carries out what an operator has asked of all nodes.
    func stopEverywhere(_ path: Int, _ isStopped: Bool) {
        guard store.stopped.contains(path) != isStopped else { return }
        store.revision += 1
        if isStopped { store.stopped.insert(path) } else { store.stopped.remove(path) }
        publish(.stopped(path: path, isStopped))
        placeSoon()
    }

    func deleteOwner(_ path: Int) {
        note("  the owner's key of \(paths[path]) is deleted")
        store.revision += 1
        store.owners[path] = nil
        publish(.gone(path: path, revision: store.revision))
    }

    private func publish(_ change: Store.Change) {
        store.changes.append(change)
        for node in nodes.indices { watch(node, store.changes.count - 1) }
    }

    /// Sends a change to a node, in order.
    func watch(_ node: Int, _ index: Int) {
        guard nodes[node].isAlive, !nodes[node].cut.fromStore else { return }
        nodes[node].latestChange = max(nodes[node].latestChange, time + delay())
        later(.change(node: node, life: nodes[node].life, index: index), in: nodes[node].latestChange - time)
    }

    // MARK: - Placement

    func placeSoon() {
        guard !store.isPlacing else { return }
        store.isPlacing = true
        later(.place, in: Int.random(in: 1...chance.one(of: [5, 100]), using: &chance))
    }

    func place() {
        store.isPlacing = false
        guard !store.isAway else { return }
        let members = Set(store.leases.values.map(\.node)).sorted()
        let subtrees = paths.indices.map { path in
            PlacedSubtree(
                paths[path],
                pin: store.pins[path].map { nodes[$0].name },
                failedOn: Set(store.failures[path].map { nodes[$0].name }),
                isGivenUp: store.givenUp.contains(path),
                isStopped: store.stopped.contains(path) && fault != .placesWhatIsStopped
            )
        }
        var present: [String: NodeName] = [:]
        for path in paths.indices { present[paths[path]] = store.assignments[path].map { nodes[$0.node].name } }
        let candidates = members.map { PlacementNode(nodes[$0].name, isDraining: nodes[$0].isDraining) }
        let plan = Placer().plan(subtrees, on: candidates, from: present)
        for path in paths.indices {
            let node = plan.assignments[paths[path]].flatMap { name in nodes.firstIndex { $0.name == name } }
            let assignment = node.map { Store.Assignment(node: $0, moves: store.failures[path].count) }
            if assignment != store.assignments[path] { assign(path, assignment) }
        }
    }

    private func assign(_ path: Int, _ assignment: Store.Assignment?) {
        note("  \(paths[path]) is assigned to \(assignment.map { "node \($0.node)" } ?? "no node")")
        store.revision += 1
        store.assignments[path] = assignment
        publish(.assignment(path: path, assignment))
        if assignment == nil { placeSoon() }
    }
}
