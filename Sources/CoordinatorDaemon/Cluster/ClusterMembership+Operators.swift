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
        let view = await node.clusterView
        let entries = view.nodes.values.map(\.value).sorted { $0.name < $1.name }.map { record in
            NodeList.Entry(
                name: record.name.description,
                isSelf: record.name == name,
                leads: view.leader?.record?.node == record.name,
                drains: record.isDraining,
                labels: record.labels,
                capacity: record.capacity == 0 ? nil : record.capacity,
                version: record.version,
                subtrees: view.owners.filter { $0.value.record?.node == record.name }.keys.sorted()
            )
        }
        let homeless = view.wishes.keys.filter { view.owners[$0] == nil }.sorted()
        return NodeList(
            cluster: configuration.name,
            membership: await node.membership,
            nodes: entries,
            homeless: homeless,
            unreadable: view.unreadable.isEmpty ? nil : Array(view.unreadable.keys.map(\.description).sorted().prefix(20))
        )
    }

    /// The number of entries of the store that can't be read.
    var unreadableCount: Int? {
        get async { await node?.clusterView.unreadable.count }
    }

    /// Tells where the subtree is to which a path belongs.
    func whereabouts(of path: CoordinatorPath) async throws(ControlError) -> Whereabouts {
        guard let node, let key = path.components.first.map(String.init) else { throw Self.isntPlaced(path) }
        let view = await node.clusterView
        let top = "/\(key)"
        guard view.wishes[top] != nil || view.owners[top] != nil else { throw Self.isntPlaced(path) }
        let (owner, assignment) = (view.owners[top], view.assignments[top]?.value)
        return Whereabouts(
            path: top,
            node: owner?.record?.node.description,
            epoch: owner?.epoch.rawValue,
            assigned: assignment?.node?.description,
            pinned: view.wishes[top]?.value.pin?.description,
            failedOn: assignment?.failures.map(\.node) ?? [],
            isGivenUp: assignment?.isGivenUp ?? false
        )
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
        var list = await nodes()
        list.nodes = list.nodes.filter { $0.name == text }
        for index in list.nodes.indices { list.nodes[index].drains = isDraining }
        return list
    }

    /// Pins a subtree to a node, or takes the pin away.
    func move(_ path: CoordinatorPath, to text: String?) async throws(ControlError) -> Whereabouts {
        var place = try await whereabouts(of: path)
        guard place.path == path.description, let node else { throw Self.isntPlaced(path) }
        let target = text.flatMap(NodeName.init)
        if let text {
            let known = await node.clusterView.nodes
            guard let target, known[target] != nil else {
                throw ControlError(.noSuchPath, "the cluster has no node `\(text)`; `coordinatorctl nodes` lists them")
            }
        }
        do throws(StoreError) { try await node.pin(place.path, to: target) } catch { throw ControlError(.failed, error.message) }
        place.pinned = text
        return place
    }

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
        if path.components.count == 1, operation.content is ControlOperation.Start || operation.content is ControlOperation.Stop {
            throw ControlError(
                .invalidRequest,
                "\(top) is placed by the cluster, which starts and stops it; use `move`, `drain`, or take it from the configuration"
            )
        }
        if await node?.epoch(of: top) != nil { return }
        let place = try? await whereabouts(of: path)
        guard let owner = place?.node, owner != name.description else {
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
