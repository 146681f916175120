import ConcurrencySupport

extension ChildSupervisor {
    /// What the machine has noticed becomes what handles, waiters and the coordinator see.
    func report(_ key: String, _ incarnation: Incarnation, _ change: Supervisor<String>.Change) {
        var transition = ChildTransition(node.path.appending(key), incarnation, change)
        var typeName = ""
        state.withLock { state in
            guard var slot = state.slots[key] else { return }
            typeName = slot.definition.typeName
            let isEnd = transition.enter(&slot, isAlive: state.isAlive(key))
            // The key is free before anybody hears of the end.
            let isForgotten = isEnd && state.machine.state(of: key) == nil
            if isForgotten { transition.removed = slot }
            state.slots[key] = isForgotten ? nil : slot
        }
        tell(transition, of: key)
        if let event = transition.event, !node.type.table.lifecycle.isEmpty {
            node.post(.lifecycle(AnyChild(supervisor: self, key: key, typeName: typeName), event))
        }
    }

    private func tell(_ transition: ChildTransition, of key: String) {
        if transition.isEndOfLife { node.rewind(transition.path) }
        transition.removed?.spares?.end()
        let termination = Termination(
            path: transition.path,
            incarnation: transition.incarnation,
            reason: transition.change.exitReason ?? .unknown
        )
        for watcher in transition.watchers { watcher.complete(.success(.value(termination))) }
        if let observed = transition.observed {
            if let removed = transition.removed {
                for observer in removed.observers.all { observer.deliver(.change(observed)) }
            } else {
                notify(key, .change(observed))
            }
        }
        end(transition.removed?.observers.all ?? [])
        for stop in transition.stops { stop.end.settle(()) }
        for message in transition.hopeless {
            message.envelope.end(.failure(transition.failure ?? CoordinatorError.hasStopped(transition.path)))
        }
        for start in transition.starts { start.settle(transition.failure.map { .failure($0) } ?? .success(())) }
        if transition.change == .started || transition.change == .restarted { flush(key) }
        for outcome in transition.outcomes { outcome.tell() }
        node.runtime.childChanged(transition.path, transition.change)
    }

    /// Delivers what has waited for the child, before anything that is sent now.
    func flush(_ key: String) {
        while true {
            let next = state.withLock { state -> (any ChildHost, [ChildSlot.Parked])? in
                guard case .flushing(let host) = state.slots[key]?.phase, state.slots[key]?.isFlushing == false else { return nil }
                let parked = state.slots[key]?.parked ?? []
                state.slots[key]?.removeParked { _ in true }
                if parked.isEmpty { state.slots[key]?.phase = .active(host) } else { state.slots[key]?.isFlushing = true }
                return parked.isEmpty ? nil : (host, parked)
            }
            guard let (host, parked) = next else { return }
            for message in parked where !message.envelope.hasEnded {
                host.deliver(message.envelope, to: message.rest, isDirect: message.isDirect)
            }
            state.withLock { $0.slots[key]?.isFlushing = false }
        }
    }
}
