import ConcurrencySupport
import Control
import Coordinators
import DaemonConfiguration

extension ConfiguredChildren {
    /// The keys of the instances, in order, of each child that has instances.
    var instances: [String: [String]] { state.withLock { $0.instances } }

    /// Returns the paths that a rolling restart of a path replaces one after the other, in start order.
    ///
    /// The path of a child with instances, without a number, stands for its instances; that of a group for all children in it. Of several,
    /// those that don't run are left out. A path that the file doesn't list, such as that of a coordinator in a worker, stands for itself.
    ///
    /// - Parameter elsewhere: What other nodes replace of the children that they have, by the children's keys.
    func replacements(of path: CoordinatorPath, elsewhere: [String: [CoordinatorPath]]) throws(ControlError) -> [CoordinatorPath] {
        var (siblings, parent) = (self, CoordinatorPath.root)
        for key in path.components.dropLast().map(String.init) {
            guard let group = siblings.group(key) else { return [path] }
            siblings = group
            parent = parent.appending(key)
        }
        guard let key = path.components.last.map(String.init) else { return [path] }
        let isSingle = siblings.child(key) != nil && siblings.group(key) == nil
        guard !isSingle, let keys = siblings.child(key) == nil ? siblings.instances[key] : [key] else { return [path] }
        let paths = keys.flatMap { key in
            (parent == .root ? elsewhere[key] : nil) ?? siblings.running(key, under: parent)
        }
        if paths.isEmpty { throw ControlError(.notRunning, "nothing runs at \(path): there is nothing to replace") }
        return paths
    }

    /// Returns the path of a child that runs; of a group, those of the children in it that run.
    private func running(_ key: String, under parent: CoordinatorPath) -> [CoordinatorPath] {
        let path = parent.appending(key)
        guard let group = group(key) else { return isRunning(key) ? [path] : [] }
        return group.dependencies.startOrder.flatMap { group.running($0, under: path) }
    }
}
