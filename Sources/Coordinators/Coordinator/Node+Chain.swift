import ConcurrencySupport
import WireProtocol

extension Node {
    /// Searches a row from this coordinator upwards, in tree order across processes.
    ///
    /// - Parameter index: The index of the row after which the search in this coordinator's own table begins.
    func climb(_ envelope: Envelope, after index: Int = -1) {
        if envelope.isBuiltin { return climbBuiltin(envelope) }
        var node = self
        var index = index
        while true {
            if let row = node.type.table.row(for: envelope.body, after: index) { return node.accept(envelope, row) }
            guard let parent = node.parent else { return node.leaveProcess(envelope) }
            if let border = node.border { return border.cross(envelope) { parent.climb($0) } }
            node = parent
            index = -1
        }
    }

    /// Searches a row for messages of one name that have arrived together.
    func climb(_ envelopes: [Envelope]) {
        guard let first = envelopes.first, envelopes.count > 1 || first.count > 1, !first.isBuiltin else {
            return envelopes.forEach { climb($0) }
        }
        var node = self
        while true {
            if let row = node.type.table.row(for: first.body) { return node.accept(envelopes, row) }
            guard let parent = node.parent else { return envelopes.flatMap(\.separated).forEach { node.leaveProcess($0) } }
            node = parent
        }
    }

    /// Sends a one-way message to a coordinator above this process, if it leaves at once and nothing more is to be done for it.
    ///
    /// - Returns: Whether a coordinator responds; `nil` if the message has to take the whole way.
    func sendUp<M: ResponderMessage>(_ message: M) throws(CoordinatorError) -> Bool? {
        guard let uplink = runtime.uplink, existingOpenAsks?.isClosed != true, leavesProcess(ObjectIdentifier(M.self)) else { return nil }
        return try uplink.send(message, from: path)
    }

    /// Returns whether no coordinator of this process, from here up, has a row for messages of a type.
    ///
    /// A recursion, as in the search for the shortcut of an ask.
    private func leavesProcess(_ message: ObjectIdentifier) -> Bool {
        guard case .none = type.table.match(for: message) else { return false }
        return parent?.leavesProcess(message) ?? true
    }

    func leaveProcess(_ envelope: Envelope) {
        if runtime.uplink?.climb(envelope) != true { endUnhandled(envelope) }
    }

    /// Delivers to the coordinator at a path, wherever in the tree: up as far as needed, then down.
    func route(_ envelope: Envelope, to target: CoordinatorPath) {
        var node = self
        while true {
            if let rest = target.components(below: node.path) { return node.deliver(envelope, to: rest, isDirect: true) }
            guard let parent = node.parent else { break }
            node = parent
        }
        guard let uplink = runtime.uplink else { return envelope.end(.failure(noSuchPath(target.description.dropFirst()))) }
        uplink.forward(envelope, to: target.description, isDirect: true)
    }

    /// Delivers to a coordinator at or below this one.
    ///
    /// - Parameters:
    ///   - rest: The keys from here down.
    ///   - isDirect: Whether only the coordinator's own table is searched; otherwise the message climbs from there.
    func deliver(_ envelope: Envelope, to rest: ArraySlice<Substring>, isDirect: Bool) {
        guard let key = rest.first else { return isDirect ? acceptDirectly(envelope) : climbFromHere(envelope) }
        guard let children = knownChildren ?? (runtime.mayStillStart(for: envelope) ? children : nil) else {
            return envelope.end(.failure(noSuchPath(key)))
        }
        children.deliver(envelope, to: String(key), rest.dropFirst(), isDirect: isDirect)
    }

    /// The supervisor of the children that are here or, below the root of a node of a cluster, on other nodes.
    var knownChildren: ChildSupervisor? { existingChildren ?? (parent == nil && runtime.nodes.load() != nil ? children : nil) }

    private func acceptDirectly(_ envelope: Envelope) {
        if envelope.isBuiltin { return acceptBuiltin(envelope) }
        if let row = type.table.row(for: envelope.body) { return accept(envelope, row) }
        if let row = type.table.poolRow(for: envelope.body) { return accept(envelope, row) }
        let name = envelope.body.name
        let text = "\(path), a \(type.name), has no row for \(name)\(TypeNames.advice(on: name))"
        envelope.end(.failure(CoordinatorError(.unhandled, text)))
    }

    /// Searches a row for a message to this coordinator; from the members of a pool messages climb past it.
    private func climbFromHere(_ envelope: Envelope) {
        if let row = type.table.poolRow(for: envelope.body) { return accept(envelope, row) }
        climb(envelope)
    }

    func noSuchPath(_ key: some StringProtocol) -> CoordinatorError {
        CoordinatorError(.noSuchPath, "there is no coordinator at \(path.appending(String(key)))")
    }

    /// Sends a message up the chain and waits for the answer.
    func ask(_ body: Envelope.Body, by deadline: MonotonicTime?, isOneWay: Bool) async throws -> Answer {
        let envelope = Envelope(body, sender: path, deadline: deadline, isOneWay: isOneWay)
        return try await envelope.delivered(in: openAsks) { climb($0) }
    }
}
