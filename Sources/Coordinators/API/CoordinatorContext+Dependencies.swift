extension CoordinatorContext {
    /// The dependencies of the coordinator.
    public var dependencies: Dependencies { node.dependencies }

    /// Provides this coordinator and everything below it, in this process and in others, now and after restarts.
    ///
    /// Coordinators below get the value first; then messages that waited here for it begin, in order. A value that a coordinator further
    /// down provides itself stays. Messages that are sent after this call find the value. A worker gets it if it's Codable.
    public func provide<Value: Sendable>(_ key: any WritableKeyPath<Dependencies, Value?> & Sendable, _ value: Value) async {
        var dependencies = Dependencies()
        dependencies[keyPath: key as WritableKeyPath<Dependencies, Value?>] = value
        node.provide(dependencies)
    }

    /// Returns a dependency; makes the services that it reads first, if this process hasn't made them.
    ///
    ///     let database = try await context.dependency(\.database)
    ///
    /// - Throws: `unsupported` when it isn't provided, or can't cross to this process; the error of the service's making.
    public func dependency<Value: Sendable>(_ key: DependencyPath<Value>) async throws -> Value { try await node.required(key) }

    /// Provides a service by its description, from which every process makes, runs and ends its own.
    public func provide<Value: Sendable, Descriptor: Codable & Sendable>(
        _ key: any KeyPath<DependencyKeys, ServiceDependencyKey<Value, Descriptor>> & Sendable,
        describedBy descriptor: Descriptor
    ) async {
        var dependencies = Dependencies()
        dependencies.describe(key, by: descriptor)
        node.provide(dependencies)
    }

    /// Provides a service by its description, from which every process makes its own when it's first needed there.
    public func provide<Value: Sendable, Descriptor: Codable & Sendable>(
        _ key: any KeyPath<DependencyKeys, DescribedDependencyKey<Value, Descriptor>> & Sendable,
        describedBy descriptor: Descriptor
    ) async {
        var dependencies = Dependencies()
        dependencies.describe(key, by: descriptor)
        node.provide(dependencies)
    }
}
