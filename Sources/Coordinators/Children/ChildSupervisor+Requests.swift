import ConcurrencySupport
import DequeModule
import Supervision
import WireProtocol

extension ChildSupervisor {
    /// Starts a child, or joins the start or the life of an equal one under the key, and returns when it's ready.
    ///
    /// Cancelling the waiting task removes the child that it has requested.
    func start(_ definition: ChildDefinition, initiator: Initiator = .parent) async throws {
        if let start = try requestStart(definition, initiator) { try await wait(for: start, of: definition.key) }
    }

    /// Requests a start, before the first suspension of who starts: two starts that begin one after the other are in that order.
    ///
    /// - Returns: What to wait for; `nil` when the child is ready.
    func requestStart(_ definition: ChildDefinition, _ initiator: Initiator = .parent) throws -> ChildSlot.Start? {
        try cell.path.check(definition.key)
        guard case .accepted(_, let start) = try request(definition, .start(initiator)) else { return nil }
        return start
    }

    /// Returns when a child is ready.
    ///
    /// It's never inlined: a task whose child is ready at once needs no memory for this wait, and 10,000 tasks at once have 10 MiB less.
    @inline(never)
    func wait(for start: ChildSlot.Start, of key: String) async throws {
        let waiting = HandlerScope.current?.beginWaitForChild()
        defer { waiting?.end() }
        try await withTaskCancellationHandler {
            try await start.value.get()
        } onCancel: {
            cancel(start, of: key)
        }
    }

    /// The purpose for which a child is requested.
    enum Purpose {
        /// The caller waits until the child is ready.
        case start(Initiator)
        /// The caller waits until the child has ended for good. `hasTurn`: its turn among those that wait for the key has come.
        case run(ChildSlot.End, IfRunning, hasTurn: Bool)

        var initiator: Initiator {
            if case .start(let initiator) = self { initiator } else { .parent }
        }
    }

    /// The answer to a request for a child.
    enum RequestOutcome {
        /// The child lives, or is about to. `start`: settled when it's ready; `nil` when it is, or the caller doesn't wait for that.
        case accepted(registration: RegistrationNumber, ChildSlot.Start?)
        /// The key is taken; the turn comes when it's free.
        case busy(OneShot<Void>)
    }

    /// The outcome of one look at the state for a request.
    fileprivate enum Finding {
        case refused(any Error)
        case busy(OneShot<Void>)
        /// A child of the same type lives, whose configuration has to be compared outside the lock.
        indirect case living(ChildDefinition)
        /// The child lives already, and is ready.
        case ready(registration: RegistrationNumber)
        /// The child is to be started, and this thread has to begin its life. `former`: the slot of the life before.
        case new(registration: RegistrationNumber, NewLife, former: Box<ChildSlot>?)
        /// The child is starting, or is to be started in its turn. `former`: the slot of the life before, which may be stopping.
        case requested(registration: RegistrationNumber, ChildSlot.Start?, former: Box<ChildSlot>?)
    }

    /// Requests a child.
    ///
    /// - Throws: `keyInUse` and `configurationDiffers` when another child lives under the key.
    func request(_ definition: ChildDefinition, _ purpose: Purpose) throws -> RequestOutcome {
        var agreed: ChildDefinition?
        while true {
            let finding = mutateAndPerform { state in
                // The situation is read under this lock, so that a later pause finds the child among those to be paused.
                state.request(definition, purpose, agreed, under: cell.situation, of: self)
            }
            switch finding {
            case .refused(let error): throw error
            case .busy(let turn): return .busy(turn)
            case .living(let living):
                try refuseDifference(of: definition, from: living)
                agreed = living
            case .ready(let registration): return .accepted(registration: registration, nil)
            case .new(let registration, let life, let former):
                if let former { endRun(of: former) }
                guard case .start = purpose else {
                    startLife(life, isAwaited: false)
                    return .accepted(registration: registration, nil)
                }
                return .accepted(registration: registration, startLife(life, isAwaited: true))
            case .requested(let registration, let start, let former):
                if let former { endRun(of: former) }
                return .accepted(registration: registration, start)
            }
        }
    }

    private func refuseDifference(of definition: ChildDefinition, from living: ChildDefinition) throws(CoordinatorError) {
        let fields = try definition.differences(from: living)
        if fields.isEmpty { return }
        throw CoordinatorError(
            .configurationDiffers,
            """
            \(cell.path.appending(definition.key)) lives with another configuration (\(fields.joined(separator: ", "))): \
            change it with `reconfigure`, or start another child under another key
            """
        )
    }

    /// Tells the callers that wait for a former life's end, which must not get the outcome of the new life.
    private func endRun(of former: Box<ChildSlot>) {
        var record = former.value.record
        let error = CoordinatorError(.stopped, "\(cell.path.appending(former.value.definition.key)) was stopped, and is started anew")
        for outcome in record.takeEnds(otherwise: error) { outcome.tell() }
    }

    private func cancel(_ start: ChildSlot.Start, of key: String) {
        guard start.settle(.failure(CancellationError())) else { return }
        mutateAndPerform { state in
            let isLast = state.slots.with(key) { slot in
                let former = slot.starts.count
                slot.record.starts.removeAll { $0 === start }
                // A start that supervision itself has decided upon isn't this call's to end.
                return former == 1 && slot.starts.isEmpty && slot.record.ends.isEmpty && slot.startInitiator != nil
            }
            if isLast == true { state.feed(.removeRequested(key)) }
        }
    }

    /// Starts a stopped child again, as an operator does; a child that waits for its restart is started at once.
    func startAgain(_ key: String) async throws {
        let (definition, waits) = state.withLock { ($0.known(key)?.value.definition, $0.isWaiting(key)) }
        guard let definition else { throw noSuchChild(key) }
        if waits { return try await restart(key) }
        try await start(definition, initiator: .operator)
    }

    /// Stops a child and returns when nothing is left of it.
    ///
    /// The call can't be cancelled: a stop always takes effect.
    ///
    /// - Parameters:
    ///   - forgets: Whether the key is free afterwards; otherwise an operator can start the child again.
    ///   - registration: The registration to which the stop applies; nothing happens when the key has been taken again since.
    func stop(_ key: String, initiator: Initiator, forgets: Bool, registration: RegistrationNumber? = nil) async throws {
        let event = forgets ? Supervisor.Event.removeRequested(key) : .stopRequested(key)
        let end = OneShot<Void>()
        let mustWait = mutateAndPerform { state -> Bool? in
            guard let slot = state.slots.box(key), registration == nil || slot.value.registration.number == registration else { return nil }
            let present = state.machine.find(key)
            // The machine may know of the end of a life already that is about to be noted in the slot.
            let lives = present?.isAlive == true || present?.kind == .stopping || slot.value.host != nil
            if lives {
                let incarnation = present?.incarnation ?? slot.value.incarnation
                slot.value.awaitStop(ChildSlot.Stop(incarnation: incarnation, end: end), by: initiator)
            }
            state.feed(event)
            return lives
        }
        guard let mustWait else { throw noSuchChild(key) }
        if mustWait { await Self.wait(for: end) }
        for host in state.withLock({ $0.leaving }) where host.path.key == key { await Self.wait(for: host.gone) }
    }

    /// Waits for the end of a child, and has the handler that does say so, unless it's over.
    private static func wait(for end: OneShot<Void>) async {
        if end.outcome != nil { return }
        let waiting = HandlerScope.current?.beginWaitForChild()
        defer { waiting?.end() }
        await end.value
    }

    /// Stops a child, whatever its state, and starts it again; returns when it's ready.
    func restart(_ key: String) async throws {
        let waiting = HandlerScope.current?.beginWaitForChild()
        defer { waiting?.end() }
        let start = mutateAndPerform { state -> ChildSlot.Start? in
            guard state.phase == .open, let slot = state.slots.box(key) else { return nil }
            slot.value.phase.hold()
            let start = slot.value.awaitStart()
            state.feed(.restartRequested(key))
            return start
        }
        guard let start else { throw noSuchChild(key) }
        try await start.value.get()
    }

    /// Kills a child's process, as `kill -9` would; supervision then treats it as a crash.
    func kill(_ key: String) throws {
        guard let host = try host(of: key) else {
            throw CoordinatorError(.stopped, "\(cell.path.appending(key)) isn't running")
        }
        withSlot(key) { $0.record.isKilled = true }
        do {
            try host.kill()
        } catch {
            withSlot(key) { $0.record.isKilled = false }
            throw error
        }
    }

    /// Has a program read its configuration again, as its hook says.
    func reload(_ key: String) async throws {
        guard let host = try host(of: key) else {
            throw CoordinatorError(.stopped, "\(cell.path.appending(key)) isn't running")
        }
        guard let program = host as? ProgramHost else {
            throw CoordinatorError(
                .unsupported,
                "\(cell.path.appending(key)) is a coordinator: `reload` is for programs whose `hooks` say how; restart it, or reconfigure it"
            )
        }
        try await program.reload()
    }

    func host(of key: String) throws -> (any ChildHost)? {
        guard let host = withSlot(key, { $0.host }) else { throw noSuchChild(key) }
        return host
    }

    func noSuchChild(_ key: String) -> CoordinatorError {
        CoordinatorError(.noSuchChild, "\(cell.path) has no child '\(key)'")
    }

    /// Asks the coordinator's row, in its turn, whether a child may be dismissed.
    ///
    /// - Returns: Whether the child is being stopped. When the time is over the child stays, whatever the row decides.
    func dismissalRequested(by life: IncarnationID, timeout: Duration) async -> Bool {
        guard let child = handle(of: life.key), child.incarnation == life.incarnation else { return false }
        let answer = OneShot<DismissalDecision>()
        let time = cell.runtime.time
        let deadline = time.now + timeout
        if cell.type.table.dismissal != nil {
            cell.post(.dismissal(child, answer))
        } else {
            answer.settle(cell.runtime.features.passesDismissalOn(of: child.path, to: cell) ? .forward : .dismiss)
        }
        switch await answer.value(before: deadline, of: time) {
        case .refuse, nil: return false
        case .forward: return await cell.requestDismissal(timeout: timeout)
        case .dismiss: return dismiss(life.key, life.incarnation, "was dismissed")
        }
    }

    /// Stops and removes a child that its parent dismisses, or whose pages were popped; a later incarnation isn't affected.
    ///
    /// - Returns: Whether the child is being stopped.
    @discardableResult
    func dismiss(_ key: String, _ incarnation: Incarnation, _ cause: String) -> Bool {
        mutateAndPerform { state in
            guard state.isAlive(key) else { return false }
            let isMeant = state.slots.with(key) { slot in
                guard slot.incarnation == incarnation else { return false }
                slot.record.lastError = CoordinatorError(.dismissed, "\(cell.path.appending(key)) \(cause)")
                return true
            }
            guard isMeant == true else { return false }
            state.feed(.removeRequested(key))
            return true
        }
    }
}

extension ChildSupervisor.State {
    fileprivate mutating func request(
        _ definition: ChildDefinition,
        _ purpose: ChildSupervisor.Purpose,
        _ agreed: ChildDefinition?,
        under parent: CoordinatorCell.Situation,
        of supervisor: ChildSupervisor
    ) -> ChildSupervisor.Finding {
        let key = definition.key
        if phase != .open { return .refused(CoordinatorError.hasStopped(supervisor.cell.path)) }
        if Task.isCancelled { return .refused(CancellationError()) }
        // The machine knows no child without a slot.
        let name = HashedName(key)
        let known = slots.box(name)
        let present = known == nil ? nil : machine.state(of: key)
        let living = present?.isAlive == true ? known : nil
        if let finding = conflict(of: definition, purpose, with: living, agreed, at: supervisor.cell.path) {
            return finding
        }
        let (slot, former) = living.map { ($0, nil) } ?? slots.register(definition, as: name, in: known)
        if living == nil {
            let inherited = supervisor.cell.runtime.pendingHandover?.takePause(of: supervisor.cell.path.appending(key)) ?? []
            slot.value.renew(pausedFor: inherited.union(parent.isPaused ? .cascade : []), by: purpose.initiator)
            handOverEarlyMessages(to: slot)
        }
        if case .run(let end, _, _) = purpose {
            slot.value.record.ends.append(end)
            if living == nil { slot.value.record.isRun = true }
        }
        let registration = slot.value.registration.number
        if present?.kind == .running { return .ready(registration: registration) }
        if present == nil, supervisor.cell.runtime.hasOrphans || supervisor.cell.runtime.pendingHandover != nil {
            let path = supervisor.cell.path.appending(key)
            machine.continueNumbering(of: key, after: supervisor.cell.runtime.claimIncarnation(definition, at: path))
        }
        var specification = definition.specification
        specification.stopPlace = stopPlace(of: key, present, under: parent)
        machine.decide(.startRequested(specification), now: time.now.sinceOrigin, named: name)
        // The usual decision is carried out by this thread: the children of a burst of starts don't wait for one another. It must not
        // overtake others, which may concern the former life of the key.
        if outbox.isIdle, definition.isInProcess, case .start(_, let incarnation, let attempt)? = machine.soleDirective {
            machine.dropDirectives()
            return .new(registration: registration, supervisor.makeLife(in: slot, incarnation, attempt), former: former)
        }
        post()
        guard case .start = purpose else { return .requested(registration: registration, nil, former: former) }
        return .requested(registration: registration, slot.value.awaitStart(), former: former)
    }

    /// Returns the place of a child in the order of stops: one that was stopped, and not removed, keeps its own; the members of a pool have
    /// no order.
    private func stopPlace(of key: String, _ present: ChildState?, under parent: CoordinatorCell.Situation) -> StopPlace {
        switch present {
        case .starting, .running, .waiting, .stopped, .stopping(_, then: .stop), .stopping(_, then: .start),
            .stopping(_, then: .restartWithSiblings):
            machine.specification(of: key)?.stopPlace ?? .unordered
        case .stopping(_, then: .remove), nil: parent.isStarting ? .chained : .unordered
        }
    }

    /// Returns what is in the way of a request; `nil` if nothing is.
    ///
    /// - Parameters:
    ///   - living: The slot of the child that lives under the key.
    ///   - agreed: The definition of a living child whose configuration is known not to differ.
    private mutating func conflict(
        of definition: ChildDefinition,
        _ purpose: ChildSupervisor.Purpose,
        with living: Box<ChildSlot>?,
        _ agreed: ChildDefinition?,
        at parent: CoordinatorPath
    ) -> ChildSupervisor.Finding? {
        let key = definition.key
        if case .run(_, .wait, let hasTurn) = purpose {
            guard living != nil || !hasTurn && successors[key] != nil else { return nil }
            let turn = OneShot<Void>()
            if hasTurn { successors[key, default: []].prepend(turn) } else { successors[key, default: []].append(turn) }
            return .busy(turn)
        }
        guard let living = living?.value.definition else { return nil }
        if case .run(_, .fail, _) = purpose {
            let message = "\(parent.appending(key)) lives: run another child under another key, or say what to do with `ifRunning:`"
            return .refused(CoordinatorError(.keyInUse, message))
        }
        guard living.typeName == definition.typeName else {
            let message = "\(parent.appending(key)) is a \(living.typeName), not a \(definition.typeName)"
            return .refused(CoordinatorError(.keyInUse, message))
        }
        if living.isSame(as: definition) || agreed.map(living.isSame) == true { return nil }
        if living.hasNoConfiguration && definition.hasNoConfiguration { return nil }
        return .living(living)
    }
}
