import ConcurrencySupport

extension Context {
    /// The children in start order, those that are being restarted included.
    public var children: [AnyChild] { node.existingChildren?.handles ?? [] }

    /// Returns the children in a state, in start order.
    public func children(in state: CoordinatorSnapshot.State) -> [AnyChild] { children.filter { $0.state == state } }

    /// Returns the child with a key; `nil` when there is none.
    public func child(_ key: C.ChildKey) -> AnyChild? { node.existingChildren?.handle(of: key.pathComponent) }

    /// Returns the first child of a type; `nil` when there is none.
    public func child<K: Coordinator>(_ type: K.Type) -> Child<K>? {
        children.lazy.compactMap { $0.typed(as: type) }.first
    }

    /// Returns the child with a key, if it's of a type.
    public func child<K: Coordinator>(_ type: K.Type, as key: C.ChildKey) -> Child<K>? { child(key)?.typed(as: type) }
}
