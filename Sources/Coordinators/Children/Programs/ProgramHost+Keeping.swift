import ConcurrencySupport
import Links
import Logging
import Processes

/// A program that lives on while another program takes the daemon's place, in the same process or, when that is killed, in the next one.
extension ProgramHost {
    /// What has become of the program that a former daemon has left.
    enum TakeOver {
        /// There was none that does for this one.
        case nothing
        case goesOn(SpawnedProcess, isReady: Bool)
        /// It has ended while there was no daemon.
        case hasEnded
    }

    // MARK: The record

    private var isKept: Bool { specification.outlivesRuntime && runtime.keepsPrograms }

    /// Returns the files for a program that may outlive this process; `nil` for one that dies with it.
    func makeFiles() throws -> ProgramFiles? {
        guard isKept else { return nil }
        var files = ProgramFiles()
        do throws(LinkError) {
            let (text, incarnation) = (path.description, events.life.incarnation)
            func file(_ name: String) throws(LinkError) -> String {
                let file = try runtime.processes.directory.file(name)
                // A former life of another runtime may have left one.
                runtime.processes.directory.removeFile(name)
                return file
            }
            if runtime.processes.spawner.output.isCaptured {
                files.output = try file(RuntimeFiles.outputName(of: text, incarnation))
                if runtime.processes.spawner.output.separatesErrors(of: path) {
                    files.errors = try file(RuntimeFiles.outputName(of: text, incarnation, part: "errors"))
                }
            }
            if case .descriptor = specification.readiness {
                files.channel = try file(RuntimeFiles.outputName(of: text, incarnation, part: "ready"))
            }
        } catch {
            throw CoordinatorError(.spawnFailed, "\(path): \(error)")
        }
        state.withLock { $0.files = files }
        return files
    }

    /// Has the journal name the process that has begun, or was adopted, with what the next daemon needs to adopt it.
    func keep(_ spawned: SpawnedProcess) {
        guard isKept else { return }
        let (files, former) = state.withLock { ($0.files, $0.record) }
        // One that a former version has started dies with this process.
        if let former, former.fingerprint == nil { return }
        let datagrams = specification.readiness == .notify || specification.watchdog != nil
        let name = RuntimeFiles.notifyName(of: path.description, events.life.incarnation)
        let process = KeptProcess(
            spawned.process.identity,
            output: files?.output,
            errors: files?.errors,
            channel: files?.channel,
            datagrams: datagrams ? try? runtime.processes.directory.file(name) : nil,
            owner: spawned.process.userID
        )
        let grace = shutdown.grace ?? Self.forEver
        let record = RuntimeHandover.Program(
            path: path.description,
            incarnation: events.life.incarnation,
            process: former?.process.withoutDescriptors ?? process,
            entry: spawned.family.entry,
            command: specification.command,
            fingerprint: specification.fingerprint,
            isReady: former?.isReady ?? false,
            readySince: former?.readySince,
            stopSignal: specification.stopSignal.rawValue,
            stopMilliseconds: Int64(grace / .milliseconds(1)),
            sockets: specification.sockets.holdings
        )
        state.withLock { $0.record = record }
        runtime.processes.journal?.began(.init(family: spawned.family, program: record))
    }

    /// Has the journal tell what the program has shown meanwhile.
    func keep() {
        guard isKept else { return }
        let changed = state.withLock { state -> (RuntimeHandover.Program, ProcessFamily)? in
            guard exited.outcome == nil, let family = state.family, var record = state.record, record.fingerprint != nil else {
                return nil
            }
            (record.isReady, record.readySince) = (state.isReady, state.readySince?.nanoseconds)
            // What was changed from outside is part of what the process has.
            record.fingerprint = state.specification.fingerprint
            record.watchdogMilliseconds = state.watchdog.map { Int64($0 / .milliseconds(1)) }
            state.record = record
            return (record, family)
        }
        guard let (record, family) = changed else { return }
        runtime.processes.journal?.began(.init(family: family, program: record))
        // The end may have been noted meanwhile.
        if exited.outcome != nil { runtime.processes.journal?.ended(family.leader) }
    }

    /// Removes the files of a program that has ended: its output has, too.
    func removeFiles() {
        for file in state.withLock({ $0.record?.process.files }) ?? [] {
            runtime.processes.directory.removeFile(String(file.split(separator: "/").last ?? ""))
        }
    }

    /// Whether the program has ended, and what it has left, or a hook, hasn't.
    var isEnding: Bool { exited.outcome != nil && gone.outcome == nil }

    /// Describes the program for the next daemon in this process; `nil` when it can't be taken over, and is ended then.
    func handover(among kept: [ProcessIdentity: KeptProcess]) -> RuntimeHandover.Program? {
        let (family, watchdog, status, record) = state.withLock { ($0.family, $0.watchdog, $0.condition.status, $0.record) }
        guard let family, let process = kept[family.leader], exited.outcome == nil, !isStopping else { return nil }
        return RuntimeHandover.Program(
            path: path.description,
            incarnation: events.life.incarnation,
            process: record.map { process.with(filesOf: $0.process) } ?? process,
            entry: family.entry,
            command: specification.command,
            fingerprint: record?.fingerprint,
            isReady: state.withLock { $0.isReady },
            readySince: state.withLock { $0.readySince?.nanoseconds },
            status: status,
            watchdogMilliseconds: watchdog.map { Int64($0 / .milliseconds(1)) },
            stopSignal: specification.stopSignal.rawValue,
            stopMilliseconds: record?.stopMilliseconds,
            sockets: record?.sockets
        )
    }

    // MARK: The next daemon

    /// Takes over the program that the former daemon has left at the path; one that isn't the same as this is ended before this begins.
    func takeOver() async -> TakeOver {
        guard let program = runtime.pendingHandover?.takeProgram(at: path) else { return .nothing }
        // Without a fingerprint it's one that dies with this process.
        let isSame =
            program.fingerprint.map { isKept && $0 == specification.fingerprint } ?? (program.command == specification.command)
        guard isSame, program.incarnation == events.life.incarnation else {
            await runtime.end(program, because: "something else is started at its path")
            return .nothing
        }
        let receivers = runtime.processes.spawner.output.receivers(path, program.incarnation, program.process.identity.processID)
        let search = try? lineSearch()
        let channels = KeptReceivers(
            output: { bytes in
                receivers.output(bytes)
                search?.search(bytes, isError: false)
            },
            errors: { bytes in
                receivers.errors(bytes)
                search?.search(bytes, isError: true)
            },
            channel: { [weak self] bytes in self?.wrote(bytes) },
            datagrams: { [weak self] bytes in self?.sent(bytes) },
            isFull: receivers.isFull
        )
        do throws(ProcessError) {
            let process = try await runtime.processes.spawner.spawner.adopt(program.process, killsGroupAtExit: false, channels)
            state.withLock { state in
                state.record = program
                state.condition.status = program.status
                state.readyBefore = program.isReady ? program.readySince.map { MonotonicTime(nanoseconds: $0) } : nil
                if state.watchdog != nil, let time = program.watchdogMilliseconds { state.watchdog = .milliseconds(time) }
            }
            runtime.observation.logger.notice(
                "a program of the former daemon goes on",
                metadata: ["coordinator.path": "\(path)", "child.pid": "\(process.identity.processID)"]
            )
            if runtime.observation.lives.areWanted {
                runtime.observation.lives.add(LifecycleRecord(.adopted, of: path, program.incarnation, process.identity.processID))
            }
            return .goesOn(SpawnedProcess(process: process, family: program.family), isReady: isReady(program, process))
        } catch {
            let isGone = error.code == .noSuchProcess
            let end = isGone ? "has ended meanwhile" : "can't be adopted, and is ended"
            runtime.observation.logger.notice(
                "a program of the former daemon \(end)",
                metadata: [
                    "coordinator.path": "\(path)", "child.pid": "\(program.process.identity.processID)", "error": "\(error)",
                ]
            )
            await runtime.endRest(of: program, isForeign: true)
            return isGone ? .hasEnded : .nothing
        }
    }

    /// Whether a program that is taken over needn't show that it's ready: it has, or it may have while nothing took notice.
    private func isReady(_ program: RuntimeHandover.Program, _ process: ChildProcess) -> Bool {
        switch specification.readiness {
        case .notify, .descriptor: program.isReady || process.isAdopted
        case .running, .command, .log, .http, .tcp: program.isReady
        }
    }

    /// Has the end of a program count that has ended while there was no daemon, with what status nothing tells.
    func noteEndMeanwhile() {
        readiness.settle()
        firstHealth.settle(false)
        exited.settle(.unknown)
        state.withLock { $0.isReady = true }
        tasks.add { [self] in
            await cleanUpByHook(after: .unknown)
            gone.settle(.unknown)
        }
        reportEnd()
    }
}
