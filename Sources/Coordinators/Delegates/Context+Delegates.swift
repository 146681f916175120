extension Context {
    /// The receivers of the coordinator's events.
    public var delegates: OwnDelegates<C> { OwnDelegates(node: node) }

    /// Returns a stream of the events of a coordinator anywhere in the tree, in this process or in another.
    ///
    /// The stream gets events from the return of this call on, and ends when that coordinator is removed, or its process or this one ends.
    ///
    /// - Throws: `noSuchPath`, `peerLost`.
    public func events<K: Coordinator>(of type: K.Type, at path: CoordinatorPath) async throws -> EventStream<K> {
        guard let parent = path.parent else {
            throw CoordinatorError(.noSuchPath, "the root has no parent that would hear its events")
        }
        let buffer = ReplyBuffer(.value(ReadEvents(key: path.key)), sender: node, deadline: nil, isBuiltin: true) {
            node.route($0, to: parent)
        }
        _ = try await buffer.next()
        let queue = NoticeQueue(of: path, deadLetters: node.runtime.deadLetters)
        let task = Task {
            while let event = try? await buffer.next() { queue.append(.event(event)) }
            queue.finish()
        }
        return EventStream(queue) { task.cancel() }
    }
}
