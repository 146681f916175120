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

    /// Puts the children into this start order, in reverse of which they end; those that aren't named come first.
    package func arrange(_ keys: [C.ChildKey]) {
        node.existingChildren?.arrange(keys.map(\.description))
    }
}
