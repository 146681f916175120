import ConcurrencySupport

extension ChildSupervisor {
    /// The handles on the children, in start order.
    var handles: [AnyChild] { keys.compactMap { handle(of: $0) } }

    /// Returns a handle on a child; `nil` when there is none.
    func handle(of key: String) -> AnyChild? {
        let typeName = state.withLock { state in
            state.machine.state(of: key) == nil ? nil : state.slots.with(key) { $0.definition.typeName }
        }
        return typeName.map { AnyChild(supervisor: self, key: key, typeName: $0) }
    }

    func has(_ key: String) -> Bool { state.withLock { $0.slots.contains(key) } }

    func snapshotState(of key: String) -> CoordinatorSnapshot.State {
        state.withLock { state in
            let machine = state.machine.state(of: key)
            return state.slots.with(key) { $0.state(machine) } ?? .inactive
        }
    }

    func incarnation(of key: String) -> UInt32 {
        withSlot(key) { $0.incarnation } ?? 0
    }

    /// Returns whether a child lives, or its next life is decided upon.
    func lives(_ key: String) -> Bool { state.withLock { $0.isAlive(key) } }
}
