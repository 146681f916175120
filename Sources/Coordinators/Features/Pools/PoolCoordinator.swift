import ConcurrencySupport

/// The coordinator that stands for a pool: it hands messages on to its children, the members.
///
/// Messages that its members send climb past it: its row is only for messages to the pool itself.
actor PoolCoordinator<Member: Coordinator>: Coordinator {
    typealias Configuration = PoolConfiguration<Member.Configuration>
    fileprivate typealias Turn = OneShot<PoolTurn>

    private struct WaitingMessage {
        let message: Envelope
        let turn: Turn
        let hash: UInt64?
        /// Whether it waits for a member without any other message, which members make by themselves.
        var isAlone = false

        /// Whether it's an ask that may wait for ever, if members wait for its asker.
        var isOpenAsk: Bool { !message.isOneWay && !isAlone && !message.hasEnded }
    }

    nonisolated let context: Context
    nonisolated let plan: PoolPlan
    /// The lock under which changes of the members come one after the other.
    nonisolated let changes = AsyncLock()
    private var router: PoolRouter<Turn>
    /// The messages that each member has.
    private var assigned: [Int: Set<ObjectIdentifier>] = [:]
    /// The messages that wait for a member.
    private var waiting: [ObjectIdentifier: WaitingMessage] = [:]
    /// The waits until a member has no messages.
    private var idleWaits: [Int: OneShot<Void>] = [:]
    /// Whether a timer runs after which messages that wait look for a member again.
    private var looksAgain = false

    init(_ context: Context) {
        self.context = context
        plan = context.configuration.plan
        router = PoolRouter(capacity: CoordinatorType.of(Member.self).mailbox.value.running, takesTurns: plan.routing.takesTurns)
    }

    /// Messages that wait for a member are handlers here, so that only those beyond their limit wait in the mailbox.
    static var mailbox: MailboxPolicy {
        let member = CoordinatorType.of(Member.self).mailbox.value
        return MailboxPolicy(running: 8_192, waiting: member.waiting, bytes: max(member.bytes, 64 << 20), whenFull: member.whenFull)
    }

    static var responders: Responders {
        let row = MessageRow(.prefix(""), isRelay: true) { coordinator, envelope, receiver, index in
            let me: PoolCoordinator = try MessageRow.cast(coordinator)
            return try await me.handOn(envelope, ChainContinuation(cell: .of(receiver), envelope: envelope, index: index))
        }
        return [
            Responder(row: .pool(row, CoordinatorType.of(Member.self).table)),
            .respond(to: RestartMembers.self) { me, _ in try await me.restartMembers() },
            .lifecycle { me, child, change in await me.changed(child, change) },
        ]
    }

    func start() async throws {
        try context.supervise(by: plan.supervision)
        let size = context.configuration.size
        try await startMembers(0..<size)
        resize(to: size)
    }

    func resumed() { dispatch() }

    func reconfigured(from former: Configuration) async throws -> Reconfiguration {
        let size = context.configuration.size
        try await changes.pass { try await self.change(to: size) }
        return .taken
    }

    nonisolated func key(of number: Int) -> String { "\(number + 1)" }

    nonisolated func startMember(_ number: Int) async throws {
        try await context.start(
            Member.self,
            as: key(of: number),
            in: plan.placement,
            shutdown: plan.shutdown,
            restartLimits: plan.restartLimits,
            with: context.configuration.members
        )
    }

    nonisolated func startMembers(_ numbers: Range<Int>) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            // Each start is requested before the first suspension, so that the members are in order.
            for number in numbers { group.addImmediateTask { try await self.startMember(number) } }
            try await group.waitForAll()
        }
    }
}

/// The end of a wait for a member.
enum PoolTurn: Sendable {
    case member(Int)
    /// The message gives way to a newer one.
    case dropped
    case cancelled
    case refused(CoordinatorError)
}

typealias PoolReadiness = PoolRouter<OneShot<PoolTurn>>.Readiness

// MARK: - Handing on

extension PoolCoordinator {
    /// Hands a message on to a member, and returns its answer.
    ///
    /// One-way messages are asked, so that the pool knows when their handlers have ended. The member has its place until then, though the asker
    /// may have given up before.
    fileprivate func handOn(_ envelope: Envelope, _ continuation: ChainContinuation) async throws -> Answer {
        let hash = try plan.routing.hash(of: envelope)
        // The replies of a stream that were passed on can't be taken back.
        let isRepeatable = envelope.flow == nil && CoordinatorType.of(Member.self).table.isIdempotent(envelope.body)
        var suspicion = PoolSuspicion()
        while true {
            let number = try await member(for: envelope, hash, suspicion)
            let incarnation = incarnation(of: number)
            var message: ObjectIdentifier?
            defer { release(number, message) }
            do {
                let body = isRepeatable ? envelope.body.copied : envelope.body
                let delivery = continuation.newDelivery()
                let answer = try await continuation.next(body, isOneWay: false, isOfPool: true, delivery: delivery, lingers: true) {
                    inner in
                    let id = ObjectIdentifier(inner)
                    message = id
                    assigned[number, default: []].insert(id)
                    continuation.cell.children.deliver(inner, to: key(of: number), [], isDirect: true)
                }
                return envelope.hasReplied ? .none : answer
            } catch is PoolReassignment {
            } catch is CancellationError where envelope.deadline.map({ $0 <= context.cell.runtime.time.now }) == true {
                // The deadline has cancelled the member's handler, which may have begun, before the message's own asker has noticed it.
                throw envelope.mayBeExecuted ? envelope.timeOutError.doubted : envelope.timeOutError
            } catch let error as CoordinatorError where hasGone(number, incarnation, before: error) {
            } catch let error as CoordinatorError where error.code == .stopped && context.cell.hasFailed {
                if error.maybeExecuted { throw context.cell.endError(true, maybeExecuted: true) }
            } catch let error as CoordinatorError where isRepeatable && (error.code == .peerLost || error.code == .stopped) {
                try await giveAgain(envelope, &suspicion, from: number, incarnation, after: error)
            }
        }
    }

    /// Waits until a member takes a message.
    ///
    /// If the pool has failed meanwhile, a message that no member is known to have died of is given back to the parent, for the pool's next
    /// life.
    private func member(for envelope: Envelope, _ hash: UInt64?, _ suspicion: PoolSuspicion) async throws -> Int {
        do {
            if context.cell.hasFailed { throw CancellationError() }
            return try await suspicion.runsAlone ? memberAlone(for: envelope, hash) : member(for: envelope, hash)
        } catch let error as CancellationError {
            guard !suspicion.runsAlone, !envelope.isWithdrawn, context.cell.handBack(envelope) else { throw error }
            throw MessageHandedBack()
        }
    }

    /// Waits until a member takes a message that it has alone.
    private func memberAlone(for envelope: Envelope, _ hash: UInt64?) async throws -> Int {
        let turn = Turn()
        router.waitAlone(turn, hash)
        dispatchAlone()
        lookAgainSoon()
        return try await number(for: WaitingMessage(message: envelope, turn: turn, hash: hash, isAlone: true))
    }

    private func dispatchAlone() {
        guard router.isAnyWaitingAlone else { return }
        for (turn, number) in router.assignAlone(readiness) where !turn.settle(.member(number)) { router.release(number) }
    }

    /// Returns when a message may be given again that has come back because its member has ended.
    ///
    /// - Throws: The message's end: the error with which it came back if the member lives on, or `poisoned`.
    private func giveAgain(
        _ envelope: Envelope,
        _ suspicion: inout PoolSuspicion,
        from number: Int,
        _ incarnation: UInt32,
        after error: CoordinatorError
    ) async throws {
        switch await context.cell.children.end(of: key(of: number), incarnation) {
        case .goesOn: throw error
        case .asWanted: break
        case .byItself:
            guard case .poisoned = suspicion.memberDied() else { break }
            context.cell.notePoisoned(envelope)
            let text = "\(suspicion.deaths) members of \(context.path) have died of \(envelope.body.name)"
            throw CoordinatorError(.poisoned, text, maybeExecuted: true)
        case nil: throw CancellationError()
        }
    }

    /// Returns whether a member has gone before it took a message, which another member can then take.
    ///
    /// Usually such a message is withdrawn; the error may come first. A member that lives on has passed on a refusal from below it.
    private func hasGone(_ number: Int, _ incarnation: UInt32, before error: CoordinatorError) -> Bool {
        guard error.provesNothingExecuted, [.restarting, .peerLost, .stopped].contains(error.code) else { return false }
        return self.incarnation(of: number) != incarnation || readiness(number) != .ready
    }

    private func incarnation(of number: Int) -> UInt32 { context.cell.children.incarnation(of: key(of: number)) }

    /// Waits until a member takes a message, in order of arrival.
    private func member(for envelope: Envelope, _ hash: UInt64?) async throws -> Int {
        let lane = router.lane(of: hash)
        if !router.isWaiting(in: lane), let number = router.assign(lane, readiness) { return number }
        try makeRoom(in: lane)
        let turn = Turn()
        router.wait(turn, hash)
        lookAgainSoon()
        return try await number(for: WaitingMessage(message: envelope, turn: turn, hash: hash))
    }

    private func number(for entry: WaitingMessage) async throws -> Int {
        let (id, turn) = (ObjectIdentifier(entry.message), entry.turn)
        waiting[id] = entry
        defer { waiting[id] = nil }
        if entry.isOpenAsk { context.cell.watchForCycles() }
        let outcome = await turn.valueUnlessCancelled()
        if outcome == nil, turn.settle(.cancelled) { router.remove { $0 === turn } }
        switch turn.outcome {
        case .member(let number)? where outcome == nil:
            release(number, nil)
            throw CancellationError()
        case .member(let number)?: return number
        case .dropped?: throw isFull
        case .refused(let error)?: throw error
        case .cancelled?, nil: throw CancellationError()
        }
    }

    /// Does what the members' policy says when as many messages wait as may.
    private func makeRoom(in lane: PoolRouter<Turn>.Lane) throws {
        let policy = CoordinatorType.of(Member.self).mailbox.value
        guard router.waitingCount / max(router.size, 1) >= policy.waiting else { return }
        switch policy.whenFull {
        // Beyond the pool's running handlers senders wait.
        case .wait: return
        case .fail, .dropNewest: throw isFull
        case .dropOldest:
            guard let oldest = router.first(in: lane) else { throw isFull }
            router.removeFirst(in: lane)
            oldest.settle(.dropped)
        }
    }

    private var isFull: CoordinatorError {
        CoordinatorError(.mailboxFull, "as many messages wait for the members of \(context.path) as may")
    }

    private func release(_ number: Int, _ message: ObjectIdentifier?) {
        if let message { assigned[number]?.remove(message) }
        router.release(number)
        if router.load(of: number) == 0 { idleWaits.removeValue(forKey: number)?.settle() }
        dispatch(.member(number))
        dispatch(.any)
        lookAgainSoon()
    }

    private func readiness(_ number: Int) -> PoolReadiness { context.cell.children.readiness(of: key(of: number)) }

    /// Gives members to the messages that wait.
    private func dispatch() {
        dispatchAlone()
        for lane in router.lanes { dispatch(lane) }
        lookAgainSoon()
    }

    /// Has the messages that wait look again soon: no event tells when a member can be reached again, or a handler that is stuck ends.
    private func lookAgainSoon() {
        guard !looksAgain, router.isAnyWaiting else { return }
        looksAgain = true
        context.after(.milliseconds(20)) { me in
            me.looksAgain = false
            me.dispatch()
        }
    }

    private func dispatch(_ lane: PoolRouter<Turn>.Lane) {
        dispatchAlone()
        while let turn = router.first(in: lane) {
            if turn.outcome != nil {
                router.removeFirst(in: lane)
                continue
            }
            guard let number = router.assign(lane, readiness) else { return }
            router.removeFirst(in: lane)
            if !turn.settle(.member(number)) { router.release(number) }
        }
    }
}

// MARK: - Cycles

extension PoolCoordinator: HandingOn {
    var blockedPlaces: [BlockedPlace] {
        let open = Dictionary(uniqueKeysWithValues: (context.cell.existingOpenAsks?.all ?? []).map { (ObjectIdentifier($0), $0) })
        let waiting = Dictionary(grouping: waiting.values.filter(\.isOpenAsk)) { router.lane(of: $0.hash) }
        return waiting.compactMap { lane, waiting in
            guard let members = router.fullMembers(of: lane, readiness), members.allSatisfy(mayWait) else { return nil }
            let held = members.flatMap { assigned[$0] ?? [] }.compactMap { open[$0] }
            // Those that have just been given to a member aren't on their way yet.
            guard held.count == members.reduce(0, { $0 + router.load(of: $1) }) else { return nil }
            let path = name(of: lane).map { context.path.appending($0) } ?? context.path
            return BlockedPlace(name: path.description, obstacle: .members(held), asks: waiting.map(\.message))
        }
    }

    var waitingPlaces: [CoordinatorSnapshot.WaitingPlace] {
        let waiting = Dictionary(grouping: waiting.values) { router.lane(of: $0.hash) }
        return waiting.compactMap { .init(.member, key: name(of: $0), $1.lazy.map(\.message)) }
    }

    /// The name of the one member for which a lane's messages wait.
    private func name(of lane: PoolRouter<Turn>.Lane) -> String? {
        if case .member(let number) = lane { key(of: number) } else { nil }
    }

    /// Whether a member may wait for other coordinators, as far as is known in this process.
    private func mayWait(_ number: Int) -> Bool {
        guard let host = try? context.cell.children.host(of: key(of: number)) as? CoordinatorCell else { return true }
        return host.state.withLock { $0.mailbox.isAnyHandlerWaiting }
    }

    func refuse(_ ask: Envelope, _ error: CoordinatorError) -> Bool {
        guard let entry = waiting[ObjectIdentifier(ask)], entry.turn.settle(.refused(error)) else { return false }
        router.remove { $0 === entry.turn }
        return true
    }
}

// MARK: - Changes of the members

extension PoolCoordinator {
    private var size: Int { router.size }

    private func resize(to size: Int) {
        router.resize(to: size)
        dispatch()
    }

    fileprivate func change(to size: Int) async throws {
        let former = router.size
        if size > former {
            do {
                try await startMembers(former..<size)
            } catch {
                await stopMembers(former..<size)
                throw error
            }
        }
        resize(to: size)
        guard size < former else { return }
        await withTaskGroup { group in
            for number in size..<former { group.addTask { await self.waitUntilIdle(number) } }
        }
        // The caller that doesn't wait any more has been told that the size stays.
        if !Task.isCancelled { await stopMembers(size..<former) }
        guard Task.isCancelled else { return }
        await startMissing(size..<former)
        resize(to: former)
        throw CancellationError()
    }

    /// Starts the members again that were stopped for a change that isn't made, whatever becomes of the caller's task.
    private func startMissing(_ numbers: Range<Int>) async {
        let isOver = OneShot<Void>()
        context.task(onError: .fail) {
            defer { isOver.settle(()) }
            try await self.startMembers(numbers)
        }
        await isOver.value
    }

    private nonisolated func stopMembers(_ numbers: Range<Int>) async {
        await withTaskGroup { group in
            for number in numbers { group.addTask { try? await self.context.remove(self.key(of: number)) } }
        }
    }

    fileprivate func restartMembers() async throws {
        try await changes.pass { for number in 0..<(await self.size) { try await self.replace(number) } }
    }

    /// Restarts a member when its messages have ended; meanwhile it gets no others.
    private func replace(_ number: Int) async throws {
        router.exclude(number)
        defer {
            router.exclude(number, false)
            dispatch()
        }
        await waitUntilIdle(number)
        try Task.checkCancellation()
        try await context.cell.children.replace(key(of: number))
    }

    /// Waits until a member has no messages, its time to end is over, or the task is cancelled.
    private func waitUntilIdle(_ number: Int) async {
        guard router.load(of: number) > 0 else { return }
        let idle = OneShot<Void>()
        idleWaits[number] = idle
        let time = context.cell.runtime.time
        await withTaskCancellationHandler {
            if let grace = plan.shutdown.grace { _ = await Patience.wait(for: idle, atMost: grace, of: time) } else { await idle.value }
        } onCancel: {
            idle.settle(())
        }
        idleWaits[number] = nil
    }

    /// Follows a change of a member that the pool hasn't made itself.
    fileprivate func changed(_ child: AnyChild, _ change: LifecycleChange) async {
        guard let number = Int(child.key).map({ $0 - 1 }) else { return }
        // Where messages choose among the members, others take over what waits for this one.
        if case .crashed = change, !plan.routing.isHashing { moveMessages(from: number) }
        if case .stopped = change, context.child(child.key) == nil { await startAgain(number) }
        if case .gaveUp(let reason) = change, !(0..<size).contains(where: { context.cell.children.isAlive(key(of: $0)) }) {
            context.fail(CoordinatorError(.failed, "all members of \(context.path) were given up, the last because it \(reason)"))
        }
        dispatch()
    }

    private func moveMessages(from number: Int) {
        context.cell.children.withdraw(assigned[number] ?? [], from: key(of: number), with: PoolReassignment())
    }

    /// Starts a member again that has finished or was dismissed.
    private func startAgain(_ number: Int) async {
        do {
            try await changes.pass { if await number < self.size { try await self.startMember(number) } }
        } catch {
            context.fail(error)
        }
    }
}

extension ChildSupervisor {
    /// Returns whether a child can be given messages by the pool that it's a member of.
    func readiness(of key: String) -> PoolReadiness {
        state.withLock { state in
            // What is given to a member that only waits for its turn to be stopped is lost with it.
            guard !state.machine.isEnding, state.isRunning(key) else { return .away }
            return state.slots.with(key) { slot in
                if slot.pauseReasons.contains(.explicit) { return .away }
                switch slot.phase {
                case .active(let life), .flushing(let life): return life.host.isStuck ? .away : .ready
                case .vacant, .starting, .exitedEarly, .held, .draining, .down: return .held
                }
            } ?? .away
        }
    }
}
