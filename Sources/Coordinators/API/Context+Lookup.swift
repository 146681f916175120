import ConcurrencySupport

extension Context {
    /// The children in start order, those that are being restarted included.
    public var children: [AnyChild] { node.existingChildren?.handles ?? [] }

    /// The children in a state, in start order.
    public func children(in state: CoordinatorSnapshot.State) -> [AnyChild] { children.filter { $0.state == state } }

    /// The child of a key; `nil` when there is none.
    public func child(_ key: C.ChildKey) -> AnyChild? { node.existingChildren?.handle(of: key.pathComponent) }

    /// The first child of a type; `nil` when there is none.
    public func child<K: Coordinator>(_ type: K.Type) -> Child<K>? {
        children.lazy.compactMap { $0.typed(as: type) }.first
    }

    /// The child of a key, if it's of a type.
    public func child<K: Coordinator>(_ type: K.Type, as key: C.ChildKey) -> Child<K>? { child(key)?.typed(as: type) }
}

extension ChildSupervisor {
    /// Handles on the children in start order.
    fileprivate var handles: [AnyChild] { keys.compactMap { handle(of: $0) } }

    /// A handle on a child; `nil` when there is none.
    func handle(of key: String) -> AnyChild? {
        let typeName = state.withLock { state in
            state.machine.state(of: key) == nil ? nil : state.slots[key]?.definition.typeName
        }
        return typeName.map { AnyChild(supervisor: self, key: key, typeName: $0) }
    }
}
