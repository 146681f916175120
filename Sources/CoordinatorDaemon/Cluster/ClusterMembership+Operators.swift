import ConcurrencySupport
import Control
import Coordinators
import CoordinatorsCluster
import DaemonConfiguration
import Ownership

// What operators ask about the cluster.
extension ClusterMembership {
    /// Lists the nodes.
    func nodes() async -> NodeList {
        guard let node else { return NodeList(cluster: configuration.name, membership: "joining", nodes: []) }
        let (view, standing) = await (node.clusterView, node.standing)
        // A node without a lease has fenced what it had, whatever the store's last answer was.
        let isFenced = standing.membership == "joining"
        let entries = view.nodes.values.map(\.value).sorted { $0.name < $1.name }.map { record in
            NodeList.Entry(
                name: record.name.description,
                isSelf: record.name == name,
                leads: view.leader?.record?.node == record.name,
                drains: record.isDraining,
                labels: record.labels,
                capacity: record.capacity == 0 ? nil : record.capacity,
                version: record.version,
                subtrees: isFenced && record.name == name
                    ? [] : view.owners.filter { $0.value.record?.node == record.name }.keys.sorted()
            )
        }
        let stopped = view.wishes.filter { $0.value.value.isStopped }.keys.sorted()
        let homeless = view.wishes.keys.filter { view.owners[$0] == nil && !stopped.contains($0) }.sorted()
        var list = NodeList(
            cluster: configuration.name,
            membership: standing.membership,
            nodes: entries,
            homeless: homeless,
            unreadable: view.unreadable.isEmpty ? nil : Array(view.unreadable.keys.map(\.description).sorted().prefix(20))
        )
        let unplaced = view.unplaced
        let withoutNode = unplaced.filter { homeless.contains($0.key) }
        let leaving = entries.filter(\.drains).flatMap { entry in
            entry.subtrees.map { NodeList.Leaving(path: $0, node: entry.name, blocked: unplaced[$0]) }
        }
        list.outdated = standing.outdated
        if !withoutNode.isEmpty { list.unplaced = withoutNode }
        if !stopped.isEmpty { list.stopped = stopped }
        if !leaving.isEmpty { list.leaving = leaving }
        return list
    }

    /// What the store's loss has done, and how the node is a member.
    var standing: TreeMetrics.Cluster? {
        get async {
            guard let standing = await node?.standing else { return nil }
            let now = ContinuousClock.now
            return TreeMetrics.Cluster(
                membership: standing.membership,
                onStoreLoss: configuration.onStoreLoss.rawValue,
                outdated: standing.outdated,
                loss: standing.loss.map { loss in
                    TreeMetrics.Cluster.Loss(
                        reason: loss.reason,
                        stopped: loss.subtrees,
                        secondsAgo: Int((now - loss.time).components.seconds),
                        secondsAbsent: loss.end.map { Int(($0 - loss.time).components.seconds) }
                    )
                }
            )
        }
    }

    /// The number of entries of the store that can't be read.
    var unreadableCount: Int? {
        get async { await node?.clusterView.unreadable.count }
    }

    /// Tells where the subtree is to which a path belongs.
    func location(of path: CoordinatorPath) async throws(ControlError) -> SubtreeLocation {
        guard let node, let key = path.components.first.map(String.init) else { throw Self.isntPlaced(path) }
        let (view, standing) = await (node.clusterView, node.standing)
        let top = "/\(key)"
        guard view.wishes[top] != nil || view.owners[top] != nil else { throw Self.isntPlaced(path) }
        let (owner, assignment) = (view.owners[top], view.assignments[top]?.value)
        let (wish, ownerNode) = (view.wishes[top]?.value, owner?.record?.node)
        var place = SubtreeLocation(
            path: top,
            node: ownerNode?.description,
            epoch: owner?.epoch.rawValue,
            assigned: assignment?.node.flatMap { view.nodes[$0] == nil ? nil : $0.description },
            pinned: wish?.pin?.description,
            failedOn: assignment?.failures.map(\.node) ?? [],
            isGivenUp: assignment?.isGivenUp ?? false
        )
        place.outdated = standing.outdated
        if wish?.isStopped == true { place.isStopped = true }
        let failures = (assignment?.failures ?? []).compactMap { failure in failure.reason.map { (failure.node, $0) } }
        if !failures.isEmpty { place.failures = Dictionary(failures) { $1 } }
        if let reason = view.unplaced[top] {
            place.blocked = reason
        } else if let pin = wish?.pin, wish?.isStopped != true, pin != assignment?.node {
            place.blocked = view.obstacle(to: top, on: pin, failuresCount: true)
        }
        // The node has fenced what it had.
        if standing.membership == "joining", ownerNode == name { (place.node, place.epoch) = (nil, nil) }
        return place
    }

    private static func isntPlaced(_ path: CoordinatorPath) -> ControlError {
        ControlError(.noSuchPath, "\(path) belongs to no subtree that the cluster places; name a child with `placement`")
    }

    /// Has a node drain, or take subtrees again.
    func drain(_ text: String, _ isDraining: Bool) async throws(ControlError) -> NodeList {
        guard let node, let name = NodeName(text) else { throw ControlError(.noSuchPath, "the cluster has no node `\(text)`") }
        do throws(StoreError) {
            guard try await node.drain(name, isDraining) else {
                throw StoreError(code: .conflict, message: "the cluster has no node `\(text)`; `coordinatorctl nodes` lists them")
            }
        } catch {
            throw ControlError(error.code == .conflict ? .noSuchPath : .failed, error.message)
        }
        // What the list says of the node's subtrees follows from the mark.
        try await wait(for: node, upTo: Self.searchLimit) { () async -> Bool? in
            let known = await node.clusterView.nodes[name]
            return known == nil || known?.value.isDraining == isDraining ? true : nil
        }
        var list = await nodes()
        list.nodes = list.nodes.filter { $0.name == text }
        list.leaving = list.leaving.map { $0.filter { $0.node == text } }.flatMap { $0.isEmpty ? nil : $0 }
        for index in list.nodes.indices { list.nodes[index].drains = isDraining }
        return list
    }

    /// The time for which a subtree is waited for that leaves one node and comes up on another.
    private static let moveLimit = Duration.seconds(600)
    /// The time for which the node must have kept a subtree that was moved: one that can't run it gives it back.
    private static let probation = Duration.seconds(1)

    /// Pins a subtree to a node, and returns when the node has it, or takes the pin away.
    ///
    /// - Throws: `.failed` when the node may not have the subtree, or can't run it; the pin is what it was before then.
    func move(_ path: CoordinatorPath, to text: String?) async throws(ControlError) -> SubtreeLocation {
        let place = try await location(of: path)
        guard place.path == path.description, let node else { throw Self.isntPlaced(path) }
        let view = await node.clusterView
        guard let text else {
            _ = try await pin(place.path, to: nil, node)
            return try await location(pinnedTo: nil, path)
        }
        guard let target = NodeName(text), view.nodes[target] != nil else {
            throw ControlError(.noSuchPath, "the cluster has no node `\(text)`; `coordinatorctl nodes` lists them")
        }
        func refuse(_ reason: String) -> ControlError { ControlError(.failed, "\(place.path) can't move to \(text): \(reason)") }
        if let reason = view.obstacle(to: place.path, on: target, failuresCount: false) { throw refuse(reason) }
        let former = view.wishes[place.path]?.value.pin
        // What is there already has been for a while.
        var kept = view.owners[place.path].flatMap { $0.record?.node == target ? (epoch: $0.epoch, until: ContinuousClock.now) : nil }
        let cleared = try await pin(place.path, to: target, node)
        var seen = StoreRevision(rawValue: 0)
        let failure = try await wait(for: node, upTo: Self.moveLimit, atLeastEvery: Self.probation) { () async -> String? in
            let (view, standing) = await (node.clusterView, node.standing)
            if let outdated = standing.outdated { return outdated }
            // The revision that tells of former failures no more is the first that counts.
            guard view.revision >= cleared, let wish = view.wishes[place.path]?.value, wish.pin == target else { return nil }
            // A subtree that doesn't run is there when it's started.
            if wish.isStopped { return "" }
            let failed = view.assignments[place.path]?.value.failures.first { $0.node == text }
            if let failed { return "it can't run there: \(failed.reason ?? "see the log of \(text)")" }
            if let owner = view.owners[place.path], owner.record?.node == target {
                if kept?.epoch != owner.epoch { kept = (owner.epoch, .now + Self.probation) }
                return kept.map { .now >= $0.until } == true ? "" : nil
            }
            kept = nil
            guard view.revision > seen else { return nil }
            seen = view.revision
            return view.obstacle(to: place.path, on: target, failuresCount: true)
        }
        if let failure, !failure.isEmpty {
            _ = try? await pin(place.path, to: former, node, triesAgain: false)
            throw refuse(failure)
        }
        if failure == nil { throw ControlError(.timedOut, "\(path) is pinned to \(text), and isn't there yet", maybeExecuted: true) }
        return try await location(pinnedTo: text, path)
    }

    /// - Returns: The revision from before the pin, after which the store tells nothing of former failures any more.
    private func pin(
        _ path: String,
        to target: NodeName?,
        _ node: ClusterNode,
        triesAgain: Bool = true
    ) async throws(ControlError) -> StoreRevision {
        do throws(StoreError) {
            let cleared = triesAgain ? try await node.forgetFailures(of: path) : nil
            try await node.pin(path, to: target, triesAgain: false)
            return cleared ?? StoreRevision(rawValue: 0)
        } catch {
            throw ControlError(.failed, error.message)
        }
    }

    /// Returns where a subtree is whose pin was just written.
    private func location(pinnedTo text: String?, _ path: CoordinatorPath) async throws(ControlError) -> SubtreeLocation {
        var place = try await location(of: path)
        place.pinned = text
        return place
    }

    /// Looks at what a node knows after each change of it, until there is a result, or the time is over.
    ///
    /// - Parameter interval: The time after which it looks also without a change.
    @discardableResult
    private func wait<Value>(
        for node: ClusterNode,
        upTo limit: Duration,
        atLeastEvery interval: Duration? = nil,
        _ look: () async -> Value?
    ) async throws(ControlError) -> Value? {
        let value: Value? = await node.look(until: MonotonicTime.now + limit, atLeastEvery: interval, look)
        if value == nil, Task.isCancelled { throw ControlError(.cancelled, "the request was cancelled") }
        return value
    }

    // MARK: - Stops and starts on all nodes

    /// Stops a placed child on all nodes, until it's started, or starts it; returns when that is so.
    ///
    /// The store holds the stop, so that the child stays stopped whichever node is lost, and whichever daemon starts.
    ///
    /// - Returns: The path of the child; nil when the operation is another one, or about another child.
    /// - Throws: `.failed` when no node may have a child that is started.
    func switchEverywhere(_ operation: ControlOperation, from requester: Requester) async throws(ControlError) -> String? {
        let isStop = operation.content is ControlOperation.Stop
        guard isStop || operation.content is ControlOperation.Start, let path = operation.path.flatMap({ CoordinatorPath($0) }),
            path.components.count == 1, let top = placedTop(of: operation)
        else { return nil }
        if let passage = requester.passage { try await checkPassage(passage, operation) }
        guard let node else { throw ControlError(.notRunning, "this daemon isn't a member of the cluster yet") }
        do throws(StoreError) {
            try await node.stopEverywhere(top, isStop)
        } catch {
            let verb = isStop ? "stopped" : "started"
            throw ControlError(.failed, "\(top) can't be \(verb), since the cluster's store doesn't take it: \(error.message)")
        }
        var seen = StoreRevision(rawValue: 0)
        let outcome = try await wait(for: node, upTo: Self.moveLimit) { () async -> String? in
            let view = await node.clusterView
            guard view.revision > seen, let wish = view.wishes[top]?.value, wish.isStopped == isStop else { return nil }
            seen = view.revision
            // Without an assignment no node can claim it any more.
            if isStop { return view.owners[top] == nil && view.assignments[top]?.value.node == nil ? "" : nil }
            return view.owners[top]?.record == nil ? view.unplaced[top] : ""
        }
        guard let outcome else {
            let state = isStop ? "isn't gone from its node yet" : "has no node yet"
            throw ControlError(.timedOut, "\(top) \(state); `coordinatorctl where \(top)` shows it", maybeExecuted: true)
        }
        if !outcome.isEmpty { throw ControlError(.failed, "\(top) isn't stopped any more, and no node may have it: \(outcome)") }
        return top
    }

    /// Whether a node can be asked about what it has.
    func isAskable(_ node: String) -> Bool { node == name.description || links != nil }

    /// Refuses a command about a subtree that another node has, or that only the cluster may start and stop.
    func check(_ operation: ControlOperation, from requester: Requester) async throws(ControlError) {
        if let passage = requester.passage { try await checkPassage(passage, operation) }
        if operation.content is ControlOperation.Upgrade {
            throw ControlError(
                .invalidRequest,
                "a node of a cluster isn't upgraded in place: stop this daemon, which gives its subtrees over, and start the new one"
            )
        }
        guard let text = operation.path, let path = CoordinatorPath(text), let key = path.components.first.map(String.init),
            children.child(key)?.placement != nil
        else { return }
        let top = "/\(key)"
        // Looks, and what is about the place itself, aren't for the owner alone.
        guard operation.goesToOwner, operation.isMutating else { return }
        if await node?.epoch(of: top) != nil { return }
        let place = try? await location(of: path)
        guard let owner = place?.node, owner != name.description else {
            if place?.isStopped == true {
                throw ControlError(.notRunning, "\(top) is stopped on all nodes; `coordinatorctl start \(top)` starts it")
            }
            throw ControlError(.notRunning, "\(top) is on no node at present")
        }
        let advice = "give the command to the daemon there, or have the nodes `listen` for one another"
        throw ControlError(.notRunning, "\(top) is on \(owner); \(advice)")
    }

    /// Marks the subtrees that nodes own.
    func mark(_ tree: inout TreeNode) async {
        guard let node else { return }
        let owners = await node.clusterView.owners
        guard tree.path == "/" else { return mark(subtree: &tree, owners) }
        let elsewhere = owners.filter(isElsewhere)
        let descriptions = elsewhere.isEmpty ? [:] : await descriptions(of: elsewhere)
        for index in tree.children.indices {
            if let description = descriptions[tree.children[index].path] { tree.children[index] = description }
            mark(subtree: &tree.children[index], owners)
        }
    }

    private func mark(subtree: inout TreeNode, _ owners: [String: Owner]) {
        subtree.clusterNode = owner(of: subtree.path, owners)
        subtree.isElsewhere = subtree.clusterNode.flatMap { $0 == name.description ? nil : true }
    }

    /// The keys of the placed children that other nodes have; none if the nodes don't listen for one another.
    var keysElsewhere: Set<String> {
        get async {
            guard links != nil, let node else { return [] }
            return Set(await node.clusterView.owners.filter(isElsewhere).keys.map { String($0.dropFirst()) })
        }
    }

    private func isElsewhere(_ path: String, _ owner: Owner) -> Bool {
        children.child(String(path.dropFirst()))?.placement != nil && owner.record.map { $0.node != name } ?? false
    }

    private func owner(of path: String, _ owners: [String: Owner]) -> String? {
        guard children.child(String(path.dropFirst()))?.placement != nil else { return nil }
        return owners[path]?.record?.node.description
    }
}

extension NodeStanding {
    /// Why what the node knows of the cluster may not be true any more; nil: it's a member.
    fileprivate var outdated: String? {
        guard membership != "member" else { return nil }
        let age = lastAnswer.map { "the store has answered last \((ContinuousClock.now - $0).briefText) ago" }
        return "this daemon isn't a member of the cluster at present (\(membership)): "
            + [age ?? "the store hasn't answered since the daemon's start", trouble?.withoutFullStop]
            .compactMap(\.self).joined(separator: "; ")
    }
}

extension String {
    /// The text as a part of a sentence.
    fileprivate var withoutFullStop: String { hasSuffix(".") ? String(dropLast()) : self }
}
