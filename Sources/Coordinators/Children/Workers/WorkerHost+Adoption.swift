import ConcurrencySupport
import Glibc
import Links
import Logging
import Processes
import WireProtocol
import WorkerLifecycle

/// The adoption of a worker that a killed root has left, and what makes a worker adoptable.
extension WorkerHost {
    /// The root that the process is from.
    enum Origin {
        /// This one, which has spawned it or is about to.
        case here
        /// A killed one, which has left it to be adopted or ended.
        case orphan(OrphanedWorkers.Orphan)
        /// A killed one; this one has adopted it.
        case adopted

        var isAdopted: Bool { if case .adopted = self { true } else { false } }
    }

    /// Takes the worker that a killed root has left, to adopt it or to end it.
    func takeOrphan() -> OrphanedWorkers.Orphan? {
        state.withLock { state in
            guard case .orphan(let orphan) = state.origin else { return nil }
            state.origin = .here
            return orphan
        }
    }

    /// Adopts the worker that the life goes on with, if there is one.
    ///
    /// - Returns: False when there is none, or it has ended meanwhile: then nothing is left of it.
    func adoptOrphan() async -> Bool {
        guard let orphan = takeOrphan() else { return false }
        do {
            let fifo = try orphan.record.output.map { try runtime.processes.directory.file($0) }
            let process = try await runtime.processes.spawner.adopt(
                orphan.family.leader,
                of: orphan.user,
                path: path,
                incarnation: orphan.record.incarnation,
                fifo: fifo
            )
            takeOver(process, orphan)
            // One that has begun beside a former life, whose end this start has waited for.
            if orphan.record.lock != nil { try? await becomeAdoptable() }
            return true
        } catch {
            await runtime.end(orphan, because: "it can't be adopted: \(error)")
            state.withLock { $0.secret = Secret.make() }
            return false
        }
    }

    private func takeOver(_ process: ChildProcess, _ orphan: OrphanedWorkers.Orphan) {
        runtime.observation.logger.notice(
            "a worker of a former runtime is adopted",
            metadata: [
                "coordinator.path": "\(path)", "worker.pid": "\(process.identity.processID)",
                "incarnation": "\(orphan.record.incarnation)",
            ]
        )
        handle(.adopted) { state in
            state.process = SpawnedProcess(process: process, family: orphan.family)
            state.adoptionRecord = .life(orphan.record)
            state.origin = .adopted
            // One that has begun beside a former life may have taken its place at any time before this start, which is noted.
            if orphan.record.lock == nil { state.takePlace(at: orphan.record.placeTime) }
            for family in orphan.below { _ = state.descendants.merge(ProcessReport(family, lives: true)) }
        }
        if runtime.observation.lives.areWanted {
            runtime.observation.lives.add(LifecycleRecord(.adopted, of: path, orphan.record.incarnation, process.identity.processID))
        }
        if let limit = plan.dataLimit { process.limitData(to: limit) }
        watch(process)
        // When the runtime has ended meanwhile the worker isn't let in, and is killed with the rest of the tree.
        _ = try? runtime.links.hub.expect(orphan.secret, from: orphan.user) { [weak self] link, hello in
            guard let self else { throw LinkError(.handshake, "the worker's host is gone") }
            return try attach(link, hello)
        }
        // From here on the worker's links come to this host; one that has come before is taken over.
        guard let (link, hello) = runtime.adopted(orphan) else { return }
        do {
            try attach(link, hello)
        } catch {
            link.close()
        }
    }

    /// The data by which a next root adopts a process.
    enum AdoptionRecord {
        /// The record of a process that has its life.
        case life(AdoptableWorker)
        /// The files of a process that waits for its life.
        case spare(SpareFiles)

        var record: AdoptableWorker? { if case .life(let record) = self { record } else { nil } }
        var spareFiles: SpareFiles? { if case .spare(let files) = self { files } else { nil } }
        var output: String? { record?.output ?? spareFiles?.output }
    }

    /// The names of the files of a process that waits for a life.
    struct SpareFiles {
        /// The lock that the process holds; it becomes the path's lock when the process gets the life.
        let lock: String
        /// The FIFO that the process writes its output to; `nil`: the output isn't captured.
        let output: String?
    }

    /// Makes what a worker needs for its adoption by a next root: its record, and the lock of its life; for a process that waits for a life, a
    /// lock of its own.
    ///
    /// The worker gets both its lock and its output as descriptors: the files are this user's alone, also when the worker is another's.
    ///
    /// - Parameter user: The user as whom the worker runs.
    /// - Returns: `nil` for a worker that won't be adopted.
    /// - Throws: An error when a process lives at the path already.
    func makeAdoptionRecord(_ secret: [UInt8], _ user: UInt32) async throws(CoordinatorError) -> (
        lock: IncarnationLock, record: AdoptionRecord
    )? {
        guard runtime.isAdoptable, program.fence == nil else { return nil }
        guard let assignment = state.withLock({ $0.assignment }) else { return makeSpareAdoptionRecord() }
        guard let fingerprint = runtime.fingerprint(of: assignment.definition),
            let lock = try await runtime.lockLife(at: path, mayBeTaken: plan.overlaps)
        else { return nil }
        let output = RuntimeFiles.outputName(of: path.description, assignment.events.life.incarnation)
        return (lock, .life(makeRecord(assignment, fingerprint, secret, user, output: isCaptured ? output : nil)))
    }

    /// Makes what a process without a life needs; `nil` where there is no lock.
    private func makeSpareAdoptionRecord() -> (lock: IncarnationLock, record: AdoptionRecord)? {
        let names = RuntimeFiles.spareNames(of: path.description)
        guard let file = try? runtime.processes.directory.file(names.lock), let lock = try? IncarnationLock(file) else { return nil }
        return (lock, .spare(SpareFiles(lock: names.lock, output: isCaptured ? names.output : nil)))
    }

    /// Makes a process adoptable that has waited for its life, before it's told of the life: the lock that it holds becomes the path's, and the
    /// journal names it.
    ///
    /// - Throws: An error when a process lives at the path already.
    func becomeAdoptable() async throws(CoordinatorError) {
        guard let record = makeRecord() else { return }
        // The path's own lock is held until the other one has its name, so that the path is never without.
        guard let lock = try await runtime.lockLife(at: path, mayBeTaken: plan.overlaps) else { return }
        let error = runtime.processes.directory.renameFile(record.lockName, to: RuntimeFiles.lockName(of: path.description))
        guard error == 0 else {
            lock.removeFile()
            return runtime.observation.logger.warning(
                "the lock of a worker can't be renamed: the worker isn't adopted",
                metadata: ["coordinator.path": "\(path)", "error": "\(String(cString: strerror(error)))"]
            )
        }
        withExtendedLifetime(lock) {}
        var named = record
        named.lock = nil
        named.place = state.withLock { $0.place?.nanoseconds }
        keep(named)
    }

    /// Makes a process adoptable that has begun its life beside the former one, which still has the path's lock: the journal names it with
    /// the lock that it holds, so that the next root goes on with this life, and ends the former one.
    func becomeAdoptableBeside() {
        if let record = makeRecord() { keep(record) }
    }

    /// Has the journal tell since when the life is ready, so that a next root goes on counting.
    func noteReadiness() {
        guard case .life(var record)? = state.withLock({ $0.adoptionRecord }), record.readySince == nil else { return }
        record.readySince = MonotonicTime.now.nanoseconds
        keep(record)
    }

    /// The time since which the life is ready that a former root has begun.
    var readyBefore: MonotonicTime? {
        state.withLock { $0.origin.isAdopted ? $0.adoptionRecord?.record?.readySince : nil }.map { MonotonicTime(nanoseconds: $0) }
    }

    /// Returns the record of a process that was started without a life, or began it beside the former one; `nil` where it isn't adopted.
    private func makeRecord() -> AdoptableWorker? {
        let (adoptionRecord, assignment, user) = state.withLock { state in
            (state.machine.hasEnded ? nil : state.adoptionRecord, state.assignment, state.process?.process.userID)
        }
        switch adoptionRecord {
        case .life(let record): return record.lock == nil ? nil : record
        case .spare(let files):
            guard let assignment, let user, let fingerprint = runtime.fingerprint(of: assignment.definition) else { return nil }
            var record = makeRecord(assignment, fingerprint, secret, user, output: files.output)
            record.lock = files.lock
            return record
        case nil: return nil
        }
    }

    /// Has the journal name the process by a record.
    private func keep(_ record: AdoptableWorker) {
        guard let family = state.withLock({ $0.process?.family }) else { return }
        runtime.processes.journal?.began(.init(family: family, record: record))
        let hasEnded = state.withLock { state in
            state.adoptionRecord = .life(record)
            return state.machine.hasEnded
        }
        // The clean-up of a process that has ended meanwhile may not have known of the record.
        guard hasEnded else { return }
        runtime.processes.journal?.ended(family.leader)
        removeFiles()
    }

    /// Removes the files of a worker that has ended.
    func removeFiles() {
        switch state.withLock({ $0.adoptionRecord }) {
        case .life(let record): runtime.removeFiles(of: record)
        case .spare(let files):
            runtime.processes.directory.removeFile(files.lock)
            if let output = files.output { runtime.processes.directory.removeFile(output) }
        case nil: break
        }
    }

    private var isCaptured: Bool { runtime.processes.spawner.output.isCaptured }

    private func makeRecord(
        _ assignment: Assignment,
        _ fingerprint: String,
        _ secret: [UInt8],
        _ user: UInt32,
        output: String?
    ) -> AdoptableWorker {
        AdoptableWorker(
            path: path.description,
            incarnation: assignment.events.life.incarnation,
            secret: AdoptableWorker.digits(of: secret),
            fingerprint: fingerprint,
            user: user == geteuid() ? nil : user,
            output: output
        )
    }
}
