public import Ownership

/// Decides which node gets which subtree, and moves at most what must move.
///
/// A subtree stays where it is as long as it may. What has no node, or may not stay on its own, gets the node with the highest weighted
/// rendezvous score among those that may have it. So a node that leaves moves its own subtrees and no others, and one that joins moves none,
/// unless ``rebalances``: then at most those that it wins. The plan is a function of its arguments alone, whatever their order.
///
/// - Cost: O(subtrees × nodes).
public struct Placer: Sendable {
    /// Whether a subtree moves to a node that scores higher than its own, when that one has room for it.
    public var rebalances: Bool

    /// Creates a placer.
    ///
    /// - Parameter rebalances: Whether a subtree moves to a node that scores higher than its own.
    public init(rebalances: Bool = false) {
        self.rebalances = rebalances
    }

    /// Returns the plan.
    ///
    /// - Parameters:
    ///   - subtrees: All subtrees to place, each path once.
    ///   - nodes: The members of the cluster, each name once.
    ///   - assignments: The present assignments, by path. Those of other paths, and of subtrees that are stopped on all nodes, are left out of
    ///     the plan.
    public func plan(_ subtrees: [PlacedSubtree], on nodes: [PlacementNode], from assignments: [String: NodeName]) -> PlacementPlan {
        var rooms = Rooms(nodes)
        var plan = PlacementPlan()
        var homeless: [(subtree: PlacedSubtree, reason: PlacementPlan.Reason)] = []
        // The order in which subtrees get what is scarce: those that are pinned, then the heavy ones, for which a place is harder to find.
        let subtrees = subtrees.filter { !$0.isStopped }.sorted { left, right in
            if (left.pin == nil) != (right.pin == nil) { return left.pin != nil }
            return left.weight == right.weight ? left.path < right.path : left.weight > right.weight
        }
        for subtree in subtrees {
            let present = assignments[subtree.path]
            if let reason = reasonToMove(subtree, from: present, rooms) {
                homeless.append((subtree, reason))
            } else if let present {
                rooms.put(subtree, on: present)
                plan.assignments[subtree.path] = present
            }
        }
        // A subtree that no node may have goes on where it is, and takes room there.
        func leave(_ subtree: PlacedSubtree) {
            let present = assignments[subtree.path]
            plan.unplaced.append(.init(path: subtree.path, from: present, reason: rooms.refusal(of: subtree)))
            if let present { rooms.put(subtree, on: present) }
        }
        // Before others get that room.
        var movable: [(subtree: PlacedSubtree, reason: PlacementPlan.Reason)] = []
        for (subtree, reason) in homeless {
            if best(for: subtree, wanted: nil, rooms) == nil { leave(subtree) } else { movable.append((subtree, reason)) }
        }
        for (subtree, reason) in movable {
            let present = assignments[subtree.path]
            guard let node = best(for: subtree, wanted: reason == .pinned ? present : nil, rooms) else {
                leave(subtree)
                continue
            }
            rooms.put(subtree, on: node)
            plan.assignments[subtree.path] = node
            if node != present { plan.moves.append(.init(path: subtree.path, from: present, to: node, reason: reason)) }
        }
        if rebalances { rebalance(subtrees, &rooms, &plan) }
        plan.moves.sort { $0.path < $1.path }
        plan.unplaced.sort { $0.path < $1.path }
        return plan
    }

    /// Returns what keeps a subtree from each node that may not have it, when all others are where a plan has them; by node.
    ///
    /// - Parameters:
    ///   - subtree: The subtree.
    ///   - plan: The plan, which is of these subtrees and nodes.
    ///   - subtrees: All subtrees to place.
    ///   - nodes: The members of the cluster.
    public static func obstacles(
        to subtree: PlacedSubtree,
        in plan: PlacementPlan,
        _ subtrees: [PlacedSubtree],
        on nodes: [PlacementNode]
    ) -> [PlacementPlan.Obstacle] {
        var rooms = Rooms(nodes)
        var places = plan.assignments
        // What can't stay and has no other node goes on where it is.
        for unplaced in plan.unplaced { places[unplaced.path] = unplaced.from }
        var others: [NodeName: [PlacedSubtree]] = [:]
        for other in subtrees.sorted(by: { $0.path < $1.path }) where other.path != subtree.path {
            guard let node = places[other.path] else { continue }
            rooms.put(other, on: node)
            others[node, default: []].append(other)
        }
        return rooms.names.compactMap { name in
            guard let reason = rooms.refusal(of: subtree, on: name) else { return nil }
            let present = others[name] ?? []
            let details: [String] =
                switch reason {
                case .labels: subtree.labels.subtracting(rooms.nodes[name]?.labels ?? []).sorted()
                case .group: present.filter { $0.group == subtree.group }.map(\.path)
                case .capacity: present.filter { $0.weight > 0 }.map(\.path)
                case .noNodes, .failed, .givenUp: []
                }
            return PlacementPlan.Obstacle(node: name, reason: reason, details: details)
        }
    }

    /// Returns why a subtree can't stay, if so.
    private func reasonToMove(_ subtree: PlacedSubtree, from present: NodeName?, _ rooms: Rooms) -> PlacementPlan.Reason? {
        guard let present else { return .new }
        guard let node = rooms.nodes[present] else { return .nodeLeft(present) }
        if subtree.isGivenUp || subtree.failedOn.contains(present) { return .failed }
        if node.isDraining { return .drained }
        if let pin = subtree.pin, pin != present, rooms.nodes[pin] != nil { return .pinned }
        switch rooms.refusal(of: subtree, on: present) {
        case nil: return nil
        case .labels: return .labels
        case .group: return .group
        case .capacity: return .capacity
        case .failed, .givenUp: return .failed
        case .noNodes: return .drained
        }
    }

    /// Returns the node on which an operator wants a subtree, or else a node that is wanted, or else that with the highest score; of those that
    /// may have it.
    private func best(for subtree: PlacedSubtree, wanted: NodeName?, _ rooms: Rooms) -> NodeName? {
        for name in [subtree.pin, wanted] {
            if let name, rooms.refusal(of: subtree, on: name) == nil { return name }
        }
        return highest(for: subtree, rooms.names.filter { rooms.refusal(of: subtree, on: $0) == nil }, rooms)
    }

    private func highest(for subtree: PlacedSubtree, _ names: [NodeName], _ rooms: Rooms) -> NodeName? {
        // Names are in order, so that of equal scores the first name wins.
        var best: (name: NodeName, score: Double)?
        for name in names {
            let score = RendezvousScore.score(of: name, for: subtree.path, weight: rooms.nodes[name]?.weight ?? 1)
            if score > best?.score ?? -1 { best = (name, score) }
        }
        return best?.name
    }

    /// Moves subtrees to nodes that score higher and have room.
    ///
    /// What a move leaves isn't given to another one in the same plan: else a node that joins would set off a chain of moves among the others.
    private func rebalance(_ subtrees: [PlacedSubtree], _ rooms: inout Rooms, _ plan: inout PlacementPlan) {
        let moved = Set(plan.moves.map(\.path))
        for subtree in subtrees where !moved.contains(subtree.path) {
            guard let present = plan.assignments[subtree.path], subtree.pin != present else { continue }
            let names = rooms.names.filter { $0 == present || rooms.refusal(of: subtree, on: $0) == nil }
            guard let node = highest(for: subtree, names, rooms), node != present else { continue }
            rooms.put(subtree, on: node)
            plan.assignments[subtree.path] = node
            plan.moves.append(.init(path: subtree.path, from: present, to: node, reason: .rebalanced))
        }
    }
}

/// The nodes and what is taken of them.
private struct Rooms {
    let nodes: [NodeName: PlacementNode]
    /// The names in order.
    let names: [NodeName]
    private var taken: [NodeName: Int] = [:]
    private var groups: [NodeName: Set<String>] = [:]

    init(_ nodes: [PlacementNode]) {
        self.nodes = Dictionary(nodes.map { ($0.name, $0) }) { first, _ in first }
        names = self.nodes.keys.sorted()
    }

    mutating func put(_ subtree: PlacedSubtree, on name: NodeName) {
        taken[name] = load(of: name, with: subtree)
        if let group = subtree.group { groups[name, default: []].insert(group) }
    }

    /// Returns why a node may not have a subtree, if so.
    func refusal(of subtree: PlacedSubtree, on name: NodeName) -> PlacementPlan.Refusal? {
        guard let node = nodes[name], !node.isDraining else { return .noNodes }
        if subtree.isGivenUp { return .givenUp }
        if !subtree.labels.isSubset(of: node.labels) { return .labels }
        if subtree.failedOn.contains(name) { return .failed }
        if let group = subtree.group, groups[name]?.contains(group) == true { return .group }
        if let capacity = node.capacity, load(of: name, with: subtree) > capacity { return .capacity }
        return nil
    }

    /// Returns the sum of the weights on a node with a further subtree, or the highest number when the sum is higher.
    private func load(of name: NodeName, with subtree: PlacedSubtree) -> Int {
        let (sum, isOverflow) = taken[name, default: 0].addingReportingOverflow(subtree.weight)
        return isOverflow ? .max : sum
    }

    /// Returns why no node may have a subtree: the reason of the node that came nearest.
    func refusal(of subtree: PlacedSubtree) -> PlacementPlan.Refusal {
        if subtree.isGivenUp { return .givenUp }
        let refusals = Set(names.compactMap { refusal(of: subtree, on: $0) })
        return [.capacity, .group, .failed, .labels].first { refusals.contains($0) } ?? .noNodes
    }
}
