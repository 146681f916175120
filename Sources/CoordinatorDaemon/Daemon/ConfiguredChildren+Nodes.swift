import ConcurrencySupport
import Control
import Coordinators
import DaemonConfiguration

extension ConfiguredChildren {
    /// Adds the children that supervision doesn't know to a tree, at every level that the file describes, in the file's order.
    ///
    /// - Parameter tree: the supervisor of these children.
    func complete(_ tree: TreeNode) -> TreeNode {
        var tree = tree
        let positions = Dictionary(children.enumerated().map { ($1.key, $0) }) { first, _ in first }
        let present = Set(tree.children.map(\.key))
        let beginning = beginning
        tree.children = tree.children.map { described($0, beginning) }
        tree.children += children.filter { !present.contains($0.key) }.map { node(of: $0, under: tree.path, beginning) }
        tree.children = tree.children.enumerated()
            .sorted { (positions[$0.element.key] ?? .max, $0.offset) < (positions[$1.element.key] ?? .max, $1.offset) }
            .map(\.element)
        return tree
    }

    /// Returns the node of a child that supervision knows, with what it waits for, and with the children of a group.
    func described(_ node: TreeNode) -> TreeNode { described(node, beginning) }

    private func described(_ node: TreeNode, _ beginning: Set<String>) -> TreeNode {
        var node = node
        if node.state == "inactive", let child = child(node.key), isAwaiting(child, beginning) {
            (node.state, node.waitsFor) = ("waiting", names(ofAwaitedBy: child))
        }
        return group(node.key)?.complete(node) ?? node
    }

    /// The children whose first starts in this life of their supervisor, or in its next one, which is about to begin, are still to come.
    private var beginning: Set<String> {
        guard isBeginning else { return [] }
        return children.startedBySupervisor.subtracting(state.withLock { $0.resting.keys })
    }

    private var isBeginning: Bool {
        guard let parent = path.parent else { return hasBegun.outcome == nil }
        guard supervisor == nil, let siblings = root.group(at: parent), let group = siblings.child(path.key) else { return false }
        switch siblings.supervisor?.state(of: path.key) {
        case .starting, .restarting: return true
        case nil, .inactive: return siblings.isAwaiting(group, siblings.beginning)
        case .active, .paused, .stopping, .failing, .failed: return false
        }
    }

    /// Whether a child that doesn't run is started once others let it, without a request.
    private func isAwaiting(_ child: ConfiguredChild, _ beginning: Set<String>) -> Bool {
        let record = state.withLock { $0.records[child.key] }
        return record?.isHeld == true || record?.start.map { $0.requested.outcome == nil } == true || beginning.contains(child.key)
    }

    /// The paths of what a child that waits isn't started without, or before; of one in a group that waits, the group's.
    private func names(ofAwaitedBy child: ConfiguredChild) -> [String]? {
        let names = needs(of: child).filter { !$0.place.siblings.lets($0, isHeld: isHeld(child.key)) }.map(\.place.path.description)
        if !names.isEmpty { return names }
        return supervisor == nil && !path.isRoot ? [path.description] : nil
    }

    /// Whether a child among these is no reason for another one to wait.
    private func lets(_ need: Need, isHeld: Bool) -> Bool {
        let key = need.place.child.key
        if !need.isRequired, isHeld || state.withLock({ $0.records[key]?.start?.concluded.outcome }) == false { return true }
        guard need.condition == .ready else { return meets(key, need.condition) }
        return [.active, .paused].contains(supervisor?.state(of: key))
    }

    /// Returns the node of a child that supervision doesn't know.
    func node(of child: ConfiguredChild, under parent: String) -> TreeNode { node(of: child, under: parent, beginning) }

    private func node(of child: ConfiguredChild, under parent: String, _ beginning: Set<String>) -> TreeNode {
        let record = state.withLock { $0.records[child.key] }
        let (lastExit, numbers) = (record?.lastExit, record?.exitNumbers)
        let (type, kind, placement): (String, TreeNode.Kind, TreeNode.Placement) =
            switch child.content {
            case .worker(let worker): (worker.coordinator, .coordinator, .worker)
            case .program(let program): (program.command[0], .program, .program)
            case .group: ("\(GroupCoordinator.self)", .coordinator, .inProcess)
            }
        let path = parent == "/" ? "/\(child.key)" : "\(parent)/\(child.key)"
        let group = group(child.key)
        var node = TreeNode(
            key: child.key,
            path: path,
            type: type,
            kind: kind,
            state: "inactive",
            placement: placement,
            lastExit: lastExit
        )
        if isAwaiting(child, beginning) { (node.state, node.waitsFor) = ("waiting", names(ofAwaitedBy: child)) }
        if let group {
            let beginning = group.beginning
            node.children = group.children.map { group.node(of: $0, under: path, beginning) }
        }
        (node.lastExitCode, node.lastExitSignal) = (numbers?.code, numbers?.signal)
        if lastExit != nil, record?.isStopWanted == false, record?.isHeld == false { node.hasEnded = true }
        return node
    }
}

extension TreeNode {
    /// Adds the number of its last life to each child that has ended and that supervision has forgotten.
    func adding(_ events: EventLog) -> TreeNode {
        var tree = self
        if incarnation == 0, lastExit != nil, let life = events.lastLife(of: path) { tree.incarnation = life }
        tree.children = tree.children.map { $0.adding(events) }
        return tree
    }
}
