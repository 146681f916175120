import ConcurrencySupport
import Logging
import Processes

/// A program that lives on while another program takes the daemon's place.
extension ProgramHost {
    /// Describes the program for the next daemon; `nil` when it can't be taken over, and is ended then.
    func heritage(among kept: [ProcessIdentity: KeptProcess]) -> RuntimeHeritage.Program? {
        let (family, watchdog, status) = state.withLock { ($0.family, $0.watchdog, $0.condition.status) }
        guard let family, let process = kept[family.leader], exited.outcome == nil, !isStopping else { return nil }
        return RuntimeHeritage.Program(
            path: path.description,
            incarnation: events.life.incarnation,
            process: process,
            entry: family.entry,
            command: specification.command,
            isReady: state.withLock { $0.isReady },
            status: status,
            watchdogMilliseconds: watchdog.map { Int64($0 / .milliseconds(1)) }
        )
    }

    /// Takes over the program that the former daemon has left at the path.
    ///
    /// - Returns: `nil` when there is none, it isn't this one, or it has ended: then nothing is left of it.
    func takeOver() async -> (process: SpawnedProcess, isReady: Bool)? {
        guard let program = runtime.inheritance?.takeProgram(at: path) else { return nil }
        guard program.command == specification.command, program.incarnation == events.life.incarnation else {
            await runtime.end(program, because: "another command is started at its path")
            return nil
        }
        let receivers = runtime.spawner.output.receivers(path, program.incarnation, program.process.identity.processID)
        let search = try? lineSearch()
        let channels = KeptReceivers(
            output: { bytes in
                receivers.output(bytes)
                search?.take(bytes, isError: false)
            },
            errors: { bytes in
                receivers.errors(bytes)
                search?.take(bytes, isError: true)
            },
            channel: { [weak self] bytes in self?.wrote(bytes) },
            datagrams: { [weak self] bytes in self?.sent(bytes) },
            isFull: receivers.isFull
        )
        do {
            let process = try await runtime.spawner.spawner.adopt(program.process, killsGroupAtExit: false, channels)
            state.withLock { state in
                state.condition.status = program.status
                if state.watchdog != nil, let time = program.watchdogMilliseconds { state.watchdog = .milliseconds(time) }
            }
            runtime.logger.notice(
                "a program of the former daemon goes on",
                metadata: ["coordinator.path": "\(path)", "child.pid": "\(process.identity.processID)"]
            )
            if runtime.lives.areWanted {
                runtime.lives.add(LifeChange(.adopted, of: path, program.incarnation, process.identity.processID))
            }
            return (SpawnedProcess(process: process, family: program.family), program.isReady)
        } catch {
            await runtime.end([program.family])
            await runtime.processEnded(program.family)
            return nil
        }
    }
}
