import ConcurrencySupport

extension ChildSupervisor {
    /// Turns a report of the machine into the state of handles, the answers of waiting callers and the coordinator's events.
    func report(_ key: String, _ incarnation: Incarnation, _ change: Supervisor<String>.Change) {
        var transition = ChildTransition(node.path.appending(key), incarnation, change)
        let typeName = state.withLock { state -> String in
            let isAlive = state.isAlive(key)
            let entered = state.slots.with(key) { slot in
                (isEnd: transition.enter(&slot, isAlive: isAlive), typeName: slot.definition.typeName)
            }
            // The key is freed before the end is reported to any caller.
            if entered?.isEnd == true, state.machine.state(of: key) == nil { transition.removed = state.slots.remove(key) }
            return entered?.typeName ?? ""
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
        wakeIfNoneIsParked()
        node.runtime.childChanged(transition.path, transition.change)
    }
}
