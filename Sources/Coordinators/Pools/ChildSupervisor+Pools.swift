import ConcurrencySupport

extension Node {
    /// Returns the coordinator whose rows observe the events of children of a type; those of a pool's members are observed above the pool.
    func observer(ofChildren typeName: String) -> Node? {
        if type.table.observes(typeName) { return self }
        return type.table.isPool ? parent?.observer(ofChildren: typeName) : nil
    }
}

extension ChildSupervisor {
    /// Returns whether a child can be given messages by the pool that it's a member of.
    func readiness(of key: String) -> PoolReadiness {
        state.withLock { state in
            guard state.isRunning(key) else { return .away }
            return state.slots.with(key) { slot in
                if slot.pauseReasons.contains(.explicit) { return .away }
                switch slot.phase {
                case .active, .flushing: return .ready
                case .vacant, .starting, .exitedEarly, .held, .draining, .down: return .held
                }
            } ?? .away
        }
    }

    /// Ends messages that wait for a child and that no life has got, so that other children can have them.
    ///
    /// - Parameter messages: The identities of the messages' envelopes.
    func withdraw(_ messages: Set<ObjectIdentifier>, from key: String, with error: any Error) {
        let withdrawn = withSlot(key) { slot in
            slot.record.parking.isBusy
                // A member that has had a message may have handled it.
                ? slot.record.parking.remove { messages.contains(ObjectIdentifier($0)) && !$0.mayBeHandled } : []
        }
        for message in withdrawn ?? [] { message.envelope.end(.failure(error)) }
        wakeIfNoneIsParked()
    }
}
