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
        tree.children = tree.children.map { group($0.key)?.complete($0) ?? $0 }
        tree.children += children.filter { !present.contains($0.key) }.map { node(of: $0, under: tree.path) }
        tree.children = tree.children.enumerated()
            .sorted { (positions[$0.element.key] ?? .max, $0.offset) < (positions[$1.element.key] ?? .max, $1.offset) }
            .map(\.element)
        return tree
    }

    /// Returns the node of a child that supervision doesn't know.
    func node(of child: ConfiguredChild, under parent: String) -> TreeNode {
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
            state: isWaiting(child.key) ? "waiting" : "inactive",
            placement: placement,
            lastExit: lastExit,
            children: group.map { group in group.children.map { group.node(of: $0, under: path) } } ?? []
        )
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
