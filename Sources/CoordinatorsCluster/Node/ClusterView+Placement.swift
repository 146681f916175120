package import Ownership
import Placement

// What the leader's placer is told, and what it would decide: for the leader itself, and for operators who ask why.

extension ClusterView {
    /// The subtrees as the placer sees them.
    var subtrees: [PlacedSubtree] { wishes.map { path, wish in subtree(path, wish.value) } }

    /// The nodes as the placer sees them.
    var members: [PlacementNode] {
        nodes.values.map { node in
            PlacementNode(
                node.value.name,
                labels: Self.texts(node.value.labels),
                capacity: node.value.capacity == 0 ? nil : node.value.capacity,
                isDraining: node.value.isDraining
            )
        }
    }

    /// The node to which each subtree is assigned.
    var present: [String: NodeName] { assignments.compactMapValues(\.value.node) }

    private func subtree(_ path: String, _ wish: PlacementConstraints) -> PlacedSubtree {
        let assignment = assignments[path]?.value
        return PlacedSubtree(
            path,
            labels: Self.texts(wish.labels),
            group: wish.group,
            weight: wish.weight,
            pin: wish.pin,
            failedOn: Set((assignment?.failures ?? []).filter(isPresent).compactMap { NodeName($0.node) }),
            isGivenUp: assignment?.isGivenUp ?? false,
            isStopped: wish.isStopped
        )
    }

    private static func texts(_ labels: [String: String]) -> Set<String> { Set(labels.map { "\($0)=\($1)" }) }

    /// Whether the node on which a subtree has failed hasn't joined again since.
    private func isPresent(_ failure: SubtreeAssignment.Failure) -> Bool {
        guard let name = NodeName(failure.node) else { return false }
        return nodes[name]?.lease?.rawValue == failure.lease
    }

    /// Returns why subtrees can't be where they're wanted: those for which there is no node, and those that can't leave one that drains; in
    /// words, by path.
    package var unplaced: [String: String] {
        let (subtrees, members) = (subtrees, members)
        let plan = Placer().plan(subtrees, on: members, from: present)
        let byPath = Dictionary(subtrees.map { ($0.path, $0) }) { first, _ in first }
        return Dictionary(
            plan.unplaced.compactMap { unplaced in
                byPath[unplaced.path].map { (unplaced.path, Self.text(of: $0, Placer.obstacles(to: $0, in: plan, subtrees, on: members))) }
            }
        ) { first, _ in first }
    }

    /// Returns what keeps a subtree from moving to a node, in words; `nil`: nothing.
    ///
    /// - Parameters:
    ///   - path: The path of the subtree.
    ///   - node: The node, which an operator wants it on.
    ///   - failuresCount: Whether it isn't tried again where it has failed.
    package func obstacle(to path: String, on node: NodeName, failuresCount: Bool) -> String? {
        guard nodes[node] != nil else { return "\(node) isn't a member of the cluster" }
        var subtrees = subtrees
        guard let index = subtrees.firstIndex(where: { $0.path == path }) else { return nil }
        (subtrees[index].pin, subtrees[index].isStopped) = (node, false)
        if !failuresCount { (subtrees[index].failedOn, subtrees[index].isGivenUp) = ([], false) }
        let plan = Placer().plan(subtrees, on: members, from: present)
        if plan.assignments[path] == node { return nil }
        let obstacles = Placer.obstacles(to: subtrees[index], in: plan, subtrees, on: members).filter { $0.node == node }
        return obstacles.isEmpty ? nil : Self.text(of: subtrees[index], obstacles)
    }

    /// The number of nodes of which a text names the obstacle.
    private static let mostNamed = 4

    private static func text(of subtree: PlacedSubtree, _ obstacles: [PlacementPlan.Obstacle]) -> String {
        if subtree.isGivenUp { return "it has failed on as many nodes as it may; `move` and `start` have it tried again" }
        if obstacles.isEmpty { return "the cluster has no nodes" }
        let texts = obstacles.prefix(mostNamed).map { obstacle in
            let details = obstacle.details.prefix(mostNamed).joined(separator: " ") + (obstacle.details.count > mostNamed ? " …" : "")
            let reason =
                switch obstacle.reason {
                case .noNodes: "drains"
                case .labels: "lacks the label \(details)"
                case .failed: "is where it has failed"
                case .group: "has \(details), which is kept apart from it (\(subtree.group ?? ""))"
                case .capacity: "is full" + (details.isEmpty ? "" : ": it has \(details)")
                case .givenUp: "may not have it: it was given up"
                }
            return "\(obstacle.node) \(reason)"
        }
        return texts.joined(separator: "; ") + (obstacles.count > mostNamed ? "; and \(obstacles.count - mostNamed) nodes more" : "")
    }
}
