import ConcurrencySupport
import Control
import Coordinators
import CoordinatorsCluster
import DaemonConfiguration
import Ownership
import WireProtocol

// Commands about subtrees that other nodes have: they go there.
extension ClusterMembership {
    /// The number of owners to which a command is sent, one after the other, before it's given up.
    private static let mostOwners = 5
    /// The time for which a command waits for an owner that isn't known, or can't be reached.
    static let searchLimit = Duration.seconds(5)
    /// The time after which an owner is tried again that couldn't be reached, or has refused.
    private static let searchPause = Duration.milliseconds(20)
    /// The time for which a command waits until this node knows of the epoch for which the command is meant.
    private static let epochLimit = Duration.seconds(1)

    /// Has the owner's node carry out a command, when that is another one.
    ///
    /// - Parameter origin: The origin of the command when it's meant for an epoch.
    /// - Returns: nil when the command is for this node to carry out, or to refuse.
    func passOn(
        _ operation: ControlOperation,
        from requester: Requester,
        _ origin: (UInt64) -> RequestOrigin
    ) async throws(ControlError) -> JSONValue? {
        guard let way = way(of: operation, from: requester) else { return nil }
        let answer = try await way.pass(limit: operation.replyTimeout ?? Self.searchLimit, waits: operation.isMessage) {
            links,
            owner,
            address,
            remaining throws(NodeLinks.Failure) in
            try await links.call(
                operation.limited(to: remaining),
                of: owner.node.description,
                at: address,
                requestID: requester.requestID,
                origin: origin(owner.epoch.rawValue),
                patience: remaining
            )
        }
        guard let (value, node) = answer else { return nil }
        guard operation.name == ControlOperation.Status.name, var status = try? ControlJSON.decode(TreeNode.self, from: value) else {
            return value
        }
        (status.clusterNode, status.isElsewhere) = (node.description, true)
        return (try? ControlJSON.value(of: status)) ?? value
    }

    /// Has the owner's node send a stream, when that is another one.
    func passOn(
        _ operation: ControlOperation,
        from requester: Requester,
        to items: ItemWriter,
        _ origin: (UInt64) -> RequestOrigin
    ) async throws(ControlError) -> JSONValue? {
        guard let way = way(of: operation, from: requester) else { return nil }
        return try await way.pass(limit: Self.searchLimit, waits: false) { links, owner, address, _ throws(NodeLinks.Failure) in
            try await links.stream(
                operation,
                of: owner.node.description,
                at: address,
                origin: origin(owner.epoch.rawValue)
            ) { received throws(ControlError) in try await items.send(received) }
        }?.0
    }

    /// Returns the way of a command that another node may have to carry out; nil when it's for this one.
    private func way(of operation: ControlOperation, from requester: Requester) -> Way? {
        guard requester.passage == nil, operation.goesToOwner, let links, let node, let top = placedTop(of: operation) else {
            return nil
        }
        return Way(membership: self, node: node, links: links.links, top: top)
    }

    /// Returns the path of the placed child to which what the operation is about belongs; nil when that is none, or several.
    func placedTop(of operation: ControlOperation) -> String? {
        var paths = operation.path.map { [$0] } ?? []
        if let logs = operation.content as? ControlOperation.Logs { paths = logs.query.paths }
        let keys = Set(paths.map { CoordinatorPath($0)?.components.first.map(String.init) })
        guard keys.count == 1, let key = keys.first.flatMap(\.self), children.child(key)?.placement != nil else { return nil }
        return "/\(key)"
    }

    /// The search for the owner of a subtree, and what is requested of it.
    private struct Way {
        typealias Request = (NodeLinks, OwnerRoute.Owner, NodeAddress, Duration) async throws(NodeLinks.Failure) -> JSONValue

        let membership: ClusterMembership
        let node: ClusterNode
        let links: NodeLinks
        let top: String

        /// Sends a request to the owner, and to the next one when that isn't the owner any more.
        ///
        /// The request may have been carried out, and isn't sent again.
        ///
        /// - Parameters:
        ///   - limit: The time within which the request has to be on its last way.
        ///   - waits: Whether the request waits for an owner while there is none.
        /// - Returns: nil when this node is the owner, or there is none that could be asked.
        func pass(limit: Duration, waits: Bool, _ request: Request) async throws(ControlError) -> (JSONValue, NodeName)? {
            var (route, sent, refusals) = (OwnerRoute(), 0, 0)
            let end = MonotonicTime.now + limit
            var last = ControlError(.notRunning, "\(top) is on no node at present")
            while true {
                // What has failed is tried again after a while, also if nothing has changed here.
                var pauseEnd = end
                let changes = node.changes.count
                if await node.epoch(of: top) != nil { return nil }
                let view = await node.clusterView
                let owner = view.owners[top]
                let known = owner?.record.map { OwnerRoute.Owner(node: $0.node, epoch: owner?.epoch ?? Epoch(rawValue: 0)) }
                let isGone = known == nil || known?.node == membership.name
                let wish = view.wishes[top]?.value
                let isComing = waits && wish?.isStopped == false && view.assignments[top]?.value.isGivenUp != true
                if sent == 0, isGone, !isComing || .now >= end { return nil }
                if case .lookUp = route.nextStep() { _ = route.lookUpEnded(known?.node == membership.name ? nil : known) }
                if let owner = route.owner {
                    guard let address = view.nodes[owner.node].flatMap({ NodeAddress($0.value.address) }) else {
                        if sent == 0 { return nil }
                        throw ControlError(.notRunning, "\(top) is on \(owner.node), which doesn't listen for other nodes")
                    }
                    let remaining = end - .now
                    do throws(NodeLinks.Failure) {
                        return (try await request(links, owner, address, max(remaining, .milliseconds(1))), owner.node)
                    } catch {
                        switch error {
                        case .unanswered(let error): throw error
                        case .notSent(let error):
                            last = error
                            // The owner may be another one by now.
                            route = OwnerRoute()
                        case .answered(let error):
                            guard error.code == .notHere else { throw error }
                            last = ControlError(.notRunning, "\(top) has left \(owner.node), and has no other node yet")
                            refusals += 1
                            if refusals == ClusterMembership.mostOwners { throw last }
                            _ = route.notHere(sent: owner.epoch, known: error.epoch.map { Epoch(rawValue: $0) })
                            _ = route.lookUpEnded(nil)
                        }
                    }
                    sent += 1
                    pauseEnd = min(end, .now + ClusterMembership.searchPause)
                }
                guard .now < end else { throw last }
                await node.changes.change(after: changes, before: pauseEnd)
                if Task.isCancelled { throw ControlError(.cancelled, "the request was cancelled") }
            }
        }
    }

    // MARK: - What other nodes pass on

    /// Refuses what is neither about a subtree of this node, in the epoch for which it's meant, nor a look at the node as a whole.
    func checkPassage(_ passage: Requester.Passage, _ operation: ControlOperation) async throws(ControlError) {
        if operation.isNodeQuestion { return }
        guard operation.goesToOwner, let top = placedTop(of: operation) else {
            throw ControlError(
                .notPermitted,
                "a node passes on commands about subtrees of the cluster and looks at nodes alone, and not `\(operation.name)`"
            )
        }
        let meant = Epoch(rawValue: passage.origin.epoch)
        let end = MonotonicTime.now + Self.epochLimit
        while true {
            guard let node else { throw ControlError(.notHere, "\(name) isn't a member of the cluster yet") }
            let changes = node.changes.count
            let own = await node.epoch(of: top)
            if own == meant { return }
            let view = await node.clusterView
            let seen = view.owners[top]?.epoch
            // The other node may have heard of this ownership before this one has.
            let isToCome = own == nil && (seen == meant || view.revision.rawValue < meant.rawValue)
            guard isToCome, await !node.isEnding(top), .now < end else {
                let known = [own, seen].compactMap(\.self).max()
                throw ControlError(.notHere, "\(top) isn't on \(name) in epoch \(meant)", epoch: known?.rawValue)
            }
            await node.changes.change(after: changes, before: end)
            if Task.isCancelled { throw ControlError(.cancelled, "the request was cancelled") }
        }
    }
}
