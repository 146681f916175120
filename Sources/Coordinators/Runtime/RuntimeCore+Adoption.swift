import ConcurrencySupport
import Glibc
import Links
import Logging
import Processes
import Supervision
import Synchronization
import WireProtocol
import WorkerLifecycle

/// The adoption of the workers that a killed root has left in the same directory.
extension RuntimeCore {
    /// The time within which an orphan must dial: it tries ten times a second.
    private static let rollCallLimit = Duration.seconds(10)
    /// The time within which what has left an orphan's tree must end.
    private static let strayLimit = Duration.seconds(20)

    /// Whether the workers of this process may be adopted by the next root in the directory.
    var isAdoptable: Bool { orphanGrace > .zero && processes.directory.given != nil }

    /// The number of this root's life among those in the directory; 0: its workers can't be adopted.
    var epoch: UInt32 { handover.epochNumber.load(ordering: .relaxed) }

    /// Whether something is known of paths that haven't been started.
    var hasOrphans: Bool { handover.orphansAreLeft.load(ordering: .acquiring) }

    /// Returns the last living workers of former roots, takes note of their plain programs, and begins a new epoch.
    ///
    /// From here on the journal names them as this root's: should it be killed, the next one finds them there.
    ///
    /// - Returns: Also whether the former journals aren't needed any more.
    func inherit(_ former: [ProcessJournal.Content]) -> (orphans: OrphanedWorkers?, isComplete: Bool) {
        let entries = former.flatMap(\.entries)
        let programs = entries.filter { $0.program != nil }
        let orphans = isAdoptable ? OrphanedWorkers(entries) : nil
        guard isAdoptable || !programs.isEmpty else { return (nil, true) }
        let known = pendingHandover?.leaders ?? []
        inherit(programs.compactMap(\.program))
        takeSockets(of: programs.filter { !known.contains($0.family.leader) }.compactMap(\.program))
        let epoch = isAdoptable ? (former.map(\.header.epoch).max() ?? 0) + 1 : 0
        handover.epochNumber.store(epoch, ordering: .relaxed)
        let carried = (orphans?.carried ?? []) + programs
        let isComplete = processes.journal?.succeed(epoch, carrying: carried) ?? false
        return (orphans, isComplete || carried.isEmpty)
    }

    /// Waits until each orphan has dialled; one that doesn't is ended.
    func awaitOrphans(of orphans: OrphanedWorkers) async {
        if orphans.isEmpty { return }
        self.handover.orphans.withLock { $0 = orphans }
        handover.orphansAreLeft.store(true, ordering: .releasing)
        await withDiscardingTaskGroup { group in
            for orphan in orphans.all {
                do throws(CoordinatorError) {
                    _ = try links.hub.expect(orphan.secret, from: orphan.user) { [weak self, weak orphans] link, hello in
                        guard let self, let orphans else { throw LinkError(.handshake, "the runtime is gone") }
                        if let refusal = refusal(of: link, from: orphan) {
                            logRefusal(of: orphan.record.path, refusal)
                            throw LinkError(.handshake, refusal)
                        }
                        return orphans.park(link, hello, of: orphan)
                    }
                } catch {
                    observation.logger.error("workers of a former runtime can't dial", metadata: ["error": "\(error)"])
                }
                group.addTask { await orphans.waitForAnswer(of: orphan, atMost: Self.rollCallLimit) }
            }
        }
        await end(orphans.endRollCall(), because: "it has ended, or hasn't dialled within \(Self.rollCallLimit)")
    }

    private func refusal(of link: Link, from orphan: OrphanedWorkers.Orphan) -> String? {
        link.reasonToRefuse(in: orphan.family.leader, of: orphan.user) ?? refusal(ofEpochSeenBy: link)
    }

    /// Logs that a link wasn't taken that has shown a worker's secret.
    func logRefusal(of path: String, _ reason: String) {
        // The peer needn't be the worker: its own violations are told of all the same.
        observation.violations.report(by: "a peer of \(path)") { [logger = observation.logger] others in
            let metadata: Logger.Metadata = ["coordinator.path": "\(path)", "reason": "\(reason)"]
            logger.error("a worker was refused", metadata: metadata.counting(others))
        }
    }

    /// Returns the reason to refuse a worker that has seen a later parent; `nil` when it has seen none.
    func refusal(ofEpochSeenBy link: Link) -> String? {
        guard link.helloEpoch > epoch else { return nil }
        return "the worker knows a later parent, of epoch \(link.helloEpoch), than this one, of epoch \(epoch)"
    }

    // MARK: Starts

    /// Takes note of the first request to start a child.
    ///
    /// - Returns: The incarnation after which the numbering of the path goes on.
    func claimIncarnation(_ definition: ChildDefinition, at path: CoordinatorPath) -> Incarnation {
        let latest = pendingHandover?.claimIncarnation(path) ?? 0
        guard let orphans = handover.orphans.withLock({ $0 }) else { return latest }
        let place: AdoptionMachine.Place =
            switch definition.kind {
            case .program: .program
            case .coordinator(let coordinator) where coordinator.isInProcess: .here
            case .coordinator(let coordinator): .worker(fingerprint: fingerprint(of: coordinator))
            }
        let (after, ends) = orphans.claimPlace(path, as: place)
        if !ends.isEmpty { execution.tasks.add { await self.end(ends, because: "something else is started at its path, or above") } }
        // A worker that is adopted keeps its number, which may be the latest.
        return orphans.isPromised(at: path) ? after : max(after, latest)
    }

    /// The fingerprint of a worker that may be adopted, or may adopt; `nil` for others.
    func fingerprint(of definition: CoordinatorDefinition) -> String? {
        guard isAdoptable else { return nil }
        return definition.fingerprint(processes.spawner.defaultExecutable, isCaptured: processes.spawner.output.isCaptured)
    }

    /// Returns the ends that the start of a path has to wait for; `nil` when it needn't wait.
    func takeWait(at path: @autoclosure () -> CoordinatorPath) -> [OneShot<Void>]? {
        hasOrphans ? handover.orphans.withLock { $0 }?.takeWait(at: path()) : nil
    }

    /// Removes and returns the worker that a start adopts.
    func takePromised(at path: CoordinatorPath) -> OrphanedWorkers.Orphan? {
        hasOrphans ? handover.orphans.withLock { $0 }?.takePromised(at: path) : nil
    }

    /// Takes note that a worker was adopted; returns its link, if it has one.
    func adopted(_ orphan: OrphanedWorkers.Orphan) -> (link: Link, hello: Hello)? { handover.orphans.withLock { $0 }?.adopt(orphan) }

    /// Whether a message's sender lives in a worker of a former root, and starts are still to come: a child that isn't there may be one of
    /// those that the sender has known.
    func mayStillStart(for envelope: Envelope) -> Bool {
        guard hasOrphans, let orphans = handover.orphans.withLock({ $0 }) else { return false }
        return orphans.areStartsAwaited && orphans.haveLived(at: envelope.sender)
    }

    /// Calls a function once when all starts were requested, or never when they were already.
    ///
    /// - Parameter caller: The object that the call is for; it gets one, however often it wants it.
    func whenStartsAreComplete(_ caller: AnyObject, _ body: @escaping @Sendable () -> Void) {
        handover.orphans.withLock { $0 }?.whenStartsAreComplete(ObjectIdentifier(caller), body)
    }

    // MARK: Ends

    /// Ends the workers that no start has asked for, once all starts were requested.
    func endOrphans() async {
        await endUnclaimedPrograms()
        guard let orphans = handover.orphans.withLock({ $0 }) else { return }
        await end(orphans.settle(), because: "nothing starts it any more")
        if orphans.isEmpty { handover.orphansAreLeft.store(false, ordering: .releasing) }
    }

    /// Ends the workers that are left when the tree ends.
    func closeOrphans() async {
        guard let orphans = handover.orphans.withLock({ $0 }) else { return }
        await end(orphans.close(), because: "the runtime ends")
    }

    func end(_ orphans: [OrphanedWorkers.Orphan], because reason: String) async {
        await withDiscardingTaskGroup { group in
            for orphan in orphans { group.addTask { await self.end(orphan, because: reason) } }
        }
    }

    /// Ends a worker that isn't adopted, with everything below it, and returns when nothing is left.
    func end(_ orphan: OrphanedWorkers.Orphan, because reason: String) async {
        guard let orphans = handover.orphans.withLock({ $0 }) else { return }
        guard orphans.beginEnd(of: orphan) else { return await orphans.waitForEnd(of: orphan) }
        links.hub.forget(orphan.secret)
        observation.logger.notice(
            "a worker of a former runtime is ended",
            metadata: [
                "coordinator.path": "\(orphan.record.path)", "worker.pid": "\(orphan.family.leader.processID)", "reason": "\(reason)",
            ]
        )
        await end(orphan.families, areRemembered: true)
        await endLeftoverProcesses(of: orphan.family)
        for family in orphan.families {
            processes.directory.removeSockets(of: family.leader.processID)
            processes.journal?.ended(family.leader)
        }
        removeFiles(of: orphan.record)
        orphans.noteEnd(of: orphan)
    }

    /// Removes the files of a worker that has ended.
    func removeFiles(of record: AdoptableWorker) {
        if let output = record.output { processes.directory.removeFile(output) }
        processes.directory.removeFile(record.lockName)
    }

    /// Ends the descendants of an adopted worker that have left its group.
    ///
    /// They aren't orphans of this process, because it hasn't spawned the worker: each process of the machine is examined.
    func endLeftoverProcesses(of family: ProcessFamily) async {
        if family.entry.isEmpty { return }
        for process in await LeftoverProcesses.end(by: .now + Self.strayLimit, where: { $0 == family.entry }) {
            observation.logger.error("a process of a former runtime can't be ended", metadata: ["process": "\(process)"])
        }
    }
}

// MARK: - The locks

extension RuntimeCore {
    /// The time within which the lock of a process that was killed is released.
    private static let releaseLimit = Duration.seconds(2)
    /// The same, where a life that goes on may hold the lock.
    private static let sharedReleaseLimit = Duration.milliseconds(200)

    /// Takes the lock that makes this process the only root in the directory for as long as it lives.
    func lockDirectory() async throws {
        let path = try processes.directory.file(RuntimeFiles.rootLock)
        guard let lock = try await lock(path) else {
            throw CoordinatorError(
                .startFailed,
                "another runtime lives in \(processes.directory.given ?? ""), and holds the lock \(path); end it first, or name another directory"
            )
        }
        handover.rootLock.withLock { $0 = lock }
    }

    func unlockDirectory() {
        handover.rootLock.withLock { lock in
            lock?.removeFile()
            lock = nil
        }
    }

    /// Takes the lock that a worker holds for its life, so that its path never lives twice.
    ///
    /// - Parameter mayBeTaken: Whether another life of the path may hold the lock, because the path's lives may overlap.
    /// - Returns: `nil` when the file can't be locked at all, such as on a full disk, or another life may hold the lock and does: the worker then
    ///   isn't adopted.
    func lockLife(at path: CoordinatorPath, mayBeTaken: Bool) async throws(CoordinatorError) -> IncarnationLock? {
        do {
            let file = try processes.directory.file(RuntimeFiles.lockName(of: path.description))
            if let lock = try await lock(file, within: mayBeTaken ? Self.sharedReleaseLimit : Self.releaseLimit) { return lock }
            if mayBeTaken { return nil }
            throw CoordinatorError(.spawnFailed, "a process lives at \(path) already, unknown to this runtime: it holds the lock \(file)")
        } catch let error as CoordinatorError {
            throw error
        } catch {
            // On a full disk it's so at each start of a worker.
            observation.violations.report(by: "locks of workers") { [logger = observation.logger] others in
                let metadata: Logger.Metadata = ["coordinator.path": "\(path)", "error": "\(error)"]
                logger.warning("a worker can't be locked, and isn't adopted", metadata: metadata.counting(others))
            }
            return nil
        }
    }

    private func lock(_ path: String, within limit: Duration = releaseLimit) async throws -> IncarnationLock? {
        var deadline = PatientDeadline(limit)
        while true {
            if let lock = try IncarnationLock(path) { return lock }
            if deadline.look() { return nil }
            try await Task.sleep(for: .milliseconds(20))
        }
    }
}
