#if Cluster
    import Control
    import CoordinatorsCluster
    import DaemonConfiguration
    import Glibc
    import Ownership
    import WireProtocol

    // What operators ask about other nodes as a whole.
    extension ClusterMembership {
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
            guard case .ps = question, var list = try? ControlJSON.decode(ProcessList.self, from: answer) else { return answer }
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
            guard let node else { throw ControlError(.notRunning, "this daemon isn't a member of the cluster yet") }
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

        /// Asks nodes for their processes, all at once; returns the answers that have come in time.
        private static func processes(
            of nodes: [NodeName: NodeAddress],
            _ links: NodeLinks
        ) async -> [NodeName: Result<ProcessList, ControlError>] {
            await withTaskGroup(of: (NodeName, Result<ProcessList, ControlError>)?.self) { group in
                let origin = RequestOrigin(processID: getpid(), userID: geteuid(), epoch: 0)
                for (node, address) in nodes {
                    group.addTask {
                        do throws(NodeLinks.Failure) {
                            let answer = try await links.call(
                                .ps,
                                of: node.description,
                                at: address,
                                requestID: nil,
                                origin: origin,
                                patience: descriptionLimit
                            )
                            return (node, Result { () throws(ControlError) in try ControlJSON.decode(ProcessList.self, from: answer) })
                        } catch {
                            return (node, .failure(error.error))
                        }
                    }
                }
                group.addTask {
                    try? await Task.sleep(for: descriptionLimit)
                    return nil
                }
                var answers: [NodeName: Result<ProcessList, ControlError>] = [:]
                while answers.count < nodes.count, let answer = await group.next(), let (node, result) = answer { answers[node] = result }
                group.cancelAll()
                return answers
            }
        }
    }
#endif
