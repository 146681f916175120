import ConcurrencySupport
import Control
import Coordinators
import CoordinatorsCluster
import DaemonConfiguration
import Links
import Ownership

/// Where the children are that the cluster places, as this node sees it: for each message of a coordinator that is sent to one of them.
final class ChildPlaces: Sendable {
    private struct State {
        var owners: [String: (node: NodeName, epoch: Epoch)] = [:]
        var addresses: [NodeName: NodeAddress] = [:]
        /// The children for which this node takes messages, with the epochs of its ownership.
        var open: [String: Epoch] = [:]
        /// The latest epochs that are over.
        var fenced: [String: Epoch] = [:]
        /// The time until which this node trusts its lease; nil: it isn't a node yet.
        var trust: LeaseTrust?

        /// Whether this node takes messages for a child, in this epoch or any: a fence may be late, so each message is compared with the clock.
        func takes(_ key: String, epoch: UInt64? = nil) -> Bool {
            guard let open = open[key], epoch ?? open.rawValue == open.rawValue else { return false }
            return trust?.isGiven == true
        }
    }

    var changes: ChangeSignal { children.changes }
    private let children: ConfiguredChildren
    private let name: NodeName
    private let links: NodeLinks?
    private let state = Lock(State())

    /// - Parameters:
    ///   - name: The name of this node.
    ///   - links: The node's connections to other nodes; nil: it has none.
    init(_ children: ConfiguredChildren, of name: NodeName, _ links: NodeLinks?) {
        (self.children, self.name, self.links) = (children, name, links)
    }

    /// Takes note of what the node sees of the cluster.
    func learn(_ view: ClusterView) {
        let owners = view.owners.compactMap { path, owner in
            owner.record.map { (String(path.dropFirst()), (node: $0.node, epoch: owner.epoch)) }
        }
        change { state in
            state.owners = Dictionary(owners) { first, _ in first }
            state.addresses = view.nodes.compactMapValues { NodeAddress($0.value.address) }
        }
    }

    /// Takes no message for which the lease is too old.
    func trust(_ trust: LeaseTrust) { state.withLock { $0.trust = trust } }

    /// Takes messages for a child, which has been started under an epoch, unless that is over.
    func open(_ key: String, epoch: Epoch) {
        change { state in
            if epoch > state.fenced[key] ?? Epoch(rawValue: 0) { state.open[key] = epoch }
        }
    }

    /// Takes no messages for a child any more.
    ///
    /// - Parameter epoch: The epoch that is over; nil: any.
    func close(_ key: String, epoch: Epoch? = nil) {
        change { state in
            if epoch == nil || state.open[key] == epoch { state.open[key] = nil }
            // A start that is under way opens the child only now.
            if let epoch { state.fenced[key] = max(epoch, state.fenced[key] ?? epoch) }
        }
    }

    private func change(_ body: (inout State) -> Void) {
        state.withLock { body(&$0) }
        changes.noteChange()
    }
}

extension ChildPlaces: PlacedChildren {
    func place(of key: String) -> ChildPlace? {
        let place = state.withLock { state -> ChildPlace? in
            if state.takes(key) { return .here }
            guard let owner = state.owners[key], owner.node != name else { return nil }
            return .elsewhere(node: owner.node.description, epoch: owner.epoch.rawValue)
        }
        return place ?? (children.child(key)?.placement == nil ? nil : .nowhere)
    }

    func takes(_ key: String, epoch: UInt64) -> Bool { state.withLock { $0.takes(key, epoch: epoch) } }

    func connect(to node: String) async throws -> Link {
        let address = NodeName(node).flatMap { name in state.withLock { $0.addresses[name] } }
        guard let links, let address else {
            throw ControlError(.unreachable, "the nodes don't listen for one another; each needs `listen` in `cluster`")
        }
        return Link.over(try await links.connectForMessages(to: node, at: address))
    }
}
