import ConcurrencySupport
import DequeModule
import Supervision

/// Carries out what the supervision machine decides for one coordinator's children.
///
/// `Supervisor` (of the target `Supervision`) decides who lives; this shell tells it what happens, and does what it says: it makes hosts,
/// stops them, and wakes the machine when a delay is over. What the machine needn't know stands in each child's ``ChildSlot``: the life that
/// gets the messages, those that wait, and the calls that wait for a start or an end.
///
/// What always holds:
/// - Machine and slots change together, under one lock; directives are carried out after it, one thread at a time, in their order.
/// - A report of a host names its incarnation: one of an earlier life changes nothing.
/// - A message for a child goes to its life, waits in its slot, or is refused with the reason; it's never held anywhere else.
/// - After ``Phase/ended`` nothing is left of the children, and none begins.
final class ChildSupervisor: ChildSupervision {
    enum Phase {
        /// Can transition to: refusing, ended.
        case open
        /// No child is started any more. Can transition to: ended.
        case refusing
        /// Nothing is left of the children, and none can be started.
        case ended
    }

    struct State: MachineState {
        var machine: Supervisor
        let time: TimeSource
        var outbox = Outbox<Supervisor.Directive>()
        var slots = ChildSlots()
        var phase = Phase.open
        /// The longest time that any child is given to end from now on.
        var haste: Shutdown?
        /// The calls that wait to run a child under a key when the present one has ended, in order of arrival.
        var successors: [String: Deque<OneShot<Void>>] = [:]
        /// The end of the coordinator itself, whose time limits that of its children when it drains.
        var stop: CoordinatorCell.Stop?
        /// The callers that wait until no message is kept for a child.
        var drainWaiters: [OneShot<Void>] = []
        /// The messages of adopted workers for children whose starts may be still to come.
        var early = MessageParking<UnclaimedMessage>()
        /// The former lives that finish what they have taken beside their successors.
        var leaving: [WorkerHost] = []
    }

    let cell: CoordinatorCell
    var path: CoordinatorPath { cell.path }
    let tasks: OwnedTasks
    let state: MachineShell<State>
    /// Settled when nothing is left of the children.
    let closed = OneShot<Void>()

    init(cell: CoordinatorCell) {
        self.cell = cell
        tasks = OwnedTasks(cell.runtime.time)
        let machine = Supervisor(
            policy: (cell.isRoot ? cell.runtime.options.supervision : nil) ?? cell.type.policy,
            seed: cell.runtime.time.seed,
            // A child of the root that exceeds its restart intensity fails alone, while its siblings go on: the root has no parent.
            isolatesFailures: cell.isRoot
        )
        state = MachineShell(State(machine: machine, time: cell.runtime.time), time: cell.runtime.time)
    }

    /// Changes the state and feeds the machine under the lock, and carries out after it what the machine has decided.
    @discardableResult
    func mutateAndPerform<Result: Sendable>(_ change: (inout State) throws -> Result) rethrows -> Result {
        try state.mutate(change) { perform($0) }
    }

    /// Feeds the machine an event, and carries out what the machine decides.
    func handle(_ event: Supervisor.Event) { mutateAndPerform { $0.feed(event) } }

    /// Reads or changes a child's slot under the lock.
    ///
    /// - Returns: `nil` when there is no slot for the key.
    @discardableResult
    func withSlot<Result: Sendable>(_ key: String, _ body: (inout ChildSlot) throws -> Result) rethrows -> Result? {
        try state.withLock { try $0.slots.with(key, body) }
    }

    func shutDown(within stop: CoordinatorCell.Stop) async {
        let others = mutateAndPerform { state -> Others in
            let others = state.others
            guard state.phase != .ended else { return others }
            state.stop = stop
            state.phase = .refusing
            state.feed(.shutdownRequested(.shutdown))
            return others
        }
        for successor in others.successors { successor.discard() }
        let limit = state.withLock { $0.limited(.infinity) }
        for host in others.leaving { host.stop(limit) }
        await closed.value
        for host in others.leaving { await host.gone.value }
    }

    func refuse() {
        state.withLock { if $0.phase == .open { $0.phase = .refusing } }
    }

    /// Shortens the end of the children that are stopping; a child that is told to stop later gets no longer than this either.
    func hasten(_ shutdown: Shutdown) {
        let hosts = mutateAndPerform { state -> [any ChildHost] in
            state.haste = state.hastened(shutdown)
            // Those that end before their turn came are not to be started again.
            if shutdown.grace == .zero, state.phase != .ended {
                state.phase = .refusing
                state.feed(.shutdownRequested(.shutdown))
            }
            // The others of the chain are stopped in their turn, unless there is no time for turns.
            let ending = state.machine.ids.filter { shutdown.grace == .zero || state.isEnding($0) }.compactMap { state.host(of: $0) }
            return ending + state.leaving
        }
        for host in hosts { host.stop(shutdown) }
    }

    var hostsOfRuns: [any ChildHost] {
        state.withLock { state in
            state.machine.ids.compactMap { id in state.slots.with(id) { $0.isRun ? $0.host : nil } ?? nil }
        }
    }

    var hosts: [any ChildHost] { state.withLock { state in state.machine.ids.compactMap { state.host(of: $0) } } }
}

extension ChildSupervisor.State {
    /// Has the machine decide; the caller of `mutateAndPerform` carries out the decision.
    mutating func feed(_ event: Supervisor.Event) {
        machine.decide(event, now: time.now.sinceOrigin)
        post()
    }

    /// Has what the machine has decided carried out.
    mutating func post() {
        outbox.add(machine.directives)
        machine.dropDirectives()
    }

    /// Whether any message is kept for a child.
    var isAnyParked: Bool { machine.ids.contains { slots.with($0, \.hasParked) == true } }

    /// Returns the shutdown of a child as the end of the subtree limits it.
    func limited(_ shutdown: Shutdown) -> Shutdown {
        let hastened = hastened(shutdown)
        return stop?.limited(hastened) ?? hastened
    }

    /// Holds back the messages for a child that finishes what it has taken, or refuses them if no life follows.
    mutating func holdMessages(forDraining key: String) {
        let isFollowed = isAlive(key)
        slots.with(key) { slot in
            if isFollowed { slot.phase.hold() } else { slot.phase.drain() }
        }
    }

    /// Returns the shorter of a child's own shutdown and the one to which the end of the subtree was shortened.
    func hastened(_ shutdown: Shutdown) -> Shutdown {
        guard let haste, let limit = haste.grace else { return shutdown }
        guard let grace = shutdown.grace else { return haste }
        return grace <= limit ? shutdown : haste
    }

    func host(of key: String) -> (any ChildHost)? { slots.with(key) { $0.host } ?? nil }

    /// Returns the slot of a child that there is: one that the machine has forgotten is gone, though its slot may exist for a moment longer.
    func known(_ key: String) -> Box<ChildSlot>? { machine.state(of: key) == nil ? nil : slots.box(key) }

    /// Returns whether a life has begun and not ended, or the next one is decided upon.
    func isAlive(_ key: String) -> Bool { machine.state(of: key)?.isAlive == true }

    func isRunning(_ key: String) -> Bool { machine.state(of: key)?.kind == .running }

    /// Returns whether the child has failed, and its next life is decided upon and hasn't begun.
    func isWaiting(_ key: String) -> Bool {
        if case .waiting = machine.state(of: key) { true } else { false }
    }

    /// Returns whether the child is ending.
    func isEnding(_ key: String) -> Bool {
        if case .stopping = machine.state(of: key) { true } else { false }
    }
}

extension ChildState {
    /// Whether a life has begun and not ended, or the next one is decided upon.
    var isAlive: Bool {
        switch self {
        case .starting, .running, .waiting: true
        case .stopping(_, then: let follow): follow == .start || follow == .restartWithSiblings
        case .stopped: false
        }
    }
}

// MARK: - Events of the children's lives

/// The reactions to the events of the children's lives.
extension ChildSupervisor: HostOwner {
    func handle(_ event: HostEvent, of life: IncarnationID) {
        switch event {
        case .exited(let reason): exited(life, reason)
        case .finished(let output): finished(life, output)
        case .emitted(let event): emitted(life, event)
        case .dismissalRequested(let timeout, let decision):
            tasks.add { decision.settle(await self.dismissalRequested(by: life, timeout: timeout)) }
        case .becameUnreachable: holdMessages(for: life)
        case .becameReachable: releaseMessages(to: life)
        case .recyclingDue: recycle(life)
        case .becameIdle: cell.runtime.features.childIsIdle(life.key, life.incarnation, of: self)
        case .messageReturned(let message):
            holdMessages(for: life)
            if park(returned: message, from: life) { return }
            if message.envelope.mayBeHandled { return message.envelope.end(.failure(lost(life))) }
            deliver(message.envelope, to: life.key, message.rest, isDirect: message.isDirect)
        }
    }

    private func exited(_ life: IncarnationID, _ reason: ExitReason) {
        endWhatMayBeHandled(by: life)
        mutateAndPerform { state in
            let told = state.slots.with(life.key) { slot -> ExitReason? in
                guard slot.incarnation == life.incarnation else { return reason }
                // A child that has finished is told to stop then, wherever it lives; its reason is that it has finished.
                let reason = slot.output != nil && reason == .shutdown ? .normal : reason
                // The start is reported first.
                guard case .starting(let started) = slot.phase else { return reason }
                slot.phase = .exitedEarly(started, reason)
                return nil
            }
            if let reason = told ?? reason { state.feed(.exited(life.key, life.incarnation, reason)) }
        }
    }

    private func finished(_ life: IncarnationID, _ output: Answer) {
        mutateAndPerform { state in
            let isFirst = state.slots.with(life.key) { slot in
                guard slot.incarnation == life.incarnation, slot.output == nil else { return false }
                slot.record.output = output
                return true
            }
            if isFirst == true { state.feed(.finished(life.key, life.incarnation)) }
        }
    }

    /// Sends a child's event to the parent's rows and to every observer.
    private func emitted(_ life: IncarnationID, _ event: Answer) {
        guard let typeName = notify(life.key, .event(event)) else { return }
        cell.observer(ofChildren: typeName)?.post(.event(AnyChild(supervisor: self, key: life.key, typeName: typeName), event))
    }

    private func holdMessages(for life: IncarnationID) {
        withSlot(life.key) { slot in
            guard slot.incarnation == life.incarnation, slot.phase.life != nil else { return }
            if case .draining = slot.phase { return }
            slot.phase.hold()
        }
    }

    private func releaseMessages(to life: IncarnationID) {
        let waits = withSlot(life.key) { slot -> [OneShot<IncarnationEnd>] in
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
    private func recycle(_ life: IncarnationID) {
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

extension ChildSupervisor {
    /// Returns the supervisor of children as what each of them is.
    static func of(_ owner: any ChildOwner) -> ChildSupervisor { unsafeDowncast(owner, to: ChildSupervisor.self) }
}

extension CoordinatorCell {
    /// The supervisor of the children, made when the first child is.
    var children: ChildSupervisor { .of(supervision) }

    var existingChildren: ChildSupervisor? { existingSupervision.map { .of($0) } }
}

extension AnyChild {
    var supervisor: ChildSupervisor { .of(owner) }

    init(supervisor: ChildSupervisor, key: String, typeName: String) { self.init(owner: supervisor, key: key, typeName: typeName) }
}

/// The way in which `run` treats a child that lives under the key already.
public enum IfRunning: Sendable, Hashable {
    /// The call throws `keyInUse`.
    case fail
    /// The call waits until the child has ended, then runs its own. Several that wait get their turns in order of arrival.
    case wait
    /// The call gets the output of the child that lives, together with the call that has started it.
    ///
    /// The child must have the same type and the same configuration: otherwise the call throws `keyInUse` or `configurationDiffers`.
    case join
}

extension ChildSupervisor {
    /// Runs a child to its end, and returns its output.
    ///
    /// Cancelling the waiting task stops the child that it has started, unless another call waits for the child too.
    func run(_ definition: ChildDefinition, ifRunning: IfRunning) async throws -> Answer {
        let key = definition.key
        try cell.path.check(key)
        let end = ChildSlot.End()
        let registration = try await takeKey(of: definition, end, ifRunning)
        let waiting = HandlerScope.current?.beginWaitForChild()
        defer { waiting?.end() }
        let outcome = await outcome(of: end, key, registration)
        // A child that has finished is removed already; its key may have been taken again.
        if case .failure = outcome { await removeRun(key, registration) }
        try Task.checkCancellation()
        return try outcome.get()
    }

    /// Waits for the end of a child after which no life follows; a wait that is cancelled leaves the child as it is.
    ///
    /// - Returns: Whether the child was there.
    /// - Throws: The error of a child that hasn't finished; `CancellationError`.
    func awaitEnd(of key: String) async throws -> Bool {
        let end = ChildSlot.End()
        let registration = state.withLock { state -> RegistrationNumber? in
            guard state.isAlive(key) || state.isEnding(key) else { return nil }
            return state.slots.with(key) { slot in
                slot.record.ends.append(end)
                return slot.registration.number
            }
        }
        guard let registration else { return false }
        let outcome = await outcome(of: end, key, registration)
        try Task.checkCancellation()
        _ = try outcome.get()
        return true
    }

    /// Waits for a child's end; the call leaves the others that wait for it when it's cancelled.
    private func outcome(of end: ChildSlot.End, _ key: String, _ registration: RegistrationNumber) async -> Result<Answer, any Error> {
        await withTaskCancellationHandler {
            await end.value
        } onCancel: {
            leave(end, key, registration)
        }
    }

    /// Requests a child that is run to its end, in its turn.
    ///
    /// - Returns: The number of the key's registration.
    private func takeKey(of definition: ChildDefinition, _ end: ChildSlot.End, _ ifRunning: IfRunning) async throws -> RegistrationNumber {
        var hasTurn = false
        while true {
            do {
                switch try request(definition, .run(end, ifRunning, hasTurn: hasTurn)) {
                case .accepted(let registration, _): return registration
                case .busy(let turn):
                    hasTurn = false
                    let waiting = HandlerScope.current?.beginWaitForChild()
                    defer { waiting?.end() }
                    // A turn that comes at the same time as the cancellation has to be passed on.
                    if await turn.valueUnlessCancelled() == nil, turn.settle() { throw CancellationError() }
                    hasTurn = true
                }
            } catch {
                if hasTurn { passTurn(of: definition.key) }
                throw error
            }
        }
    }

    /// Gives the turn to the first call that waits to run a child under a key, if the key is free.
    func passTurn(of key: String) {
        while let next = state.withLock({ $0.takeSuccessor(of: key) }) {
            if next.settle() { return }
        }
    }

    /// Ends the wait of a call that was cancelled; the child is stopped if no other call waits for it.
    private func leave(_ end: ChildSlot.End, _ key: String, _ registration: RegistrationNumber) {
        let isLast = mutateAndPerform { state -> Bool in
            let isAlive = state.isAlive(key)
            let isLast = state.slots.with(key) { slot -> Bool in
                guard slot.registration.number == registration else { return false }
                if slot.record.isRun, slot.starts.isEmpty, slot.record.ends.count == 1, slot.record.ends[0] === end {
                    if isAlive { slot.record.stopInitiator = .parent }
                    return true
                }
                slot.record.ends.removeAll { $0 === end }
                return false
            }
            if isLast == true { state.feed(.removeRequested(key)) }
            return isLast == true
        }
        // The last one waits until nothing is left of the child.
        if !isLast { end.settle(.failure(CancellationError())) }
    }

    /// Removes a child that has not finished, if it was started to be run to its end.
    private func removeRun(_ key: String, _ registration: RegistrationNumber) async {
        let isRun = withSlot(key) { $0.registration.number == registration && $0.record.isRun && $0.record.ends.isEmpty }
        if isRun == true { try? await stop(key, initiator: .parent, forgets: true, registration: registration) }
    }
}

extension ChildSupervisor.State {
    /// Removes and returns the first call that waits to run a child under a key; `nil` when there is none, or the key is taken.
    fileprivate mutating func takeSuccessor(of key: String) -> OneShot<Void>? {
        if successors.isEmpty || phase == .open && isAlive(key) { return nil }
        let next = successors[key]?.popFirst()
        if successors[key]?.isEmpty == true { successors[key] = nil }
        return next
    }
}
