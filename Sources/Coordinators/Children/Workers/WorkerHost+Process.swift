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
            await runtime.processes.restartTokens.wait(orUntil: turn)
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
        spawning.settle(pending)
        tasks.add { [self] in await tellWhileSpawning(pending) }
        if state.withLock({ $0.isUnwanted }) { giveUpSpawn() }
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
        guard let spawning = spawning.outcome else { return }
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
