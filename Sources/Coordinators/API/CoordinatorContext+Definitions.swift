package import Supervision

extension CoordinatorContext {
    /// Starts a coordinator in this process whose supervision is that of a configuration file.
    ///
    /// - Parameters:
    ///   - ifPresent: The way in which a child is treated that has the key already.
    ///   - configuration: The configuration, which isn't copied: a reference stays one.
    package func start<K: Coordinator>(
        local type: K.Type,
        as key: C.ChildKey,
        restart: RestartType,
        shutdown: Shutdown,
        restartLimits: RestartLimits?,
        ifPresent: IfPresent,
        with configuration: K.Configuration
    ) async throws {
        let specification = ChildSpecification(
            id: key.description,
            restart: restart,
            shutdown: shutdown,
            isRetriedAtFirstStart: true,
            restartLimits: restartLimits
        )
        let place = CoordinatorDefinition.Place.inProcess(.of(type))
        let kind = ChildDefinition.Kind.coordinator(CoordinatorDefinition(configuration: .value(configuration), place: place))
        try await node.children.start(ChildDefinition(specification, kind), ifPresent: ifPresent)
    }

    /// Ends a child and its subtree, and keeps its key, as an operator's stop does; returns when nothing is left of it.
    ///
    /// - Throws: `noSuchChild`.
    package func stop(_ key: C.ChildKey) async throws {
        try await node.children.stop(key.description, initiator: .parent, forgets: false)
    }

    /// Puts the children into this start order; those that aren't named come first.
    ///
    /// - Parameter others: The siblings that end after each child, by the child's key; children without an order end together.
    package func arrange(_ keys: [C.ChildKey], stoppingBefore others: [String: [String]]) {
        node.existingChildren?.arrange(keys.map(\.description), stoppingBefore: others)
    }

    /// Waits until the health of a child's present life, a program, was checked with success.
    ///
    /// - Returns: False when there is no such life, or it has ended before.
    package func firstHealth(of key: C.ChildKey) async -> Bool {
        await node.existingChildren?.firstHealth(of: key.description) ?? false
    }

    /// Whether a process of a child goes on that the next start of the child takes over, because the daemon was killed or replaced.
    package func hasFormerLife(of key: C.ChildKey) -> Bool { node.runtime.hasFormerLife(at: path.appending(key.description)) }

    /// Whether the coordinator's children are being stopped because it ends, or have been.
    package var endsChildren: Bool { node.existingChildren?.isEnding ?? false }

    /// Changes whether a child that fails too often is given up alone, as one of the root always is, or ends this coordinator.
    package func isolateFailures(_ isolates: Bool) { node.children.isolateFailures(isolates) }
}
