import Glibc
import Links
import Logging
import Processes
import Synchronization
import WireProtocol

/// A child in a worker process of its own, or a process that waits to become one.
///
/// Its exit is known by its process's end alone: a broken link ends the open asks, and the worker may dial again.
final class WorkerHost: ChildHost {
    struct State {
        var spawned: SpawnedProcess?
        /// The spawned process, once the processes above know of it.
        var child: ChildProcess?
        /// The link that is waiting for the process to be known, or in use.
        var peer: Peer?
        var hello: Hello?
        /// The last one that was welcomed, or is being.
        var greeted: Peer?
        /// The worker on the present link has been welcomed.
        var isGreeted = false
        /// What it's there for: none as long as it's a spare.
        var assignment: Assignment?
        /// The life may begin.
        var isStarting = false
        var isStopRequested = false
        var hasEnded = false
        /// What the worker said of its own end.
        var lastWords: ExitReason?
        /// Why the runtime has killed it.
        var verdict: ExitReason?
        /// The processes below the worker, as it has reported them.
        var descendants = ReportedProcesses()
        var linkTimer: Timers.Timer?
        /// The reasons that the child is paused for, and what it was provided with.
        var inheritance: ChildInheritance
        /// How the worker has been told to stop, and when that takes too long.
        var stop: Stop?
        var stopDeadline: MonotonicTime?
        var stopTimer: Timers.Timer?
        /// Settled when there is a link in use again, or never will be.
        var nextLink: Ending<Void>?
        /// Whether the worker describes itself when it's asked to.
        var description = SelfDescription.expected
        /// Who is told when somebody begins to look at the tree.
        var tapSwitch: UInt64?
        /// When its life has lasted long enough.
        var ageTimer: Timers.Timer?
        /// How many messages it was sent.
        var messages = 0
        var isRecycling = false
        /// Why it's to be replaced as soon as it's not paused any more.
        var dueCause: String?
        /// When the worker last gave a sign of life.
        var lastSign = MonotonicTime.distantFuture
    }

    /// The life that a worker is to live.
    struct Assignment: Sendable {
        let definition: CoordinatorDefinition
        let incarnation: Incarnation
        let startTimeout: Duration
        let events: HostEvents
    }

    /// How long a worker that lives may be without a link.
    static let linkGrace = Duration.seconds(10)
    /// Marks the answer to the start frame.
    static let startCorrelation: UInt64 = 1

    let path: CoordinatorPath
    let runtime: RuntimeCore
    let state: Mutex<State>
    let readiness = Ending<Result<Void, any Error>>()
    /// Settled when nothing is left of the process and its descendants.
    let gone = Ending<Void>()
    private let parent: Node
    private let program: WorkerProgram
    let plan: WorkerPlan
    /// Settled when a start that waits for its turn has to wait no more.
    let turn = Ending<Void>()
    let secret = Secret.make()
    let tasks = OwnedTasks()

    init(_ program: WorkerProgram, _ plan: WorkerPlan, path: CoordinatorPath, parent: Node) {
        state = Mutex(State(inheritance: ChildInheritance()))
        self.program = program
        self.plan = plan
        self.path = path
        self.parent = parent
        self.runtime = parent.runtime
    }

    var process: ProcessIdentity? { state.withLock { $0.child?.identity } }

    /// Who hears of the life: nobody as long as there is none.
    var events: HostEvents { state.withLock { $0.assignment?.events } ?? HostEvents(owner: nil, life: Life(key: "", incarnation: 0)) }

    /// Tells it what life to live; once, before the start.
    func assign(_ assignment: Assignment, _ inheritance: ChildInheritance) {
        state.withLock { state in
            state.assignment = assignment
            state.inheritance = inheritance
        }
    }

    // MARK: Starting

    func start() async throws {
        guard let assignment = state.withLock({ $0.assignment }) else { return }
        let timer = Timers.shared.schedule(at: .now + assignment.startTimeout) { [weak self] in
            guard let self else { return }
            condemn(.startTimedOut, CoordinatorError(.startTimedOut, "\(path) was not ready within \(assignment.startTimeout)"))
        }
        defer { Timers.shared.cancel(timer) }
        do {
            let (isSpare, isRestart) = state.withLock { ($0.spawned != nil, $0.inheritance.isRestart) }
            if isRestart, !isSpare { await runtime.restartTokens.wait(orUntil: turn) }
            let (peer, isStopRequested) = state.withLock { state in
                state.isStarting = true
                return (state.isGreeted ? state.peer : nil, state.isStopRequested)
            }
            if isStopRequested { throw CoordinatorError.hasStopped(path) }
            if isSpare { peer.map { begin(on: $0) } } else { try await launch() }
            try await readiness.value.get()
        } catch {
            await endStart()
            throw error
        }
    }

    /// Waits until nothing is left of a life that has not begun.
    private func endStart() async {
        let (child, isStopping) = state.withLock { ($0.spawned?.process, $0.isStopRequested && $0.child != nil) }
        // One that is told to stop has its own time for that; until then it may have to dial again.
        if !isStopping { runtime.hub.forget(secret) }
        guard let child else { return }
        // A worker whose start hook threw says so, and ends by itself.
        if !isStopping, await !Deadline.within(.seconds(1), { _ = await child.waitForExit() }) { try? child.sendToGroup(.kill) }
        await gone.value
    }

    /// Spawns the process, which dials, is welcomed, and waits for its life.
    func launch() async throws {
        let (spawned, ticket, pipe) = try await spawn()
        // Before its end can be told: whoever hears of that looks here for the process.
        state.withLock { $0.spawned = spawned }
        spawned.process.onExit { [self] status in
            tasks.add { await self.processEnded(status) }
        }
        give(ticket, through: pipe, to: spawned.process)
        try await runtime.processBegan(spawned.family)
        let mustEnd = state.withLock { state in
            state.child = spawned.process
            return state.isStopRequested || state.verdict != nil
        }
        if mustEnd { try? spawned.process.sendToGroup(.kill) } else { greet() }
    }

    private func spawn() async throws(CoordinatorError) -> (SpawnedProcess, Ticket, TicketPipe) {
        let address = try runtime.hub.expect(secret) { [weak self] link, hello in
            guard let self else { throw LinkError(.handshake, "the worker's host is gone") }
            return try attach(link, hello)
        }
        let grace = runtime.orphanGrace
        let ticket = Ticket(
            address: address,
            secret: secret,
            path: path.description,
            incarnation: state.withLock { $0.assignment?.incarnation ?? Ticket.spareIncarnation },
            parentProcessID: getpid(),
            isStrict: grace == .zero,
            orphanGraceMilliseconds: grace.millisecondsClamped
        )
        let (spawned, pipe) = try await runtime.spawner.spawn(program, plan, path: path, isStrict: ticket.isStrict)
        return (spawned, ticket, pipe)
    }

    /// Gives the worker its ticket.
    ///
    /// Why one that has ended can't take it, its exit says; one that lives and has closed its end would never be heard of.
    private func give(_ ticket: Ticket, through pipe: TicketPipe, to child: ChildProcess) {
        do {
            try pipe.give(ticket)
        } catch {
            tasks.add { [self] in
                if await Deadline.within(.seconds(1), { _ = await child.waitForExit() }) { return }
                let message =
                    "\(path): descriptor \(WorkerEnvironment.ticketDescriptor) was closed before the ticket was read: \(error.message)"
                condemn(.startFailed(message), CoordinatorError(.startFailed, message))
            }
        }
    }

    /// Welcomes the worker once both its link and its process are known.
    private func greet() {
        let (peer, hello) = state.withLock { state -> (Peer?, Hello?) in
            // The process and its link become known on two threads: one of them greets.
            guard state.child != nil, let peer = state.peer, state.greeted !== peer else { return (nil, nil) }
            state.greeted = peer
            return (peer, state.hello)
        }
        guard let peer, let hello else { return }
        if let refusal = refusal(of: hello) {
            runtime.logger.error("a worker was refused", metadata: ["coordinator.path": "\(path)", "reason": "\(refusal)"])
            peer.send(Frame(.goodbye(refusal)))
            return condemn(.startFailed(refusal), CoordinatorError(.startFailed, refusal))
        }
        peer.send(
            Frame(
                .welcome(
                    Welcome(
                        buildID: runtime.upwardBuildID,
                        maximumFrameSize: UInt32(FrameLimits.default.maximumFrameSize),
                        heartbeatMilliseconds: Self.heartbeat.millisecondsClamped
                    )
                )
            )
        )
        peer.announceCredit()
        let mustBegin = state.withLock { state in
            // It may have dialled again meanwhile.
            guard state.peer === peer else { return false }
            state.isGreeted = true
            return state.isStarting
        }
        heardFrom()
        settleNextLink()
        if mustBegin { begin(on: peer) }
    }

    /// Tells the worker what life to live, and on every later link what lasts.
    private func begin(on peer: Peer) {
        guard let assignment = state.withLock({ $0.assignment }) else { return }
        // What lasts is said on every link, in case the former has broken before it was heard.
        introduce(to: peer)
        if readiness.outcome != nil { return events.reachable() }
        // It may not have heard it on a former link; the second time it means nothing.
        do {
            let (codec, configuration, isComplete) = try assignment.definition.configuration.encoded(as: peer.codec)
            let start = Start(
                path: path.description,
                type: assignment.definition.typeName,
                startTimeoutMilliseconds: assignment.startTimeout.millisecondsClamped,
                configuration: configuration
            )
            let error = peer.send(
                Frame(
                    .start(start),
                    correlation: Self.startCorrelation,
                    codec: codec,
                    flags: isComplete ? .complete : [],
                    incarnation: assignment.incarnation
                )
            )
            if let error, error.code == .frameTooLarge { throw CoordinatorError(.messageTooLarge, "the configuration: \(error.message)") }
        } catch {
            condemn(.startFailed("\(error)"), error)
        }
    }

    /// The peer must run as us, and be of the session that was spawned: launchers fork.
    private func strangeness(of link: Link) -> String? {
        guard let child = state.withLock({ $0.spawned?.process }), let credentials = link.peer else {
            return "the peer's identity is unknown"
        }
        guard credentials.userID == geteuid() else {
            return "the peer runs as user \(credentials.userID), not \(geteuid())"
        }
        let session = getsid(credentials.processID)
        guard session >= 0 else { return "the peer \(credentials.processID) has ended" }
        guard session == child.identity.processID else {
            return "the peer \(credentials.processID) isn't of the session of \(child.identity.processID), which was spawned"
        }
        return nil
    }

    private func refusal(of hello: Hello) -> String? {
        guard hello.minimumVersion <= Frame.version, hello.maximumVersion >= Frame.version else {
            return "the worker speaks versions \(hello.minimumVersion) to \(hello.maximumVersion), and the parent \(Frame.version)"
        }
        guard hello.maximumFrameSize >= FrameLimits.smallestFrameSize else {
            return "the worker takes frames of \(hello.maximumFrameSize) bytes only, fewer than \(FrameLimits.smallestFrameSize)"
        }
        return nil
    }

    private func attach(_ link: Link, _ hello: Hello) throws -> Link.Handler {
        // First of all: a stranger with a stolen secret mustn't cost the worker its link.
        if let strangeness = strangeness(of: link) {
            runtime.logger.error("a worker was refused", metadata: ["coordinator.path": "\(path)", "reason": "\(strangeness)"])
            throw LinkError(.handshake, strangeness)
        }
        let peer = Peer(
            link,
            codec: hello.buildID == BuildID.current ? .compact : .json,
            name: path.description,
            // A worker in another language may never do so.
            announcesCredit: !hello.buildID.isEmpty,
            counts: runtime.counts,
            owner: Peer.Owner(
                messageReceived: { [parent] envelope, target, _ in
                    if let path = CoordinatorPath(target) { parent.route(envelope, to: path) } else { parent.climb(envelope) }
                },
                inspected: { [weak self] operation, _, payload in
                    try await self?.answer(operation, payload) ?? .null
                },
                notified: { [weak self] name, codec, payload in self?.notified(name, codec, payload) },
                frameReceived: { [weak self] frame in self?.receive(frame) },
                closed: { [weak self] error in
                    self?.logViolation(error)
                    self?.linkEnded(link, error)
                }
            )
        )
        link.limitFrames(to: Int(hello.maximumFrameSize))
        let (former, timer) = try state.withLock { state throws -> (Peer?, Timers.Timer?) in
            guard !state.hasEnded else { throw LinkError(.handshake, "the worker's process has ended") }
            defer {
                state.peer = peer
                state.hello = hello
                state.isGreeted = false
                state.linkTimer = nil
            }
            return (state.peer, state.linkTimer)
        }
        former?.close()
        if let timer { Timers.shared.cancel(timer) }
        greet()
        return peer.handler
    }

    // MARK: Messages

    func deliver(_ envelope: Envelope, to rest: ArraySlice<Substring>, isDirect: Bool) {
        // On a link that isn't welcomed yet nothing may come before the welcome.
        let peer = state.withLock { $0.isGreeted ? $0.peer : nil }
        // What has not left waits for the link, or for the next life.
        let undelivered: @Sendable () -> Void = { [self] in
            events.undelivered(ChildSlot.Parked(envelope: envelope, rest: rest, isDirect: isDirect))
            lookAgain(after: peer)
        }
        let target = path.appending(rest).description
        guard peer?.forward(envelope, to: target, isDirect: isDirect, undelivered: undelivered) == true else { return undelivered() }
        // Behind the message: the last one of a life is its own.
        if !envelope.isBuiltin { countMessage() }
    }

    func operate(_ operation: Operation, on rest: ArraySlice<Substring>, patience: Patience) async throws -> JSONValue {
        let target = path.appending(rest).description
        if operation.isDescription { return try await describe(operation, target, patience) }
        var former: Peer?
        while let peer = await linkedPeer(within: patience.duration, after: former) {
            do {
                return try await peer.inspect(operation.rawValue, target, patience.payload, timeout: nil)
            } catch let error as CoordinatorError where error.code == .peerLost && error.maybeExecuted == false {
                // The link had just broken: on the next it's sent again.
                former = peer
            }
        }
        throw hasNoLink
    }

    private func answer(_ operation: String, _ payload: JSONValue) async throws -> JSONValue {
        if let request = DismissalRequest(operation, payload) {
            return .bool(await events.dismissalRequested(request.timeout))
        }
        guard let report = ProcessReport(operation, payload), report.family.leader.processID > 1,
            report.family.leader.processID != getpid()
        else {
            throw CoordinatorError(.unsupported, "a parent doesn't know '\(operation)'")
        }
        // Noted down here first: whoever learns of it further up can rely on those in between.
        guard state.withLock({ $0.descendants.take(report) }) else {
            throw CoordinatorError(.tooManyOpenAsks, "\(path) has told of more processes than there can be")
        }
        if report.lives { try await runtime.processBegan(report.family) } else { await runtime.processEnded(report.family) }
        return .null
    }

    private func receive(_ frame: Frame) {
        switch frame.content {
        case .ready:
            // Told anew on every link; the first counts.
            if readiness.settle(.success(())) {
                beginHeartbeat()
                beginAging()
                checkDescription()
            }
        case .pong:
            heardFrom()
        case .reply(.failure(let failure)) where frame.correlation == Self.startCorrelation:
            readiness.settle(.failure(Failures.restored(Failures.decode(failure, codec: frame.codec))))
        case .finish(let bytes):
            events.finished(.encoded(frame.codec, bytes))
        case .exited(let exited):
            events.unreachable()
            let reason = ExitReason(exited.reason)
            let peer = state.withLock { state in
                state.lastWords = reason
                return state.peer
            }
            peer?.bidFarewell(reason)
            peer?.send(Frame(.goodbye("")))
        default:
            runtime.logger.debug("a frame was ignored", metadata: ["coordinator.path": "\(path)"])
        }
    }
}

extension CoordinatorPath {
    func appending(_ keys: ArraySlice<Substring>) -> CoordinatorPath {
        keys.reduce(self) { $0.appending(String($1)) }
    }
}
