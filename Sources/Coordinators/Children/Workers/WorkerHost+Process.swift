import ConcurrencySupport
import Glibc
import Links
import Logging
import Processes
import WireProtocol
import WorkerLifecycle

/// The worker's process, from its spawn to the end of all its descendants.
extension WorkerHost {
    /// The time for which frames of a process are still read after its end.
    private static let readingTime = Duration.seconds(1)
    /// The time within which a process begins as a rule.
    private static let usualSpawn = Duration.seconds(1)

    func takeTurn() {
        tasks.add { [self] in
            await runtime.processes.restartTokens.wait(orUntil: gone)
            handle(.turnCame)
        }
    }

    func spawn() async {
        if await adoptOrphan() { return }
        let pending = PendingValue(in: tasks) {
            try await self.makeProcess()
        } late: { [self] spawned, _, _ in
            _ = await spawned.process.terminate(grace: .zero)
            await runtime.end([spawned.family])
        }
        let isUnwanted = state.withLock { state in
            state.spawning = pending
            return state.isUnwanted
        }
        tasks.add { [self] in await tellWhileSpawning(pending) }
        if isUnwanted { giveUpSpawn() }
        do {
            let (spawned, ticket, pipe) = try await pending.value
            // Before the ticket, so that every worker that could be adopted is known to a next root.
            if let record = state.withLock({ $0.adoptionRecord?.record }) {
                runtime.processes.journal?.began(.init(family: spawned.family, record: record))
            }
            handle(.spawned) { $0.process = spawned }
            watch(spawned.process)
            give(ticket, through: pipe)
        } catch {
            runtime.links.hub.forget(secret)
            removeFiles()
            handle(.spawnFailed(error))
            launch.settle(.failure(error))
        }
    }

    /// Gives the spawn up if it doesn't end in a moment, because the process isn't wanted: a file system may delay it for any time.
    func giveUpSpawn() {
        guard let spawning = state.withLock({ $0.spawning }) else { return }
        tasks.add { [self] in await spawning.giveUp(CoordinatorError.hasStopped(path), after: Self.usualSpawn) }
    }

    /// Shows and logs that the spawn takes its time, as long as it does.
    private func tellWhileSpawning<Made>(_ pending: PendingValue<Made>) async {
        let since = DateTime.now
        if await pending.isSettled(within: Self.usualSpawn) { return }
        state.withLock { $0.hangsSince = since }
        runtime.observation.logger.warning(
            "the start of a worker hangs: a file system doesn't answer",
            metadata: ["coordinator.path": "\(path)"]
        )
        _ = try? await pending.value
        state.withLock { $0.hangsSince = nil }
    }

    var condition: CoordinatorSnapshot.Condition {
        let since = state.withLock { $0.hangsSince }
        return CoordinatorSnapshot.Condition(status: since.map { "the start hangs since \($0): a file system doesn't answer" })
    }

    func watch(_ process: ChildProcess) {
        process.onExit { [self] status in
            // This runs on the process thread, which must not wait.
            tasks.add { [self] in
                let entry = state.withLock { $0.process?.family.entry }
                // Before the group goes, which alone tells who has killed the worker.
                let hasRunOutOfMemory = status.isKill && entry.map { ControlGroup.outOfMemoryKills(in: $0) > 0 } == true
                handle(.exited(hasRunOutOfMemory ? .outOfMemory : ExitReason(status)))
            }
        }
    }

    private func makeProcess() async throws(CoordinatorError) -> (SpawnedProcess, Ticket, TicketPipe) {
        // Its process has the lock that the next one needs.
        do throws(ProcessError) {
            try await runtime.processes.spawner.spawner.awaitHangingStart(of: WorkerSpawner.subject(path))
        } catch {
            throw CoordinatorError(.spawnFailed, "\(path): \(error.message)")
        }
        let user = try await WorkerSpawner.user(of: program, path)
        let address = try runtime.links.hub.expect(secret, from: user) { [weak self] link, hello in
            guard let self else { throw LinkError(.handshake, "the worker's host is gone") }
            return try attach(link, hello)
        }
        // The next owner of a cluster's subtree doesn't wait for this one's workers.
        let grace = program.fence == nil ? runtime.orphanGrace : .zero
        let ticket = Ticket(
            address: address,
            secret: secret,
            path: path.description,
            incarnation: state.withLock { $0.assignment?.events.life.incarnation ?? Ticket.spareIncarnation },
            parentProcessID: getpid(),
            isStrict: grace == .zero,
            orphanGraceMilliseconds: grace.millisecondsClamped,
            epoch: runtime.epoch
        )
        let made = try await makeAdoptionRecord(secret, user)
        state.withLock { $0.adoptionRecord = made?.record }
        let (spawned, pipe) = try await runtime.processes.spawner.spawn(
            program,
            plan,
            path: path,
            incarnation: state.withLock { $0.assignment?.events.life.incarnation } ?? 0,
            isStrict: ticket.isStrict,
            lock: made?.lock,
            fifo: made?.record.output.flatMap { try? runtime.processes.directory.file($0) }
        )
        return (spawned, ticket, pipe)
    }

    private func give(_ ticket: Ticket, through pipe: TicketPipe) {
        do throws(CoordinatorError) {
            try pipe.give(ticket)
        } catch {
            let descriptor = WorkerEnvironment.ticketDescriptor
            handle(.ticketRefused("\(path): descriptor \(descriptor) was closed before the ticket was read: \(error.message)"))
        }
    }

    func announce() async {
        guard let family = state.withLock({ $0.process?.family }) else { return }
        do {
            try await runtime.processBegan(family)
            handle(.announced)
            launch.settle(.success(()))
        } catch {
            handle(.announcementFailed(error))
            launch.settle(.failure(error))
        }
    }

    /// Reads the frames that the process has sent, ends its descendants, and forgets it.
    func cleanUp(_ link: UInt64?) async {
        let (isAdopted, family, peer) = state.withLock { state in
            (state.origin.isAdopted, state.process?.family, link.flatMap { state.links.attached[$0]?.peer })
        }
        removeFiles()
        if let family { runtime.processes.directory.removeSockets(of: family.leader.processID) }
        // The frames are read by nng's threads meanwhile.
        await runtime.end([family].compactMap(\.self))
        await peer?.readToEnd(within: Self.readingTime)
        peer?.close()
        settleNextLink()
        // The processes that it reported in its last moment are included.
        let descendants = state.withLock { $0.descendants.families }
        if !descendants.isEmpty { await runtime.end(descendants) }
        if isAdopted, let family { await runtime.endLeftoverProcesses(of: family) }
        for family in descendants { runtime.processes.directory.removeSockets(of: family.leader.processID) }
        for family in descendants + [family].compactMap(\.self) { await runtime.processEnded(family) }
        handle(.cleanedUp)
    }
}

extension WorkerHost {
    /// The state of the worker's descriptions of itself.
    struct Description: Sendable {
        /// Whether the worker has left the last request for its own description unanswered; false before the first one.
        var isMissing = false
        /// The signal that there is a link in use again, or never will be.
        var nextLink: OneShot<Void>?
    }

    /// The time after which a worker that doesn't respond is suspected to hang.
    private var suspectAfter: Duration { min(.seconds(3), runtime.options.heartbeatTimeout * 3 / 10) }
    /// The time for which the description of a suspected worker is awaited.
    private static let glance = Duration.milliseconds(200)

    var hasNoLink: CoordinatorError {
        CoordinatorError(.peerLost, "\(path) has no link at the moment", maybeExecuted: false)
    }

    /// Returns the link in use, after waiting for it while it's being made or replaced.
    ///
    /// - Parameter former: A link that has broken, which the machine may not know yet.
    func linkedPeer(within duration: Duration, after former: Peer? = nil) async -> Peer? {
        let deadline = MonotonicTime.now + duration
        while true {
            let (peer, next) = state.withLock { state -> (Peer?, OneShot<Void>?) in
                if let peer = state.linkedPeer, peer !== former { return (peer, nil) }
                if state.machine.hasEnded { return (nil, nil) }
                let next = state.description.nextLink ?? OneShot()
                state.description.nextLink = next
                return (nil, next)
            }
            guard let next else { return peer }
            guard await next.value(before: deadline) != nil else { return nil }
        }
    }

    /// Resumes the callers that wait for a link, when there is one in use or there never will be.
    func settleNextLink() {
        let next = state.withLock { state in
            defer { state.description.nextLink = nil }
            return state.description.nextLink
        }
        next?.settle(())
    }

    /// Has the worker describe the coordinator at a path or those below it.
    ///
    /// A worker that has left its last request unanswered, or that gives no sign of life, is given only a short time; after its next answer
    /// it's trusted again.
    func describe(_ operation: Operation, _ target: String, _ budget: TimeoutBudget) async throws -> JSONValue {
        let deadline = MonotonicTime.now + budget.duration
        var former: Peer?
        while let peer = await linkedPeer(within: isDoubtful ? Self.glance : deadline - .now, after: former) {
            let answer = OneShot<Result<JSONValue, any Error>>()
            ask(peer, operation, target, budget, answer)
            guard let result = await self.answer(answer, before: deadline) else {
                throw CoordinatorError(.timedOut, "\(path) says nothing about itself")
            }
            do {
                return try result.get()
            } catch let error as CoordinatorError where error.code == .peerLost {
                // The request is sent again on the next link.
                former = peer
            }
        }
        throw hasNoLink
    }

    private func answer(_ answer: OneShot<Result<JSONValue, any Error>>, before deadline: MonotonicTime) async -> Result<
        JSONValue, any Error
    >? {
        while MonotonicTime.now < deadline {
            if let result = await answer.value(before: min(deadline, .now + Self.glance)) { return result }
            // A stopped process can't answer; it isn't suspected before some heartbeats are missing.
            if isDoubtful || process?.isStopped == true { break }
        }
        return nil
    }

    /// Asks a worker of another build once for its description, so that a snapshot needn't wait for one that never answers.
    func checkDescription() {
        let attachment = state.withLock { state in state.machine.link.flatMap { state.links.attached[$0] } }
        guard let attachment, attachment.hello.buildID != BuildID.current else { return }
        ask(attachment.peer, .inspect, path.description, .initial, OneShot())
    }

    /// Whether the worker is shown as unresponsive unless it describes itself within a moment.
    var isDoubtful: Bool {
        let (isMissing, lastSign) = state.withLock { ($0.description.isMissing, $0.machine.lastSign) }
        // A silent executor describes nothing either.
        return isMissing || executorSilence != nil || lastSign.map { MonotonicTime.now.sinceOrigin - $0 > suspectAfter } ?? false
    }

    var waitingPlace: CoordinatorSnapshot.WaitingPlace? {
        let peer = state.withLock { $0.linkedPeer }
        return CoordinatorSnapshot.WaitingPlace(.credit, peer?.messagesWithoutRoom ?? [])
    }

    var executorSilence: Duration? {
        let silence = state.withLock { $0.machine.executorSilence(now: MonotonicTime.now.sinceOrigin) }
        return silence.flatMap { $0 >= suspectAfter ? $0 : nil }
    }

    private func ask(
        _ peer: Peer,
        _ operation: Operation,
        _ target: String,
        _ budget: TimeoutBudget,
        _ answer: OneShot<Result<JSONValue, any Error>>
    ) {
        tasks.add { [self] in
            do {
                let description = try await peer.inspect(operation.rawValue, target, budget.payload, timeout: budget.duration)
                handle(.heard) { $0.description.isMissing = false }
                answer.settle(.success(description))
            } catch {
                // Every error but a timeout counts as an answer too.
                let isMissing = (error as? CoordinatorError)?.code == .timedOut && target == path.description
                state.withLock { if $0.linkedPeer === peer { $0.description.isMissing = isMissing } }
                answer.settle(.failure(error))
            }
        }
    }
}
