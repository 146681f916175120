import ConcurrencySupport
import Logging
import Processes

/// One run of a program's hook: a command in the program's surroundings, with a time limit, that leaves nothing.
final class HookRun: Sendable {
    let moment: ProgramHooks.Moment
    /// What has gone wrong; nil when the command has ended with exit code 0.
    let outcome = OneShot<String?>()
    /// The end of the command; nil when it's to be ended.
    private let end = OneShot<ExitStatus?>()
    /// The start of the command's process.
    private let start = Lock<PendingValue<SpawnedProcess>?>(nil)

    init(_ moment: ProgramHooks.Moment) { self.moment = moment }

    /// Ends the command with its group at once.
    func cancel() {
        end.settle(nil)
        start.withLock { $0 }?.giveUp(CoordinatorError(.stopped, "was cancelled"))
    }

    /// Ends the command if it still runs after some time.
    func cancel(after time: Duration) async {
        if await Patience.wait(for: outcome, atMost: time) == nil { cancel() }
    }

    /// Runs the command and settles the outcome when nothing is left of it.
    ///
    /// - Parameter variables: What the command finds in its environment besides what the program does.
    func run(
        _ hook: ProgramHooks.Command,
        of specification: ProgramSpecification,
        _ variables: [String: String],
        _ life: ProgramLife,
        within limit: Duration
    ) async {
        let problem = await problem(with: hook, specification, variables, life, limit)
        if let problem {
            life.runtime.observation.logger.warning(
                "a hook has failed",
                metadata: ["coordinator.path": "\(life.path)", "hook": "\(moment.rawValue)", "problem": "\(problem)"]
            )
        }
        outcome.settle(problem)
    }

    private func problem(
        with hook: ProgramHooks.Command,
        _ specification: ProgramSpecification,
        _ variables: [String: String],
        _ life: ProgramLife,
        _ limit: Duration
    ) async -> String? {
        let (runtime, moment) = (life.runtime, moment)
        var program = specification
        program.command = hook.command
        program.sockets = GivenSockets()
        program.environment.merge(variables) { $1 }
        program.environment["COORDINATOR_PATH"] = "\(life.path)"
        program.environment["COORDINATOR_LIFE"] = "\(life.incarnation)"
        program.environment["COORDINATOR_HOOK"] = moment.rawValue
        let command = program
        do {
            let pending = PendingValue(in: life.tasks) {
                try await runtime.processes.spawner.spawn(
                    command,
                    path: life.path,
                    incarnation: life.incarnation,
                    channels: ProgramChannels(),
                    for: moment.rawValue,
                    within: limit
                )
            } late: { spawned in
                try? await runtime.processBegan(spawned.family)
                await Self.finish(spawned, in: runtime)
            }
            start.withLock { $0 = pending }
            // A cancellation that came before has found nothing to give up.
            if end.isSettled { pending.giveUp(CoordinatorError(.stopped, "was cancelled")) }
            let spawned = try await pending.value
            try? await runtime.processBegan(spawned.family)
            spawned.process.onExit { self.end.settle($0) }
            let status = await Patience.wait(for: end, atMost: limit, reading: runtime.processes.spawner.spawner.readPending)
            await Self.finish(spawned, in: runtime)
            switch status {
            case nil: return "no end within \(limit)"
            case .some(nil): return "was cancelled"
            case .some(let status?): return status.isSuccess ? nil : "\(hook.command.first ?? "") \(ExitReason(status))"
            }
        } catch {
            return (error as? CoordinatorError)?.message ?? "\(error)"
        }
    }

    /// Ends what is left of a command.
    private static func finish(_ spawned: SpawnedProcess, in runtime: RuntimeCore) async {
        _ = await spawned.process.terminate(grace: .zero)
        await runtime.end([spawned.family])
        await runtime.processEnded(spawned.family)
    }
}

extension OneShot where Outcome == ExitStatus? {
    fileprivate var isSettled: Bool { outcome != nil }
}

/// The life of a program to which a hook belongs.
struct ProgramLife: Sendable {
    let path: CoordinatorPath
    let incarnation: UInt32
    let runtime: RuntimeCore
    /// The tasks of whatever waits for the hook's end.
    let tasks: OwnedTasks
}

/// The hooks that run, so that their end can be brought about and waited for.
final class HookRuns: Sendable {
    private let runs = Lock<[ObjectIdentifier: HookRun]>([:])

    /// The runs at certain moments.
    func runs(at moments: Set<ProgramHooks.Moment>) -> [HookRun] {
        runs.withLock { $0.values.filter { moments.contains($0.moment) } }
    }

    /// Runs a hook to its end, and returns what has gone wrong.
    func run(
        _ hook: ProgramHooks.Command,
        at moment: ProgramHooks.Moment,
        of specification: ProgramSpecification,
        _ variables: [String: String],
        _ life: ProgramLife,
        within limit: Duration? = nil,
        unless isFutile: () -> Bool = { false }
    ) async -> String? {
        let run = HookRun(moment)
        runs.withLock { $0[ObjectIdentifier(run)] = run }
        defer { runs.withLock { _ = $0.removeValue(forKey: ObjectIdentifier(run)) } }
        // One that is to end all hooks has come before this one was known.
        if isFutile() { run.cancel() }
        await run.run(hook, of: specification, variables, life, within: limit ?? hook.timeout ?? ProgramHooks.Command.usualTimeout)
        return await run.outcome.value
    }

    /// Ends all hooks, and returns when nothing is left of them.
    func end() async {
        for run in runs(at: Set(ProgramHooks.Moment.allCases)) {
            run.cancel()
            _ = await run.outcome.value
        }
    }
}
