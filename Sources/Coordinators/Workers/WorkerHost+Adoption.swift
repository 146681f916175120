import ConcurrencySupport
import Links
import Logging
import Processes
import WireProtocol
import WorkerLifecycle

/// The adoption of a worker that a killed root has left, and what makes a worker adoptable.
extension WorkerHost {
    /// Adopts the worker that the life goes on with, if there is one.
    ///
    /// - Returns: False when there is none, or it has ended meanwhile: then nothing is left of it.
    func adoptOrphan() async -> Bool {
        guard let orphan = state.withLock({ $0.orphan.take() }) else { return false }
        do {
            let fifo = try orphan.record.output.map { try runtime.directory.file($0) }
            let process = try await runtime.spawner.adopt(
                orphan.family.leader,
                path: path,
                incarnation: orphan.record.incarnation,
                fifo: fifo
            )
            take(process, orphan)
            return true
        } catch {
            await runtime.end(orphan, because: "it can't be adopted: \(error)")
            state.withLock { $0.secret = Secret.make() }
            return false
        }
    }

    private func take(_ process: ChildProcess, _ orphan: OrphanedWorkers.Orphan) {
        runtime.logger.notice(
            "a worker of a former runtime is adopted",
            metadata: [
                "coordinator.path": "\(path)", "worker.pid": "\(process.identity.processID)",
                "incarnation": "\(orphan.record.incarnation)",
            ]
        )
        handle(.adopted) { state in
            state.process = SpawnedProcess(process: process, family: orphan.family)
            state.record = orphan.record
            state.isAdopted = true
            for family in orphan.below { _ = state.descendants.take(ProcessReport(family, lives: true)) }
        }
        if runtime.lives.areWanted {
            runtime.lives.add(LifeChange(.adopted, of: path, orphan.record.incarnation, process.identity.processID))
        }
        if let limit = plan.memoryLimit { process.limitMemory(to: limit) }
        watch(process)
        // When the runtime has ended meanwhile the worker isn't let in, and is killed with the rest of the tree.
        _ = try? runtime.hub.expect(orphan.secret) { [weak self] link, hello in
            guard let self else { throw LinkError(.handshake, "the worker's host is gone") }
            return try attach(link, hello)
        }
        // From here on the worker's links come to this host; one that has come before is taken over.
        guard let (link, hello) = runtime.adopted(orphan) else { return }
        do {
            try attach(parked: link, hello)
        } catch {
            link.close()
        }
    }

    /// Makes what a worker needs for its adoption by a next root: its record, and the lock of its life.
    ///
    /// - Returns: `nil` for a worker that won't be adopted.
    /// - Throws: An error when a process lives at the path already.
    func makeKeepsake(_ secret: [UInt8]) async throws(CoordinatorError) -> (record: AdoptableWorker, lock: LifeLock)? {
        guard runtime.isAdoptable, let assignment = state.withLock({ $0.assignment }),
            let fingerprint = runtime.fingerprint(of: assignment.definition), let lock = try await runtime.lockLife(at: path)
        else { return nil }
        let incarnation = assignment.events.life.incarnation
        let record = AdoptableWorker(
            path: path.description,
            incarnation: incarnation,
            secret: AdoptableWorker.digits(of: secret),
            fingerprint: fingerprint,
            output: runtime.spawner.output.isCaptured ? RuntimeFiles.outputName(of: path.description, incarnation) : nil
        )
        return (record, lock)
    }
}
