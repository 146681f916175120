extension CoordinatorRuntime {
    /// The messages and events that were dropped in the whole tree since it was started, also by workers that are gone.
    ///
    /// Dead letters of workers arrive some twenty milliseconds late.
    public var deadLetters: DeadLetterReport { core.deadLetters.report }

    /// Returns a stream of everything that happens in the tree from now on, in every process: changes, handled messages, events, drops.
    ///
    /// The stream is for tracing and audit. It has a cost only while it's read. At most 4,096 events wait; then the oldest are dropped.
    public func tap() -> AsyncStream<TreeEvent> { core.tap.open() }

    /// The numbers of live objects in this process.
    public var counters: RuntimeCounters { core.counts.counters }

    /// Returns the numbers of live objects in the process of a coordinator.
    public func counters(of path: CoordinatorPath) async throws -> RuntimeCounters {
        if path.isRoot { return counters }
        return try RuntimeCounters(decoding: try await root.operate(.counters, on: path.components[...]))
    }
}
