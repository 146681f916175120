import ConcurrencySupport

/// The reactions to the events of the children's lives.
extension ChildSupervisor: HostOwner {
    func handle(_ event: HostEvent, of life: ChildInstance) {
        switch event {
        case .exited(let reason): exited(life, reason)
        case .finished(let output): finished(life, output)
        case .emitted(let event): emitted(life, event)
        case .dismissalRequested(let timeout, let decision):
            tasks.add { decision.settle(await self.dismissalRequested(by: life, timeout: timeout)) }
        case .becameUnreachable: holdMessages(for: life)
        case .becameReachable: releaseMessages(to: life)
        case .recyclingDue: recycle(life)
        case .becameIdle: becameIdle(life)
        case .messageReturned(let message):
            holdMessages(for: life)
            if park(returned: message, from: life) { return }
            if message.envelope.mayBeHandled { return message.envelope.end(.failure(lost(life))) }
            deliver(message.envelope, to: life.key, message.rest, isDirect: message.isDirect)
        }
    }

    private func exited(_ life: ChildInstance, _ reason: ExitReason) {
        endWhatMayBeHandled(by: life)
        mutateAndPerform { state in
            let told = state.slots.with(life.key) { slot -> ExitReason? in
                guard slot.incarnation == life.incarnation else { return reason }
                // A child that has finished is told to stop then, wherever it lives; its reason is that it has finished.
                let reason = slot.record.output != nil && reason == .shutdown ? .normal : reason
                // The start is reported first.
                guard case .starting(let started) = slot.phase else { return reason }
                slot.phase = .exitedEarly(started, reason)
                return nil
            }
            if let reason = told ?? reason { state.feed(.exited(life.key, life.incarnation, reason)) }
        }
    }

    private func finished(_ life: ChildInstance, _ output: Answer) {
        mutateAndPerform { state in
            let isFirst = state.slots.with(life.key) { slot in
                guard slot.incarnation == life.incarnation, slot.record.output == nil else { return false }
                slot.record.output = output
                return true
            }
            if isFirst == true { state.feed(.finished(life.key, life.incarnation)) }
        }
    }

    /// Sends a child's event to the parent's rows and to every observer.
    private func emitted(_ life: ChildInstance, _ event: Answer) {
        guard let typeName = notify(life.key, .event(event)) else { return }
        node.observer(ofChildren: typeName)?.post(.event(AnyChild(supervisor: self, key: life.key, typeName: typeName), event))
    }

    private func holdMessages(for life: ChildInstance) {
        withSlot(life.key) { slot in
            guard slot.incarnation == life.incarnation, slot.phase.life != nil else { return }
            if case .draining = slot.phase { return }
            slot.phase.hold()
        }
    }

    private func releaseMessages(to life: ChildInstance) {
        let waits = withSlot(life.key) { slot -> [OneShot<LifeEnd>] in
            guard slot.incarnation == life.incarnation, case .held(let life) = slot.phase else { return [] }
            slot.phase = .flushing(life)
            if slot.record.endWaits.isEmpty { return [] }
            defer { slot.record.endWaits = [] }
            return slot.record.endWaits
        }
        for wait in waits ?? [] { wait.settle(.goesOn) }
        flush(life.key)
    }

    /// Replaces a worker that has reached a limit of its recycling rules: new messages wait, those it has are handled, and a fresh worker
    /// takes over.
    private func recycle(_ life: ChildInstance) {
        mutateAndPerform { state in
            guard state.isRunning(life.key) else { return }
            let isPresent = state.slots.with(life.key) { slot in
                guard slot.incarnation == life.incarnation else { return false }
                slot.phase.hold()
                return true
            }
            if isPresent == true { state.feed(.restartRequested(life.key)) }
        }
    }
}
