import ConcurrencySupport

/// What the children's hosts tell.
extension ChildSupervisor: HostOwner {
    func lifeExited(_ life: ChildInstance, _ reason: ExitReason) {
        let (isEarly, reason) = state.withLock { state -> (Bool, ExitReason) in
            guard let slot = state.slots[life.key], slot.incarnation == life.incarnation else { return (false, reason) }
            // One that has finished is told to stop then, wherever it lives; that it has finished is the reason.
            let reason = slot.output != nil && reason == .shutdown ? .normal : reason
            if !slot.isStartTold { state.slots[life.key]?.earlyExit = reason }
            return (!slot.isStartTold, reason)
        }
        if !isEarly { handle(.exited(life.key, life.incarnation, reason)) }
    }

    func lifeFinished(_ life: ChildInstance, _ output: Answer) {
        let mustPerform = state.withLock { state -> Bool in
            guard state.slots[life.key]?.incarnation == life.incarnation, state.slots[life.key]?.output == nil else { return false }
            state.slots[life.key]?.output = output
            return state.apply(.finished(life.key, life.incarnation))
        }
        if mustPerform { performDirectives() }
    }

    /// Its parent's rows and every observer hear of it.
    func lifeEmitted(_ life: ChildInstance, _ event: Answer) {
        let typeName = notify(life.key, .event(event))
        guard let typeName, node.type.table.observers[typeName] != nil else { return }
        node.post(.event(AnyChild(supervisor: self, key: life.key, typeName: typeName), event))
    }

    func life(_ life: ChildInstance, becameReachable isReachable: Bool) {
        state.withLock { state in
            guard let slot = state.slots[life.key], slot.incarnation == life.incarnation, let host = slot.host else { return }
            switch (slot.phase, isReachable) {
            case (.active, false), (.flushing, false): state.slots[life.key]?.phase = .pending(nextAttempt: nil)
            case (.pending, true) where slot.isStartTold: state.slots[life.key]?.phase = .flushing(host)
            case (.pending, _), (.active, true), (.flushing, true), (.down, _): break
            }
        }
        if isReachable { flush(life.key) }
    }

    /// A worker has done its time: what comes waits, what is there is handled, and a fresh one takes over.
    func recycleRequested(_ life: ChildInstance) {
        let mustPerform = state.withLock { state -> Bool in
            guard state.slots[life.key]?.incarnation == life.incarnation, case .running = state.machine.state(of: life.key) else {
                return false
            }
            state.slots[life.key]?.phase = .pending(nextAttempt: nil)
            return state.apply(.restartRequested(life.key))
        }
        if mustPerform { performDirectives() }
    }

    func messageReturned(_ message: ChildSlot.Parked, from life: ChildInstance) {
        self.life(life, becameReachable: false)
        if park(returned: message, for: life.key) { return }
        deliver(message.envelope, to: life.key, message.rest, isDirect: message.isDirect)
    }
}
