import ConcurrencySupport
import Logging
import WireProtocol

extension ChildSupervisor {
    func perform(_ directive: Supervisor<String>.Directive) {
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
        let events = HostEvents(owner: self, life: ChildInstance(key: key, incarnation: incarnation))
        let dependencies = node.dependencies
        prepareSpares(key)
        let host = withSlot(key) { slot -> any ChildHost in
            let definition = slot.definition
            let inheritance = ChildInheritance(
                pauseReasons: slot.pausing.reasons,
                dependencies: dependencies,
                isRestart: attempt > 0,
                spares: slot.spares,
                areEventsWanted: !slot.observers.all.isEmpty || node.type.table.observers[definition.typeName] != nil
            )
            let host = node.runtime.makeHost(definition, parent: node, inheritance: inheritance, events: events)
            slot.phase = .starting(ChildSlot.Life(host: host), earlyExit: nil)
            slot.history.incarnation = incarnation
            if attempt > 0 { slot.history.restarts += 1 }
            return host
        }
        guard let host else { return handle(.exited(key, incarnation, .unknown)) }
        // Passes on the dependencies that were provided since.
        node.renewInheritance(of: host)
        if let host = host as? LocalHost {
            // A coordinator of this process has a task of its own for its hook.
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
                slot.history.lastError = (error as? StartFailure)?.told ?? error
                // The child was told to stop before it was ready: its start hasn't failed.
                guard isEnding, (error as? CoordinatorError)?.code == .stopped else { return nil }
                return slot.history.output == nil ? .shutdown : .normal
            }
            return (reason ?? nil) ?? Self.reason(for: error)
        }
    }

    private static func reason(for error: any Error) -> ExitReason {
        switch error {
        case let error as CoordinatorError where error.code == .startTimedOut: .startTimedOut
        case let error as StartFailure: error.reason
        default: .startFailed(String(describing: error).shortened)
        }
    }

    /// Keeps as many processes ready as the child's plan demands.
    private func prepareSpares(_ key: String) {
        let former = withSlot(key) { slot -> SparePool? in
            let former = slot.spares
            guard case .coordinator(let coordinator) = slot.definition.kind, case .worker(let program, let plan) = coordinator.place,
                plan.spares > 0
            else {
                slot.spares = nil
                return former
            }
            if former?.serves(program, plan) == true { return nil }
            slot.spares = SparePool(program, plan, path: node.path.appending(key), parent: node)
            return former
        }
        former??.end()
    }

    /// Reports that the supervision machine has refused a policy, or the specification of a child, whose start then fails.
    private func refuse(_ key: String?, _ error: SupervisionError) {
        guard let key else { return node.logger.error("a supervision policy was refused", metadata: ["error": "\(error)"]) }
        let path = node.path.appending(key)
        let (starts, removed) = state.withLock { state -> ([ChildSlot.Start], ChildSlot?) in
            let starts = state.slots.with(key) { slot in
                defer { slot.requests.starts = [] }
                return slot.requests.starts
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
        slot.spares?.end()
        end(slot.observers.all)
        slot.settle(with: error)
        wakeIfNoneIsParked()
    }

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
                for observer in removed.observers.all { observer.queue.append(.change(observed)) }
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
