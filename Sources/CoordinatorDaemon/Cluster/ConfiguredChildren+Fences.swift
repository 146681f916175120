import ConcurrencySupport
import Coordinators
import DaemonConfiguration

extension ConfiguredChildren {
    /// Returns the epoch under which this node owns a child, or the subtree to which it belongs; nil when it isn't the cluster's.
    func fence(of key: String) -> UInt64? { state.withLock { $0.fence ?? $0.fences[key] } }

    /// Takes note of the epoch under which this node owns a child.
    func own(_ key: String, _ epoch: UInt64) {
        state.withLock { $0.fences[key] = epoch }
        group(key)?.belong(to: epoch)
    }

    /// Takes note that this node doesn't own a child any more.
    func disown(_ key: String) { state.withLock { $0.fences[key] = nil } }

    private func belong(to epoch: UInt64) {
        let keys = state.withLock { state in
            state.fence = epoch
            return state.children.map(\.key)
        }
        for key in keys { group(key)?.belong(to: epoch) }
    }

    /// The children of the root that the cluster places.
    var placedChildren: [ConfiguredChild] { children.filter { $0.placement != nil } }

    /// Returns the paths of all processes of a child that the file lists.
    func leaves(of key: String, under parent: CoordinatorPath = .root) -> [CoordinatorPath] {
        let path = parent.appending(key)
        guard let group = group(key) else { return [path] }
        return group.children.flatMap { group.leaves(of: $0.key, under: path) }
    }
}
