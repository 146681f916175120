import ConcurrencySupport
import Glibc
import Links
import Processes
import WireProtocol
import WorkerLifecycle

/// The worker's process, from its spawn to the end of all its descendants.
extension WorkerHost {
    /// The time for which frames of a process are still read after its end.
    private static let readingTime = Duration.seconds(1)

    func takeTurn() {
        tasks.add { [self] in
            await runtime.restartTokens.wait(orUntil: turn)
            handle(.turnCame)
        }
    }

    func spawn() async {
        do throws(CoordinatorError) {
            let (spawned, ticket, pipe) = try await makeProcess()
            handle(.spawned) { $0.process = spawned }
            spawned.process.onExit { [self] status in
                // This runs on the process thread, which must not wait.
                tasks.add { self.handle(.exited(ExitReason(status))) }
            }
            give(ticket, through: pipe)
        } catch {
            runtime.hub.forget(secret)
            handle(.spawnFailed(error))
            launch.settle(.failure(error))
        }
    }

    private func makeProcess() async throws(CoordinatorError) -> (SpawnedProcess, Ticket, TicketPipe) {
        let address = try runtime.hub.expect(secret) { [weak self] link, hello in
            guard let self else { throw LinkError(.handshake, "the worker's host is gone") }
            return try attach(link, hello)
        }
        let grace = runtime.orphanGrace
        let ticket = Ticket(
            address: address,
            secret: secret,
            path: path.description,
            incarnation: state.withLock { $0.assignment?.events.life.incarnation ?? Ticket.spareIncarnation },
            parentProcessID: getpid(),
            isStrict: grace == .zero,
            orphanGraceMilliseconds: grace.millisecondsClamped
        )
        let (spawned, pipe) = try await runtime.spawner.spawn(program, plan, path: path, isStrict: ticket.isStrict)
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
        let peer = link.flatMap { link in state.withLock { $0.links.attached[link]?.peer } }
        await peer?.readToEnd(within: Self.readingTime)
        peer?.close()
        settleNextLink()
        // The processes that it reported in its last moment are included.
        let families = state.withLock { $0.descendants.families + [$0.process?.family].compactMap(\.self) }
        await runtime.end(families)
        for family in families {
            runtime.directory.removeSocket(of: family.leader.processID)
            await runtime.processEnded(family)
        }
        handle(.cleanedUp)
    }
}
