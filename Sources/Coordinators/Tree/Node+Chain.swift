import WireProtocol

extension Node {
    /// Looks for a row from this coordinator upwards, in tree order whatever the process.
    func climb(_ envelope: Envelope) {
        var node = self
        while true {
            if let row = node.type.table.row(for: envelope.body) { return node.accept(envelope, row) }
            guard let parent = node.parent else { return node.leaveProcess(envelope) }
            node = parent
        }
    }

    /// Goes on above this coordinator.
    func climbOn(_ envelope: Envelope) {
        if let parent {
            parent.climb(envelope)
        } else {
            leaveProcess(envelope)
        }
    }

    private func leaveProcess(_ envelope: Envelope) {
        if let uplink = runtime.uplink { return uplink.forward(envelope) }
        let message = UnhandledMessage(name: envelope.body.name, sender: envelope.sender)
        post(.unhandled(message))
        envelope.end(
            .failure(CoordinatorError(.unhandled, "nobody from \(envelope.sender) up to \(path) responds to \(message.name)"))
        )
    }

    /// Delivers to a coordinator at or below this one.
    ///
    /// - Parameters:
    ///   - rest: the keys from here down.
    ///   - isDirect: only the coordinator's own table counts; otherwise the message climbs from there.
    func deliver(_ envelope: Envelope, to rest: ArraySlice<Substring>, isDirect: Bool) {
        guard let key = rest.first else { return isDirect ? acceptDirectly(envelope) : climb(envelope) }
        guard let children = existingChildren else { return envelope.end(.failure(noSuchPath(key))) }
        children.deliver(envelope, to: String(key), rest.dropFirst(), isDirect: isDirect)
    }

    private func acceptDirectly(_ envelope: Envelope) {
        if let row = type.table.row(for: envelope.body) { return accept(envelope, row) }
        envelope.end(.failure(CoordinatorError(.unhandled, "\(path), a \(type.name), has no row for \(envelope.body.name)")))
    }

    func noSuchPath(_ key: some StringProtocol) -> CoordinatorError {
        CoordinatorError(.noSuchPath, "there is no coordinator at \(path.appending(String(key)))")
    }

    /// Sends a message up the chain and waits for the answer.
    func ask(_ body: Envelope.Body, timeout: Duration?, isOneWay: Bool) async throws -> Answer {
        let envelope = Envelope(body, sender: path, deadline: timeout.map { .now + $0 }, isOneWay: isOneWay)
        return try await envelope.delivered(owner: openAsks) { climb($0) }
    }
}
