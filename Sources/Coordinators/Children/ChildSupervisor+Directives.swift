import ConcurrencySupport
import Logging
import WireProtocol

extension ChildSupervisor {
    func perform(_ directive: Supervisor<String>.Directive) {
        switch directive {
        case .start(let key, let incarnation, let attempt): begin(key, incarnation, attempt)
        case .stop(let key, _, let shutdown):
            let (host, hastened) = state.withLock { ($0.slots[key]?.host, $0.hastened(shutdown)) }
            host?.stop(hastened)
        case .report(let key, let incarnation, let change): report(key, incarnation, change)
        case .removed(let key): forget(key)
        case .wake(let time): wake(at: MonotonicTime(sinceOrigin: time))
        case .escalate(let reason):
            hasEnded()
            node.end(.failed(reason))
        case .autoShutdown:
            // Those that mattered have ended by themselves: so has their parent, as it should.
            hasEnded()
            node.end(.failed(.shutdown))
        case .terminated: hasEnded()
        case .refused(let key, let error): refuse(key, error)
        }
    }

    private func begin(_ key: String, _ incarnation: Incarnation, _ attempt: Int) {
        let events = HostEvents(owner: self, life: ChildInstance(key: key, incarnation: incarnation))
        let dependencies = node.dependencies
        prepareSpares(key)
        let host = state.withLock { state -> (any ChildHost)? in
            guard let slot = state.slots[key] else { return nil }
            let definition = slot.definition
            let inheritance = ChildInheritance(
                pauseReasons: slot.pauseReasons,
                dependencies: dependencies,
                isRestart: attempt > 0,
                spares: slot.spares,
                areEventsWanted: !slot.observers.all.isEmpty || node.type.table.observers[definition.typeName] != nil
            )
            let host = node.runtime.makeHost(
                definition,
                parent: node,
                incarnation: incarnation,
                inheritance: inheritance,
                events: events
            )
            state.slots[key]?.host = host
            state.slots[key]?.incarnation = incarnation
            state.slots[key]?.isStartTold = false
            state.slots[key]?.earlyExit = nil
            state.slots[key]?.phase = .pending(nextAttempt: nil)
            if attempt > 0 { state.slots[key]?.restarts += 1 }
            return host
        }
        guard let host else { return handle(.exited(key, incarnation, .unknown)) }
        // What was provided since.
        node.renewInheritance(of: host)
        tasks.add { await self.start(host, key, incarnation) }
    }

    private func start(_ host: any ChildHost, _ key: String, _ incarnation: Incarnation) async {
        do {
            try await host.start()
        } catch {
            let reason = state.withLock { state -> ExitReason in
                guard let slot = state.slots[key], slot.incarnation == incarnation else { return Self.reason(for: error) }
                state.slots[key]?.lastError = (error as? StartFailure)?.told ?? error
                // It was told to stop before it was ready: that is no failure of its start.
                guard state.isEnding(key), (error as? CoordinatorError)?.code == .stopped else { return Self.reason(for: error) }
                return slot.output == nil ? .shutdown : .normal
            }
            return handle(.startFailed(key, incarnation, reason))
        }
        var spares: SparePool?
        let (earlyExit, mustPerform) = state.withLock { state -> (ExitReason?, Bool) in
            let mustPerform = state.apply(.started(key, incarnation))
            guard state.slots[key]?.incarnation == incarnation else { return (nil, mustPerform) }
            state.slots[key]?.isStartTold = true
            spares = state.slots[key]?.spares
            return (state.slots[key]?.earlyExit, mustPerform)
        }
        if mustPerform { performDirectives() }
        spares?.fillSoon()
        if let earlyExit { handle(.exited(key, incarnation, earlyExit)) }
    }

    private static func reason(for error: any Error) -> ExitReason {
        switch error {
        case let error as CoordinatorError where error.code == .startTimedOut: .startTimedOut
        case let error as StartFailure: error.reason
        default: .startFailed(String(describing: error))
        }
    }

    /// Keeps as many processes ready as the child's plan says.
    private func prepareSpares(_ key: String) {
        let former = state.withLock { state -> SparePool? in
            guard let slot = state.slots[key] else { return nil }
            guard case .coordinator(let coordinator) = slot.definition.kind, case .worker(let program, let plan) = coordinator.place,
                plan.spares > 0
            else {
                state.slots[key]?.spares = nil
                return slot.spares
            }
            if slot.spares?.serves(program, plan) == true { return nil }
            state.slots[key]?.spares = SparePool(program, plan, path: node.path.appending(key), parent: node)
            return slot.spares
        }
        former?.end()
    }

    /// A child that was asked for in a way that makes no sense.
    private func refuse(_ key: String?, _ error: SupervisionError) {
        guard let key else { return node.logger.error("a supervision policy was refused", metadata: ["error": "\(error)"]) }
        let path = node.path.appending(key)
        let starts = state.withLock { state -> [ChildSlot.Start] in
            let starts = state.slots[key]?.starts ?? []
            state.slots[key]?.starts = []
            if state.machine.state(of: key) == nil { state.slots[key] = nil }
            return starts
        }
        for start in starts { start.settle(.failure(CoordinatorError(.invalidSpecification, "\(path): \(error.message)"))) }
    }

    private func forget(_ key: String) {
        let slot = state.withLock { state -> ChildSlot? in
            // The key may have been taken again since the machine has decided this: a late removal can't remove a successor.
            guard state.machine.state(of: key) == nil else { return nil }
            return state.slots.remove(key)
        }
        slot?.spares?.end()
        end(slot?.observers.all ?? [])
        slot?.settle(with: CoordinatorError(.stopped, "\(node.path.appending(key)) has ended"))
    }

    private func wake(at time: MonotonicTime) {
        let timer = Timers.shared.schedule(at: time) { [weak self] in self?.handle(.timePassed) }
        let former = state.withLock { state in
            defer { state.wake = timer }
            return state.wake
        }
        if let former { Timers.shared.cancel(former) }
    }

    private func hasEnded() {
        let (waiters, slots, wake) = state.withLock { state in
            state.hasEnded = true
            state.isRefusing = true
            defer {
                state.shutdownWaiters = []
                state.slots.removeAll()
                state.wake = nil
            }
            return (state.shutdownWaiters, state.slots.all, state.wake)
        }
        if let wake { Timers.shared.cancel(wake) }
        for slot in slots {
            slot.spares?.end()
            end(slot.observers.all)
            slot.settle(with: .hasStopped(node.path))
        }
        for waiter in waiters { waiter.resume() }
    }
}

/// A start that failed for a reason that the supervision machine tells apart.
struct StartFailure: Error, CustomStringConvertible {
    let reason: ExitReason
    let description: String

    /// What whoever has asked for the start is told.
    var told: CoordinatorError { CoordinatorError(.startFailed, description) }
}

extension ChildSlot {
    /// Ends everything that waits for the slot, which is gone.
    func settle(with error: CoordinatorError) {
        for start in starts { start.settle(output == nil ? .failure(lastError ?? error) : .success(())) }
        let outcome: Result<Answer, any Error> = output.map { .success($0) } ?? .failure(lastError ?? error)
        for end in ends { end.settle(outcome) }
        for stop in stops { stop.end.settle(()) }
        for message in parked { message.envelope.end(.failure(error)) }
    }
}
