extension CoordinatorRuntime {
    /// What was dropped in the whole tree since it was started, also by workers that are gone.
    ///
    /// Letters of workers arrive some twenty milliseconds late.
    public var deadLetters: DeadLetterReport { core.deadLetters.report }

    /// Everything that happens in the tree from now on, in every process: changes, messages that are handled, events, what is dropped.
    ///
    /// For tracing and audit. It costs something only while somebody looks. At most 4,096 happenings wait; then the oldest are gone.
    public func tap() -> AsyncStream<TreeEvent> { core.tap.open() }

    /// What is alive in this process.
    public var counters: RuntimeCounters { core.counts.counters }

    /// What is alive in the process of a coordinator.
    public func counters(of path: CoordinatorPath) async throws -> RuntimeCounters {
        if path.isRoot { return counters }
        return try RuntimeCounters(decoding: try await root.operate(.counters, on: path.components[...]))
    }
}
