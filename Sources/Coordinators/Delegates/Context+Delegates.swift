extension Context {
    /// Whom the coordinator tells its events.
    public var delegates: OwnDelegates<C> { OwnDelegates(node: node) }

    /// What a coordinator anywhere in the tree tells its delegates, in this process or in another.
    ///
    /// It listens when this returns, and ends when that coordinator is removed, or its process or this one ends.
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
