import ConcurrencySupport
import Logging
import WireProtocol

extension ChildSupervisor {
    func perform(_ directive: Supervisor.Directive) {
        switch directive {
        case .start(let key, let incarnation, let attempt): begin(key, incarnation, attempt)
        case .stop(let key, _, let shutdown):
            let (host, hastened) = state.withLock { ($0.host(of: key), $0.hastened(shutdown)) }
            host?.stop(hastened)
        case .report(let key, let incarnation, let change): report(key, incarnation, change)
        case .removed(let key): forget(key)
        case .wake(let time): state.wake(at: time) { [weak self] in self?.handle(.timePassed) }
        case .escalate(let reason):
            close()
            node.end(.failed(reason))
        case .autoShutdown:
            // The significant children have ended by themselves: their parent ends too, as its policy says.
            close()
            node.end(.failed(.shutdown))
        case .terminated: close()
        case .refused(let key, let error): refuse(key, error)
        }
    }

    private func begin(_ key: String, _ incarnation: Incarnation, _ attempt: Int) {
        let begun = withSlot(key) { slot -> (host: any ChildHost, formerSpares: SparePool?) in
            let definition = slot.definition
            let formerSpares = definition.isInWorker || slot.record.spares != nil ? prepareSpares(key, &slot) : nil
            let inheritance = ChildInheritance(
                pauseReasons: slot.pauseReasons,
                isRestart: attempt > 0,
                spares: slot.record.spares,
                areEventsWanted: !slot.record.observers.all.isEmpty || node.type.table.observes(definition.typeName)
            )
            let events = HostEvents(owner: self, life: ChildInstance(key: key, incarnation: incarnation))
            let host = node.runtime.makeHost(definition, parent: node, inheritance: inheritance, events: events)
            slot.phase = .starting(ChildSlot.Life(host: host))
            slot.incarnation = incarnation
            if attempt > 0 { slot.record.restarts += 1 }
            return (host, formerSpares)
        }
        guard let (host, formerSpares) = begun else { return handle(.exited(key, incarnation, .unknown)) }
        formerSpares?.end()
        // The host is known by now to a coordinator that is being provided with a dependency at the same time: none can be missed.
        node.passInheritance(to: host)
        if let host = host as? LocalHost {
            // A coordinator of this process begins at once, and has a task of its own for a hook that takes time.
            host.start { self.conclude($0, key, incarnation) }
        } else {
            tasks.add {
                do {
                    try await host.start()
                    self.conclude(.success(()), key, incarnation)
                } catch {
                    self.conclude(.failure(error), key, incarnation)
                }
            }
        }
    }

    /// Takes the outcome of a child's start.
    private func conclude(_ result: Result<Void, any Error>, _ key: String, _ incarnation: Incarnation) {
        if case .failure(let error) = result {
            return handle(.startFailed(key, incarnation, reason(for: error, key, incarnation)))
        }
        let spares = mutateAndPerform { state -> SparePool? in
            state.feed(.started(key, incarnation))
            let begun = state.slots.with(key) { $0.begun(incarnation) } ?? nil
            // The exit comes behind the start, in the order of the events.
            if let earlyExit = begun?.earlyExit { state.feed(.exited(key, incarnation, earlyExit)) }
            return begun?.spares
        }
        spares?.fillSoon()
    }

    /// Returns the reason why a start has failed, and notes its error in the child's slot.
    private func reason(for error: any Error, _ key: String, _ incarnation: Incarnation) -> ExitReason {
        state.withLock { state in
            let isEnding = state.isEnding(key)
            let reason = state.slots.with(key) { slot -> ExitReason? in
                guard slot.incarnation == incarnation else { return nil }
                slot.record.lastError = (error as? StartFailure)?.told ?? error
                // The child was told to stop before it was ready: its start hasn't failed.
                guard isEnding, (error as? CoordinatorError)?.code == .stopped else { return nil }
                return slot.record.output == nil ? .shutdown : .normal
            }
            return (reason ?? nil) ?? Self.reason(for: error)
        }
    }

    private static func reason(for error: any Error) -> ExitReason {
        switch error {
        case let error as CoordinatorError where error.code == .startTimedOut: .startTimedOut
        case let error as StartFailure: error.reason
        default: .startFailed(String(describing: error))
        }
    }

    /// Keeps as many processes ready as the child's plan demands.
    ///
    /// - Returns: The pool that isn't needed any more, to be ended outside the lock.
    private func prepareSpares(_ key: String, _ slot: inout ChildSlot) -> SparePool? {
        let former = slot.record.spares
        guard case .coordinator(let coordinator) = slot.definition.kind, case .worker(_, let program, let plan) = coordinator.place,
            plan.spares > 0
        else {
            slot.record.spares = nil
            return former
        }
        if former?.serves(program, plan) == true { return nil }
        slot.record.spares = SparePool(program, plan, path: node.path.appending(key), parent: node)
        return former
    }

    /// Reports that the supervision machine has refused a policy, or the specification of a child, whose start then fails.
    private func refuse(_ key: String?, _ error: SupervisionError) {
        guard let key else { return node.logger.error("a supervision policy was refused", metadata: ["error": "\(error)"]) }
        let path = node.path.appending(key)
        let (starts, removed) = state.withLock { state -> ([ChildSlot.Start], ChildSlot?) in
            let starts = state.slots.with(key) { slot in
                defer { slot.starts = [] }
                return slot.starts
            }
            return (starts ?? [], state.machine.state(of: key) == nil ? state.slots.remove(key) : nil)
        }
        for start in starts { start.settle(.failure(CoordinatorError(.invalidSpecification, "\(path): \(error.message)"))) }
        if let removed { drop(removed, because: CoordinatorError(.invalidSpecification, "\(path): \(error.message)")) }
    }

    private func forget(_ key: String) {
        let slot = state.withLock { state -> ChildSlot? in
            // The key may have been taken again since the machine decided this: a late removal can't affect the new child.
            guard state.machine.state(of: key) == nil else { return nil }
            return state.slots.remove(key)
        }
        if let slot { drop(slot, because: CoordinatorError(.stopped, "\(node.path.appending(key)) has ended")) }
    }

    /// Ends the supervisor: the machine has ended, and with it all children.
    private func close() {
        let slots = state.withLock { state in
            state.phase = .ended
            return state.slots.removeAll()
        }
        state.cancelWake()
        for slot in slots { drop(slot, because: .hasStopped(node.path)) }
        closed.settle(())
    }

    private func drop(_ slot: ChildSlot, because error: CoordinatorError) {
        slot.record.spares?.end()
        end(slot.record.observers.all)
        slot.settle(with: error)
        wakeIfNoneIsParked()
    }

    /// Turns a report of the machine into the state of handles, the answers of waiting callers and the coordinator's events.
    func report(_ key: String, _ incarnation: Incarnation, _ change: Supervisor.Change) {
        var transition = ChildTransition(key, under: node.path, incarnation, change)
        let typeName = state.withLock { state -> String in
            let isAlive = transition.isEndOfLife && state.isAlive(key)
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
        if transition.isEndOfLife { tellEndOfLife(transition) }
        if let observed = transition.observed, transition.isObserved {
            if let removed = transition.removed {
                for observer in removed.record.observers.all { observer.queue.append(.change(observed)) }
            } else {
                notify(key, .change(observed))
            }
        }
        end(transition.removed?.record.observers.all ?? [])
        for stop in transition.stops { stop.end.settle(()) }
        for message in transition.hopeless {
            message.envelope.end(.failure(transition.failure ?? CoordinatorError.hasStopped(transition.path)))
        }
        for start in transition.starts { start.settle(transition.failure.map { .failure($0) } ?? .success(())) }
        if transition.mustFlush { flush(key) }
        for outcome in transition.outcomes { outcome.tell() }
        if transition.removed != nil || !transition.hopeless.isEmpty { wakeIfNoneIsParked() }
        node.runtime.childChanged(transition.path, transition.change)
    }

    private func tellEndOfLife(_ transition: ChildTransition) {
        let path = transition.path
        node.rewind(path)
        transition.removed?.record.spares?.end()
        let termination = Termination(path: path, incarnation: transition.incarnation, reason: transition.change.exitReason ?? .unknown)
        for watcher in transition.watchers { watcher.complete(.success(.value(termination))) }
    }
}
