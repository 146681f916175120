import ConcurrencySupport
import Logging
import Supervision
import WireProtocol

extension ChildSupervisor {
    func perform(_ directive: Supervisor.Directive) {
        switch directive {
        case .start(let key, let incarnation, let attempt):
            let life = state.withLock { state in state.slots.box(key).map { makeLife(in: $0, incarnation, attempt) } }
            if let life { startLife(life, isAwaited: false) } else { handle(.exited(key, incarnation, .unknown)) }
        case .stop(let key, let incarnation, let shutdown):
            let (host, limited, leaving) = state.withLock { state -> ((any ChildHost)?, Shutdown, WorkerHost?) in
                guard let slot = state.slots.box(key) else { return (nil, shutdown, nil) }
                let handover = slot.value.handover
                let limited = state.limited(handover?.former == incarnation ? shutdown.drainingFirst : shutdown)
                if limited.drains { state.holdMessages(forDraining: key) }
                slot.value.noteStop(of: incarnation, at: state.time.now)
                return (slot.value.host, limited, handover == nil ? nil : state.leave(key, incarnation))
            }
            if shutdown.drains { host?.awaitRun() }
            host?.stop(limited)
            if let leaving {
                tasks.add { await self.waitForEnd(of: leaving) }
                handle(.exited(key, incarnation, .shutdown))
            }
        case .report(let key, let incarnation, let change): report(key, incarnation, change)
        case .removed(let key): forget(key)
        case .wake(let time): state.wake(at: time) { [weak self] in self?.handle(.timePassed) }
        case .escalate(let reason):
            close()
            cell.end(.failed(reason))
        case .autoShutdown:
            // The significant children have ended by themselves: their parent ends too, as its policy says.
            close()
            cell.end(.failed(.shutdown))
        case .terminated: close()
        case .refused(let key, let error): refuse(key, error)
        }
    }

    /// A life that is noted in its slot, and that is to begin.
    struct NewLife {
        let slot: Box<ChildSlot>
        let host: any ChildHost
        let instance: IncarnationID
        /// The pool that isn't needed any more.
        let formerSpares: SparePool?
    }

    /// Makes the host of a life and notes it in the child's slot; called under the lock.
    func makeLife(in slot: Box<ChildSlot>, _ incarnation: Incarnation, _ attempt: Int) -> NewLife {
        let instance = IncarnationID(key: slot.value.definition.key, incarnation: incarnation)
        let (host, formerSpares) = beginLife(instance, attempt, in: &slot.value)
        return NewLife(slot: slot, host: host, instance: instance, formerSpares: formerSpares)
    }

    private func beginLife(_ life: IncarnationID, _ attempt: Int, in slot: inout ChildSlot) -> (any ChildHost, SparePool?) {
        let isInWorker = slot.registration.definition.isInWorker
        let mayHaveSpares = isInWorker || slot.hasSpares
        let formerSpares = mayHaveSpares ? prepareSpares(life.key, &slot) : nil
        let startContext = StartContext(
            pauseReasons: slot.pauseReasons,
            isRestart: attempt > 0,
            areEventsWanted: areEventsWanted(of: slot),
            isDraining: slot.isRun && cell.state.withLock { $0.isDrainNoted }
        )
        let processes = PreparedProcesses(
            spares: mayHaveSpares ? slot.record.spares : nil,
            successor: isInWorker ? slot.takeSuccessor() : nil
        )
        let host = cell.runtime.makeHost(
            slot.registration.definition,
            parent: cell,
            startContext: startContext,
            processes: processes,
            owner: self,
            life: life
        )
        slot.phase = .starting(ChildSlot.Occupant(host: host))
        slot.incarnation = life.incarnation
        if attempt > 0 || slot.attempt > 0 { slot.record.attempt = attempt }
        if attempt > 0 { slot.record.restarts += 1 }
        return (host, formerSpares)
    }

    /// Whether any observer, or a row, wants the events of a child; called under the lock.
    func areEventsWanted(of slot: ChildSlot) -> Bool {
        !slot.observers.isEmpty || cell.observer(ofChildren: slot.definition.typeName) != nil
    }

    /// Begins a life.
    ///
    /// - Parameter isAwaited: Whether the caller waits for the start.
    /// - Returns: The value to wait for; `nil` when the child is ready.
    @discardableResult
    func startLife(_ life: NewLife, isAwaited: Bool) -> ChildSlot.Start? {
        life.formerSpares?.end()
        // The host is known by now to a coordinator that is being provided with a dependency at the same time: none can be missed.
        cell.passInheritance(to: life.host)
        if let ends = cell.runtime.takeWait(at: cell.path.appending(life.instance.key)) {
            let start = isAwaited ? state.withLock { _ in life.slot.value.awaitStart() } : nil
            tasks.add { [self] in
                // What a killed root has left at the path ends first.
                for end in ends { await end.value }
                startLife(life, isAwaited: false)
            }
            return start
        }
        if let host = life.host as? CoordinatorCell {
            // A coordinator of this process begins at once, and has a task of its own only for a hook that takes time.
            guard let rest = host.beginStart() else { return conclude(.success(()), life, isAwaited: isAwaited) }
            // The life can't end before the host proceeds, so that the value is settled with its start.
            let start = isAwaited ? state.withLock { _ in life.slot.value.awaitStart() } : nil
            host.proceed(rest) { self.conclude($0, life) }
            return start
        }
        tasks.add {
            do {
                try await life.host.start()
                self.conclude(.success(()), life)
            } catch {
                self.conclude(.failure(error), life)
            }
        }
        return nil
    }

    /// Takes the outcome of a child's start.
    ///
    /// - Returns: The value to wait for, if the caller waits for the start, and others are told of it before.
    @discardableResult
    private func conclude(_ result: Result<Void, any Error>, _ life: NewLife, isAwaited: Bool = false) -> ChildSlot.Start? {
        let (key, incarnation) = (life.instance.key, life.instance.incarnation)
        if case .failure(let error) = result {
            handle(.startFailed(key, incarnation, reason(for: error, key, incarnation)))
            return nil
        }
        #if !SLOW_PATH_ONLY
        let (areAnnounced, areWanted) = (cell.runtime.announcesStarts, cell.runtime.observation.lives.areWanted)
        #endif
        let (starts, own, spares) = mutateAndPerform { state -> ([ChildSlot.Start], ChildSlot.Start?, SparePool?) in
            let now = state.time.now
            state.machine.decide(.started(key, incarnation), now: now.sinceOrigin)
            #if !SLOW_PATH_ONLY
            // The usual outcome concerns only the calls that wait for it, and needs no turn.
            let mustAnnounce = areAnnounced || areWanted && life.slot.value.definition.hasProcess
            if !mustAnnounce, state.outbox.isIdle, case .report(_, _, .started)? = state.machine.soleDirective,
                let starts = life.slot.value.becameReady(at: now)
            {
                state.machine.dropDirectives()
                return (starts, nil, nil)
            }
            #endif
            state.post()
            // When a stop has come first, the start fails with it.
            let own = isAwaited ? life.slot.value.awaitStart() : nil
            let begun = life.slot.value.begun(incarnation)
            // The exit comes behind the start, in the order of the events.
            if let earlyExit = begun?.earlyExit { state.feed(.exited(key, incarnation, earlyExit)) }
            return ([], own, begun?.spares)
        }
        for start in starts { start.settle(.success(())) }
        spares?.fillSoon()
        return own
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
                return slot.output == nil ? .shutdown : .normal
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

    /// Keeps as many processes ready as the child's plan demands; called under the lock.
    ///
    /// - Returns: The pool that isn't needed any more, to be ended outside the lock.
    func prepareSpares(_ key: String, _ slot: inout ChildSlot) -> SparePool? {
        let former = slot.record.spares
        guard case .coordinator(let coordinator) = slot.definition.kind, case .worker(_, let program, let plan) = coordinator.place,
            plan.spares > 0
        else {
            slot.record.spares = nil
            return former
        }
        if former?.serves(program, plan) == true { return nil }
        slot.record.spares = SparePool(program, plan, path: cell.path.appending(key), parent: cell)
        return former
    }

    /// Reports that the supervision machine has refused a policy, or the specification of a child, whose start then fails.
    private func refuse(_ key: String?, _ error: SupervisionError) {
        guard let key else { return cell.logger.error("a supervision policy was refused", metadata: ["error": "\(error)"]) }
        let path = cell.path.appending(key)
        let (starts, removed) = state.withLock { state -> ([ChildSlot.Start], Box<ChildSlot>?) in
            let starts = state.slots.with(key) { $0.takeStarts() }
            return (starts ?? [], state.machine.state(of: key) == nil ? state.slots.remove(key) : nil)
        }
        for start in starts { start.settle(.failure(CoordinatorError(.invalidSpecification, "\(path): \(error.message)"))) }
        if let removed { drop(removed.value, because: CoordinatorError(.invalidSpecification, "\(path): \(error.message)")) }
    }

    private func forget(_ key: String) {
        let slot = state.withLock { state -> Box<ChildSlot>? in
            // The key may have been taken again since the machine decided this: a late removal can't affect the new child. As a rule the slot is
            // gone, with the end of its last life.
            guard state.slots.contains(key), state.machine.state(of: key) == nil else { return nil }
            return state.slots.remove(key)
        }
        if let slot { drop(slot.value, because: CoordinatorError(.stopped, "\(cell.path.appending(key)) has ended")) }
    }

    /// Ends the supervisor: the machine has ended, and with it all children.
    private func close() {
        let slots = state.withLock { state in
            state.phase = .ended
            return state.slots.removeAll()
        }
        state.cancelWake()
        startsAreComplete()
        for slot in slots { drop(slot, because: .hasStopped(cell.path)) }
        closed.settle(())
    }

    private func drop(_ slot: ChildSlot, because error: CoordinatorError) {
        slot.record.spares?.end()
        end(slot.record.observers.all)
        for message in slot.record.parking.messages { giveUp(message, to: slot.definition.key, error) }
        slot.settle(with: error)
        passTurn(of: slot.definition.key)
        wakeIfNoneIsParked()
    }

    /// Turns a report of the machine into the state of handles, the answers of waiting callers and the coordinator's events.
    func report(_ key: String, _ incarnation: Incarnation, _ change: Supervisor.Change) {
        var transition = ChildTransition(key, under: cell.path, incarnation, change, at: cell.runtime.time)
        var conclusion: LifecycleChange?
        let isGivenUp = if case .gaveUp = change { true } else { false }
        let (definition, isRun) = state.withLock { state -> (ChildDefinition?, Bool) in
            let present = transition.isEndOfLife ? state.machine.state(of: key) : nil
            guard let slot = state.slots.box(key) else { return (nil, false) }
            // Few changes need it, and a copy takes a twentieth of a stop.
            let definition = isGivenUp || !cell.type.table.lifecycle.isEmpty ? slot.value.definition : nil
            let isRun = slot.value.isRun
            let isEnd = transition.enter(&slot.value, isAlive: present?.isAlive == true)
            if transition.isEndOfLife, present == nil {
                // A change that is final follows each failure; that no child is restarted after this one, is told by itself.
                if case .crashed(let reason) = change, slot.value.isNotRestarted(after: reason) { conclusion = .stopped(reason) }
                // The key is freed before the end is reported to any caller.
                if isEnd { transition.removed = state.slots.remove(key) }
            }
            return (definition, isRun)
        }
        if let definition, case .gaveUp(let reason) = change { runHook(of: definition, incarnation, givenUpFor: reason) }
        tell(transition, of: key)
        if !cell.type.table.lifecycle.isEmpty {
            let child = AnyChild(supervisor: self, key: key, typeName: definition?.typeName ?? "")
            if let event = transition.event { cell.post(.lifecycle(child, event)) }
            if let conclusion { cell.post(.lifecycle(child, conclusion)) }
        }
        if let conclusion { notify(key, .change(conclusion)) }
        if cell.isRoot, case .gaveUp(let reason) = change, !isRun, definition?.specification.restart != .temporary {
            cell.runtime.givenUp(cell.path.appending(key), reason, by: cell)
        }
    }

    private func tell(_ transition: ChildTransition, of key: String) {
        cell.runtime.reportLife(transition)
        if transition.isEndOfLife { tellEndOfLife(transition) }
        if let observed = transition.observed, transition.isObserved {
            if let removed = transition.removed {
                for observer in removed.value.observers { observer.queue.append(.change(observed)) }
            } else {
                notify(key, .change(observed))
            }
        }
        end(transition.removed?.value.observers ?? [])
        for stop in transition.stops { stop.end.settle(()) }
        for wait in transition.endWaits.waits { wait.settle(transition.endWaits.way) }
        for message in transition.hopeless { giveUp(message, to: key, transition.refusal ?? .hasStopped(transition.path)) }
        for start in transition.starts { start.settle(transition.failure.map { .failure($0) } ?? .success(())) }
        if transition.mustFlush { flush(key) }
        for outcome in transition.outcomes { outcome.tell() }
        if transition.isEndOfLife { passTurn(of: key) }
        if transition.removed != nil || !transition.hopeless.isEmpty { wakeIfNoneIsParked() }
        cell.runtime.childChanged(cell.path.appending(key), transition.change, transition.processID)
    }

    private func tellEndOfLife(_ transition: ChildTransition) {
        let path = transition.path
        cell.runtime.features.childHasEnded(path, of: cell)
        transition.spares?.end()
        let termination = Termination(path: path, incarnation: transition.incarnation, reason: transition.change.exitReason ?? .unknown)
        for watcher in transition.watchers { watcher.complete(.success(.value(termination))) }
    }
}
