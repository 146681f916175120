import Control
import CoordinatorsCluster
import DaemonConfiguration
import Glibc
import Ownership
import WireProtocol

// What operators ask about other nodes as a whole.
extension ClusterMembership {
    /// The time for which a description of the tree, or a list of processes, waits for those of other nodes.
    private static let descriptionLimit = Duration.seconds(2)

    /// Has another node answer a question about itself.
    ///
    /// - Returns: nil when this is the node.
    func answer(to question: ControlOperation, of text: String, _ origin: RequestOrigin) async throws(ControlError) -> JSONValue? {
        guard let (links, address) = try await way(to: text) else { return nil }
        let answer: JSONValue
        do throws(NodeLinks.Failure) {
            answer = try await links.call(
                question,
                of: text,
                at: address,
                requestID: nil,
                origin: origin,
                patience: Self.searchLimit
            )
        } catch {
            guard case .unanswered = error else { throw error.error }
            throw ControlError(.unreachable, "the connection to \(text) has ended before the answer; ask again")
        }
        guard question == .ps, var list = try? ControlJSON.decode(ProcessList.self, from: answer) else { return answer }
        mark(&list, of: text)
        return (try? ControlJSON.value(of: list)) ?? answer
    }

    /// Has another node send a stream about itself.
    ///
    /// - Returns: nil when this is the node.
    func stream(
        _ question: ControlOperation,
        of text: String,
        to items: ItemWriter,
        _ origin: RequestOrigin
    ) async throws(ControlError) -> JSONValue? {
        guard let (links, address) = try await way(to: text) else { return nil }
        do throws(NodeLinks.Failure) {
            return try await links.stream(question, of: text, at: address, origin: origin) { received throws(ControlError) in
                try await items.send(received)
            }
        } catch {
            throw error.error
        }
    }

    /// Returns the connections and the address with which a node is asked; nil: it's this one.
    private func way(to text: String) async throws(ControlError) -> (NodeLinks, NodeAddress)? {
        if text == name.description { return nil }
        guard let node else {
            throw ControlError(.unreachable, "\(text) can't be asked: this daemon isn't a member of the cluster yet")
        }
        guard let other = NodeName(text), let record = await node.clusterView.nodes[other]?.value else {
            throw ControlError(.noSuchPath, "the cluster has no node `\(text)`; `coordinatorctl nodes` lists them")
        }
        guard let links, let address = NodeAddress(record.address) else {
            let advice = "ask its own daemon, or have the nodes `listen` for one another"
            throw ControlError(.notRunning, "\(text) can't be asked from here: \(advice)")
        }
        return (links.links, address)
    }

    // MARK: - Processes

    /// Names the node in a list of its own processes.
    func mark(_ list: inout ProcessList) { mark(&list, of: name.description) }

    private func mark(_ list: inout ProcessList, of node: String) {
        let isElsewhere = node == name.description ? nil : true
        for index in list.processes.indices { (list.processes[index].node, list.processes[index].isElsewhere) = (node, isElsewhere) }
    }

    /// Adds the processes of subtrees that other nodes have to a list of this node's own.
    ///
    /// A node that doesn't answer in time is named as missing.
    func complete(_ list: inout ProcessList) async {
        mark(&list)
        guard let links, let node else { return }
        let view = await node.clusterView
        var subtrees: [NodeName: Set<String>] = [:]
        for (path, owner) in view.owners where children.child(String(path.dropFirst()))?.placement != nil {
            guard let other = owner.record?.node, other != name else { continue }
            subtrees[other, default: []].insert(path)
        }
        let addresses = subtrees.keys.reduce(into: [NodeName: NodeAddress]()) { addresses, other in
            addresses[other] = view.nodes[other].flatMap { NodeAddress($0.value.address) }
        }
        let answers = await Self.processes(of: addresses, links.links)
        var missing: [ProcessList.Missing] = []
        for (other, paths) in subtrees.sorted(by: { $0.key < $1.key }) {
            switch answers[other] {
            case .success(var answer)?:
                answer.processes.removeAll { entry in !paths.contains { entry.path == $0 || entry.path.hasPrefix("\($0)/") } }
                mark(&answer, of: other.description)
                list.processes += answer.processes
            case .failure(let error)?: missing.append(.init(node: other.description, reason: error.message))
            case nil:
                let isKnown = addresses[other] != nil
                let reason = isKnown ? "no answer within \(Self.descriptionLimit)" : "it doesn't listen for other nodes, or is gone"
                missing.append(.init(node: other.description, reason: reason))
            }
        }
        if !missing.isEmpty { list.missing = missing }
    }

    /// Asks nodes for their processes.
    private static func processes(
        of nodes: [NodeName: NodeAddress],
        _ links: NodeLinks
    ) async -> [NodeName: Result<ProcessList, ControlError>] {
        await answers(about: nodes) { node, address in
            do throws(NodeLinks.Failure) {
                let answer = try await links.call(
                    .ps,
                    of: node.description,
                    at: address,
                    requestID: nil,
                    origin: RequestOrigin(processID: getpid(), userID: geteuid(), epoch: 0),
                    patience: descriptionLimit
                )
                return Result { () throws(ControlError) in try ControlJSON.decode(ProcessList.self, from: answer) }
            } catch {
                return .failure(error.error)
            }
        }
    }

    // MARK: - The tree

    /// Returns what other nodes tell of subtrees that they own, by path.
    func descriptions(of owners: [String: Owner]) async -> [String: TreeNode] {
        guard let links, let node else { return [:] }
        let nodes = await node.clusterView.nodes
        let places = owners.compactMapValues { owner -> (NodeName, NodeAddress, UInt64)? in
            guard let record = owner.record, record.node != name,
                let address = nodes[record.node].flatMap({ NodeAddress($0.value.address) })
            else { return nil }
            return (record.node, address, owner.epoch.rawValue)
        }
        return await Self.answers(about: places) { path, place in
            let (node, address, epoch) = place
            let answer = try? await links.links.call(
                .status(path: path),
                of: node.description,
                at: address,
                requestID: nil,
                origin: RequestOrigin(processID: getpid(), userID: geteuid(), epoch: epoch),
                patience: Self.descriptionLimit
            )
            return answer.flatMap { try? ControlJSON.decode(TreeNode.self, from: $0) }
        }.compactMapValues { $0 }
    }

    /// Asks about several things, all at once; returns the answers that have come in time.
    private static func answers<Key: Hashable & Sendable, Subject: Sendable, Answer: Sendable>(
        about subjects: [Key: Subject],
        _ ask: @escaping @Sendable (Key, Subject) async -> Answer
    ) async -> [Key: Answer] {
        await withTaskGroup(of: (Key, Answer)?.self) { group in
            for (key, subject) in subjects { group.addTask { (key, await ask(key, subject)) } }
            group.addTask {
                try? await Task.sleep(for: descriptionLimit)
                return nil
            }
            var answers: [Key: Answer] = [:]
            while answers.count < subjects.count, let next = await group.next(), let (key, answer) = next { answers[key] = answer }
            group.cancelAll()
            return answers
        }
    }
}
