/// A handle on a started child whose type doesn't matter.
///
/// It follows the path, not the incarnation.
public struct AnyChild: Sendable {
    let supervisor: ChildSupervisor
    let key: String

    /// The name of the child's type, or the program's.
    public let typeName: String

    /// The child's place in the tree.
    public var path: CoordinatorPath { supervisor.node.path.appending(key) }

    /// The child's key, as the parent's type of keys.
    public func key<Key: CoordinatorKey>(as type: Key.Type = Key.self) -> Key? { Key(pathComponent: key) }

    /// How the child is doing; `inactive` when it's gone.
    public var state: CoordinatorSnapshot.State { supervisor.snapshotState(of: key) }

    /// Counts the child's lives; 0 when it's gone.
    public var incarnation: UInt32 { supervisor.incarnation(of: key) }

    /// Stops the child and frees its key.
    ///
    /// Stopping one that is gone does nothing.
    public func stop() async {
        try? await supervisor.stop(key, initiator: .parent, forgets: true)
    }

    /// Pauses the child and those below it; see `Child.pause`.
    public func pause() async {
        try? await supervisor.setPaused(true, for: key, initiator: .parent)
    }

    /// Resumes the child, unless an ancestor is paused.
    public func resume() async {
        try? await supervisor.setPaused(false, for: key, initiator: .parent)
    }

    /// Ends the child and its subtree, whatever its state, and starts it anew with the configuration it was given first.
    ///
    /// - Throws: `noSuchChild`; what its `start` threw.
    public func restart() async throws {
        try await supervisor.restart(key)
    }

    /// The child as one of a type; `nil` when it's of another.
    public func typed<K: Coordinator>(as type: K.Type = K.self) -> Child<K>? {
        typeName == TypeNames.name(of: type) ? Child(supervisor: supervisor, key: key) : nil
    }
}
