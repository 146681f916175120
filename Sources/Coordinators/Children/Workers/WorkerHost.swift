import ConcurrencySupport
import Links
import Logging
import Processes
import Synchronization
import WireProtocol
import WorkerLifecycle

/// A child in a worker process of its own, or a process that waits to become one.
///
/// ``WorkerMachine`` decides; the host reports to it what happens, and carries out its directives. Only the process's end ends the life:
/// when a link breaks, the open asks end, and the worker may dial again.
final class WorkerHost: ChildHost {
    struct State: MachineState {
        var machine: WorkerMachine
        var outbox = Outbox<WorkerMachine.ProcessDirective>()
        /// The directives about links, which run code of users: their types are encoded, their asks end.
        fileprivate var talk = Outbox<Talk>()
        /// The spawn of the process, once it has begun.
        var spawning: PendingValue<(SpawnedProcess, Ticket, TicketPipe)>?
        var process: SpawnedProcess?
        /// The secret by which the worker proves who it is: a new one, or that of the worker which is adopted.
        var secret: [UInt8]
        var origin = Origin.here
        /// The data by which a next root adopts the process, if it can.
        var adoptionRecord: AdoptionRecord?
        var links = Links()
        /// The life of the process; `nil`: it's a spare.
        var assignment: Assignment?
        /// The time at which the life took its predecessor's place, from which on it gets the messages; `nil`: it hasn't.
        fileprivate(set) var place: MonotonicTime?
        /// Whether the start was requested.
        var isStartRequested = false
        /// Whether the process was told to stop, or isn't needed.
        var isUnwanted = false
        /// Whether a drain waits for the coordinator's `run` hook.
        var awaitsRun = false
        /// The time since which the spawn hangs.
        var hangsSince: DateTime?
        /// The processes below the worker, as it has reported them.
        var descendants = ReportedProcesses()
        var description = Description()
        /// `nil` until a worker has been introduced.
        var subscriptions: Subscriptions?
        /// The number under which the host hears of changes of the rows above the process, once a worker has been welcomed.
        var directorySubscription: UInt64?
    }

    /// The numbers under which the host hears of what its worker is to report.
    struct Subscriptions {
        let tap, traces, telemetry: UInt64
    }

    /// The directives for links, carried out one after the other.
    fileprivate enum Talk: Sendable {
        case directive(WorkerMachine.LinkDirective)
        /// The rows above are told again, because they have changed.
        case directory
    }

    /// The life that a worker is to live.
    struct Assignment: Sendable {
        let definition: CoordinatorDefinition
        let startTimeout: Duration
        let events: HostEvents
        /// The reasons for which the child is paused, and the dependencies that were provided.
        var startContext: StartContext
    }

    /// A link, and the hello that the worker has sent on it.
    struct Attachment: Sendable {
        let peer: Peer
        let hello: Hello
    }

    let path: CoordinatorPath
    let runtime: RuntimeCore
    let parent: CoordinatorCell
    let program: WorkerProgram
    let plan: WorkerPlan
    let state: MachineShell<State>
    let tasks = OwnedTasks()
    /// The messages to the worker that are delayed, because a test wants a slow link.
    let delayLine = DelayLine(.monotonic)
    /// The signal that the start has ended.
    let readiness = OneShot<Result<Void, any Error>>()
    /// The signal that the processes above know of the process, or that there is none.
    let launch = OneShot<Result<Void, any Error>>()
    /// The signal that nothing is left of the process and its descendants.
    let gone = OneShot<Void>()

    /// - Parameter orphan: The worker to adopt instead of spawning one.
    init(
        _ program: WorkerProgram,
        _ plan: WorkerPlan,
        path: CoordinatorPath,
        parent: CoordinatorCell,
        orphan: OrphanedWorkers.Orphan? = nil
    ) {
        var limits = WorkerMachine.Limits()
        limits.firstLink = Link.handshakeTimeout + .seconds(5)
        limits.heartbeatTimeout = parent.runtime.options.heartbeatTimeout
        // Ten pings in the time, so that a hang is known within a tenth of it.
        limits.heartbeat = max(min(.seconds(1), limits.heartbeatTimeout / 10), .milliseconds(10))
        limits.restartsSilentExecutor = plan.hang == .restart
        limits.age = plan.recycling.nextAge
        limits.messages = plan.recycling.messages
        limits.memory = plan.recycling.memory
        limits.memoryLimit = plan.memoryLimit
        state = MachineShell(
            State(
                machine: WorkerMachine(limits: limits),
                secret: orphan?.secret ?? Secret.make(),
                origin: orphan.map(Origin.orphan) ?? .here
            )
        )
        self.program = program
        self.plan = plan
        self.path = path
        self.parent = parent
        self.runtime = parent.runtime
    }

    /// The interval between pings of the worker.
    var heartbeat: Duration { state.withLock { $0.machine.limits.heartbeat } }

    /// Reports an event to the machine, and carries out the machine's decisions.
    ///
    /// A user's type that takes its time to be encoded keeps no process from being ended: what is said on links has an outbox of its own.
    ///
    /// - Parameters:
    ///   - change: The change of the state that goes with the event, under the same lock.
    ///   - talksElsewhere: Whether the calling thread must not run code of users.
    func handle(_ event: WorkerMachine.Event, talksElsewhere: Bool = false, _ change: (inout State) -> Void = { _ in }) {
        let mustTalk = state.mutate { state in
            change(&state)
            return state.feed(event)
        } performing: {
            perform($0)
        }
        guard mustTalk else { return }
        if talksElsewhere { tasks.add { self.talk() } } else { talk() }
    }

    private func talk() {
        while let talk = state.withLock({ $0.talk.next() }) {
            switch talk {
            case .directive(let directive): perform(directive)
            // A worker without a link in use hears them with its welcome.
            case .directory: if let peer = state.withLock({ $0.linkedPeer }) { tellDirectory(to: peer) }
            }
        }
        // An introduction and the start that follows are one message to the worker, which then wakes once.
        for attachment in state.withLock({ Array($0.links.attached.values) }) { attachment.peer.link.flush() }
    }

    /// Tells the worker the rows above again.
    func tellDirectoryAgain() {
        let mustTalk = state.withLock { state in
            state.talk.add(.directory)
            return state.talk.claimWriter()
        }
        if mustTalk { talk() }
    }

    // MARK: The life

    /// Gives the process a life, before the start; a life that has begun beside its predecessor is assigned again when it takes the place.
    ///
    /// - Returns: False when the process has ended with the life that it had begun.
    @discardableResult
    func assign(_ assignment: Assignment) -> Bool {
        var isTaken = false
        handle(.pauseChanged(!assignment.startContext.pauseReasons.isEmpty)) { state in
            isTaken = state.assignment == nil || !state.machine.hasEnded
            guard isTaken else { return }
            state.assignment = assignment
            // Without an owner the life begins beside its predecessor, which still gets the messages.
            if assignment.events.owner != nil { state.takePlace(at: .now) }
        }
        return isTaken
    }

    func start() async throws {
        do {
            if !state.withLock({ $0.isStartRequested }) { try await becomeAdoptable() }
        } catch {
            discard()
            await gone.value
            throw error
        }
        try await startBeside()
    }

    /// Starts the coordinator while the former life of its path goes on, or waits for the start that was requested before.
    ///
    /// The life can be adopted once the former one is gone.
    func startBeside() async throws {
        let assignment = state.withLock { state in
            defer { state.isStartRequested = true }
            return state.isStartRequested ? nil : state.assignment
        }
        if let assignment {
            handle(.startRequested(isRestart: assignment.startContext.isRestart, timeout: assignment.startTimeout))
        }
        try await readiness.value.get()
    }

    /// Spawns a process that waits for a life; returns when it's running.
    func launchSpare() async throws {
        handle(.spareRequested)
        try await launch.value.get()
    }

    func stop(_ shutdown: Shutdown) {
        handle(.stopRequested(shutdown)) { $0.isUnwanted = true }
        giveUpSpawn()
    }

    func awaitRun() { state.withLock { $0.awaitsRun = true } }

    /// Ends a process that isn't needed.
    func discard() {
        handle(.discarded) { $0.isUnwanted = true }
        giveUpSpawn()
    }

    var isBusy: Bool { state.withLock { $0.linkedPeer }?.hasOpenMessages == true }

    var isLost: Bool { state.withLock { $0.linkedPeer }?.isClosed != false }

    func kill() throws {
        guard let process = state.withLock({ $0.machine.isAnnounced ? $0.process?.process : nil }) else {
            throw CoordinatorError(.stopped, "\(path) has no process yet")
        }
        try process.send(.kill)
    }

    // MARK: Lookup

    /// The secret by which the worker proves who it is.
    var secret: [UInt8] { state.withLock { $0.secret } }

    /// The receiver of the life's events; it has no owner as long as there is no life.
    var events: HostEvents {
        state.withLock { $0.assignment?.events } ?? HostEvents(owner: nil, life: IncarnationID(key: "", incarnation: 0))
    }

    var process: ProcessIdentity? { state.withLock { $0.machine.isAnnounced ? $0.process?.process.identity : nil } }

    /// Whether the process lives, as far as is known.
    var isAlive: Bool { state.withLock { $0.machine.isAlive && $0.process?.process.exitStatus == nil } }

    /// Whether the process has its link, and no life yet.
    var isWaiting: Bool { state.withLock { $0.machine.isWaiting && $0.assignment == nil } }
}

extension WorkerHost.State {
    /// The peer on the link in use, once the worker has been welcomed on it: nothing may come before the welcome.
    var linkedPeer: Peer? { links.inUse }

    /// Notes that the worker has been welcomed on a link.
    ///
    /// - Returns: Whether messages wait for that.
    mutating func noteWelcome(on link: WorkerMachine.LinkID) -> Bool {
        links.welcomed = link
        links.renew(machine.link)
        guard links.isAwaited, links.inUse != nil else { return false }
        links.isAwaited = false
        return true
    }

    /// Notes when the life has taken its predecessor's place.
    mutating func takePlace(at time: MonotonicTime) {
        place = time
        for attachment in links.attached.values { attachment.peer.place.store(time.nanoseconds, ordering: .relaxed) }
    }

    /// Takes a link.
    ///
    /// - Returns: Whether it's gone already.
    mutating func attach(_ attachment: WorkerHost.Attachment, as link: WorkerMachine.LinkID) -> Bool {
        if let place { attachment.peer.place.store(place.nanoseconds, ordering: .relaxed) }
        links.attached[link] = attachment
        return links.lostEarly.remove(link) != nil
    }

    /// Forgets a link that is gone, and has given back its messages.
    ///
    /// - Returns: Whether its successor is in use from now on.
    mutating func forget(_ link: WorkerMachine.LinkID) -> Bool {
        let wasInUse = links.inUse != nil
        if links.attached.removeValue(forKey: link) == nil { links.lostEarly.insert(link) }
        links.renew(machine.link)
        return !wasInUse && links.inUse != nil
    }

    /// Feeds the machine an event.
    ///
    /// - Returns: Whether the caller has to carry out the directives about links.
    fileprivate mutating func feed(_ event: WorkerMachine.Event) -> Bool {
        for directive in machine.handle(event, now: MonotonicTime.now.sinceOrigin) {
            switch directive {
            case .process(let directive): outbox.add(directive)
            case .link(let directive): talk.add(.directive(directive))
            }
        }
        links.renew(machine.link)
        return talk.claimWriter()
    }
}

extension WorkerHost {
    /// The links that have come and haven't ended.
    struct Links {
        var attached: [WorkerMachine.LinkID: Attachment] = [:]
        /// The links that have ended before they were attached.
        fileprivate var lostEarly: Set<WorkerMachine.LinkID> = []
        /// The link on which the worker was welcomed last.
        fileprivate var welcomed: WorkerMachine.LinkID?
        fileprivate var inUse: Peer?
        /// Whether a message has come back because no link was in use yet.
        var isAwaited = false

        fileprivate mutating func renew(_ link: WorkerMachine.LinkID?) {
            inUse = link.flatMap { link in
                // What the former link gives back goes before everything else.
                let isAlone = attached.keys.allSatisfy { $0 >= link }
                return link == welcomed && isAlone ? attached[link]?.peer : nil
            }
        }
    }
}

extension WorkerHost {
    func perform(_ directive: WorkerMachine.ProcessDirective) {
        switch directive {
        case .takeTurn: takeTurn()
        case .spawn: tasks.add { await self.spawn() }
        case .announce: tasks.add { await self.announce() }
        case .expectNoLink: runtime.links.hub.forget(secret)
        case .refuse(let link, let refusal): with(link) { refuse($0, refusal) }
        case .terminate(let grace):
            if let process = spawned?.process { tasks.add { _ = await process.terminate(grace: grace) } }
        case .kill: try? spawned?.process.sendToGroup(.kill)
        case .cleanUp(let link): tasks.add { await self.cleanUp(link) }
        case .ping(let link): ping(link, .link)
        case .probeExecutor(let link): ping(link, .executor)
        case .noteExecutor(let isSilent): logExecutor(isSilent: isSilent)
        case .measureMemory:
            // It looks at all processes of the machine.
            tasks.add { [self] in if let bytes = measuredMemory { noteMemory(bytes) } }
        case .startSucceeded:
            noteReadiness()
            readiness.settle(.success(()))
            checkDescription()
        case .startFailed(let failure): failStart(error(for: failure))
        case .lifeEnded(let reason): events.send(.exited(reason))
        case .gone: end()
        case .wake(let time): state.wake(at: time) { [weak self] in self?.handle(.timePassed, talksElsewhere: true) }
        }
    }

    func perform(_ directive: WorkerMachine.LinkDirective) {
        switch directive {
        case .welcome(let link): with(link) { welcome($0, on: link) }
        // The link is forgotten when it has given back its messages.
        case .close(let link): with(link) { $0.peer.close() }
        case .introduce(let link): with(link) { introduce(to: $0.peer) }
        case .tellStart(let link): with(link) { tellStart(to: $0.peer) }
        case .tellStop(let link, let stop): with(link) { tell(stop, to: $0.peer) }
        case .bidFarewell(let link, let reason): with(link) { bidFarewell(to: $0.peer, reason) }
        case .becameReachable: events.send(.becameReachable)
        case .becameUnreachable: events.send(.becameUnreachable)
        case .recycle(let cause):
            runtime.observation.logger.info("a worker is replaced", metadata: ["coordinator.path": "\(path)", "cause": "\(cause.text)"])
            events.send(.recyclingDue)
        }
    }

    /// Tells that the start has failed, once nothing is left of a worker that was to be adopted.
    private func failStart(_ error: any Error) {
        guard let orphan = takeOrphan() else {
            readiness.settle(.failure(error))
            return
        }
        tasks.add { [self] in
            await runtime.end(orphan, because: "its start was given up")
            readiness.settle(.failure(error))
        }
    }

    /// The memory that the process occupies together with what it has started, without the workers and programs below it; `nil` when it's
    /// gone.
    var measuredMemory: Int? {
        guard let process = spawned?.process.identity else { return nil }
        let below = state.withLock { $0.descendants.families.map(\.leader.processID) }
        return FamilyUsage.residentBytes(of: process, without: Set(below))
    }

    private func noteMemory(_ bytes: Int) {
        if let limit = plan.memoryLimit, bytes > limit {
            runtime.observation.logger.warning(
                "a worker is killed: it occupies more memory than its limit",
                metadata: [
                    "coordinator.path": "\(path)", "worker.pid": "\(spawned?.process.identity.processID ?? 0)",
                    "memory.bytes": "\(bytes)", "memory.limit": "\(limit)",
                ]
            )
        }
        handle(.memoryMeasured(bytes: bytes))
    }

    private var spawned: SpawnedProcess? { state.withLock { $0.process } }

    private func with(_ link: WorkerMachine.LinkID, _ body: (Attachment) -> Void) {
        if let attachment = state.withLock({ $0.links.attached[link] }) { body(attachment) }
    }

    private func logExecutor(isSilent: Bool) {
        let metadata: Logger.Metadata = ["coordinator.path": "\(path)", "worker.pid": "\(spawned?.process.identity.processID ?? 0)"]
        guard isSilent else { return runtime.observation.logger.notice("a worker's executor answers again", metadata: metadata) }
        if runtime.observation.lives.areWanted {
            let incarnation = state.withLock { $0.assignment?.events.life.incarnation } ?? 0
            let silence = runtime.options.heartbeatTimeout
            runtime.observation.lives.add(LifecycleRecord(.silent(silence), of: path, incarnation, spawned?.process.identity.processID))
        }
        runtime.observation.logger.warning(
            "a worker's executor runs nothing: its coordinator, or all its threads, are busy or blocked",
            metadata: metadata.merging(["silence": "\(runtime.options.heartbeatTimeout)"]) { $1 }
        )
    }

    private func end() {
        state.cancelWake()
        endSubscriptions()
        settleNextLink()
        gone.settle(())
    }

    private func error(for failure: WorkerMachine.Failure) -> any Error {
        switch failure {
        case .stopped: return CoordinatorError.hasStopped(path)
        case .thrown(let error): return error
        case .exited(let reason):
            // The kernel doesn't say of a process that it was refused memory.
            let hint = plan.dataLimit.map { "; its dataLimit of \($0) bytes holds for the stacks of its threads too" } ?? ""
            return StartFailure(reason: reason, description: "\(path) ended before it was ready: \(reason)\(hint)")
        case .condemned(let reason, let complaint):
            switch complaint {
            case .startTimedOut:
                let timeout = state.withLock { $0.assignment?.startTimeout } ?? .zero
                return CoordinatorError(.startTimedOut, "\(path) was not ready within \(timeout)")
            case .noLink: return CoordinatorError(.peerLost, "\(path) has had no link for \(state.withLock { $0.machine.limits.link })")
            case .noSign:
                return CoordinatorError(.peerLost, "\(path) has given no sign for \(runtime.options.heartbeatTimeout)", maybeExecuted: true)
            case .silentExecutor:
                let time = runtime.options.heartbeatTimeout
                return CoordinatorError(.peerLost, "the executor of \(path) has run nothing for \(time)", maybeExecuted: true)
            case .stuckHandler:
                return CoordinatorError(.peerLost, "a handler of \(path) has run on past its cancellation", maybeExecuted: true)
            case .memoryExceeded: return CoordinatorError(.peerLost, "\(path): \(reason)", maybeExecuted: true)
            case .ticketRefused(let message): return CoordinatorError(.startFailed, message)
            case .notWelcome(let message): return CoordinatorError(.startFailed, message)
            case .discarded:
                return reason == .shutdown ? CoordinatorError.hasStopped(path) : CoordinatorError(.startFailed, "\(path): \(reason)")
            }
        }
    }
}

extension WorkerMachine.RecyclingCause {
    fileprivate var text: String {
        switch self {
        case .age: "its age"
        case .messages(let count): "\(count) messages"
        case .memory(let bytes): "\(bytes) bytes of memory"
        }
    }
}
