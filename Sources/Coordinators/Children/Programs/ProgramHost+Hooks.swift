import ConcurrencySupport
import Logging
import Processes

/// The commands that belong to a program, at the moments of one of its lives.
extension ProgramHost {
    private var life: ProgramLife {
        ProgramLife(path: path, incarnation: events.life.incarnation, runtime: runtime, tasks: tasks)
    }

    /// Runs the hook before a start.
    ///
    /// - Throws: An error when it has failed, which is a failed start, or when the program was told to stop meanwhile.
    func prepareByHook() async throws {
        guard let hook = specification.hooks.beforeStart else { return }
        let problem = await running(.beforeStart, hook) { isStopping }
        if isStopping { throw CoordinatorError.hasStopped(path) }
        guard let problem else { return }
        let text = "\(ProgramHooks.Moment.beforeStart.rawValue): \(problem)"
        throw StartFailure(reason: .startFailed(text.shortened), description: "\(path) isn't started, because its hook has failed: \(text)")
    }

    /// Runs the hook after an end, before the path lives again.
    func cleanUpByHook(after status: ExitStatus) async {
        guard let hook = specification.hooks.afterEnd else { return }
        let reason = state.withLock { $0.ending.grace != nil } ? ExitReason.shutdown : reason(of: status)
        // A stop that grants no time grants none to this either, unless the program never gets any.
        let hasNoTime = { [self] in shutdown.grace != .zero && state.withLock { $0.ending.grace == .some(.zero) } }
        _ = await running(.afterEnd, hook, reason.variables(status), unless: hasNoTime)
    }

    /// Has the hook ask the program to end, and returns when it has ended, the hook has failed, or the hook's time is over.
    func ask(_ child: ChildProcess, by hook: ProgramHooks.Command, within grace: Duration) async {
        guard exited.outcome == nil else { return }
        // A stopped process can do nothing that it's asked for.
        try? child.sendToGroup(.continue)
        let limit = min(hook.timeout ?? min(ProgramHooks.Command.usualTimeout, grace / 2), grace)
        var deadline = PatientDeadline(limit)
        let end = OneShot<String?>()
        tasks.add { [self] in end.settle(await hooks.run(hook, at: .stop, of: specification, child.variables, life, within: limit)) }
        // The hook has the same limit, after which it still has to be ended.
        let early = await Patience.wait(for: end, until: &deadline)
        let problem = if let early { early } else { await end.value }
        if problem == nil { _ = await Patience.wait(for: exited, until: &deadline) }
    }

    /// Has the program read its configuration again, and returns when the command for it has ended.
    func reload() async throws {
        guard let reload = specification.hooks.reload else {
            throw CoordinatorError(.unsupported, "\(path) has no `reload` among its `hooks`: expected a signal or a command there")
        }
        guard let child = state.withLock({ $0.child }), exited.outcome == nil, !isStopping else {
            throw CoordinatorError(.stopped, "\(path) isn't running: there is nothing to reload")
        }
        switch reload {
        case .signal(let signal): try child.send(signal)
        case .command(let hook):
            let ends = { [self] in exited.outcome != nil || isStopping }
            if let problem = await running(.reload, hook, child.variables, unless: ends) {
                throw CoordinatorError(.hookFailed, "\(path) could not be reloaded: \(problem); look at its log", maybeExecuted: true)
            }
        }
    }

    /// Ends the hooks that are in the way of a stop: what prepares a start or changes a life at once, what cleans up when the time is over.
    func endHooks(within grace: Duration?) {
        for run in hooks.runs(at: [.beforeStart, .reload]) { run.cancel() }
        guard let grace else { return }
        for run in hooks.runs(at: [.afterEnd, .stop]) {
            if grace == .zero { run.cancel() } else { tasks.add { await run.cancel(after: grace) } }
        }
    }

    /// Runs a hook while the program's status says so.
    private func running(
        _ moment: ProgramHooks.Moment,
        _ hook: ProgramHooks.Command,
        _ variables: [String: String] = [:],
        unless isFutile: () -> Bool
    ) async -> String? {
        let status = "runs \(moment.rawValue)"
        state.withLock { if moment != .reload { $0.condition.status = status } }
        defer { state.withLock { if $0.condition.status == status { $0.condition.status = nil } } }
        return await hooks.run(hook, at: moment, of: specification, variables, life, unless: isFutile)
    }
}

extension ChildSupervisor {
    /// Runs the hook of a program that is given up, beside everything else.
    func runHook(of definition: ChildDefinition, _ incarnation: UInt32, givenUpFor reason: ExitReason) {
        guard case .program(let specification) = definition.kind, let hook = specification.hooks.onGiveUp else { return }
        let runtime = cell.runtime
        let life = ProgramLife(
            path: cell.path.appending(definition.key),
            incarnation: incarnation,
            runtime: runtime,
            tasks: runtime.execution.tasks
        )
        runtime.execution.tasks.add {
            _ = await runtime.processes.hooksOnGivingUp.run(hook, at: .onGiveUp, of: specification, reason.variables(nil), life)
        }
    }
}

extension ChildProcess {
    /// What a hook finds of a program that runs.
    fileprivate var variables: [String: String] { ["COORDINATOR_PID": "\(identity.processID)"] }
}

extension ExitReason {
    /// What a hook finds of a program that has ended.
    fileprivate func variables(_ status: ExitStatus?) -> [String: String] {
        var variables = ["COORDINATOR_REASON": "\(self)"]
        switch status.map(ExitReason.init) ?? self {
        case .exited(let code): variables["COORDINATOR_EXIT_CODE"] = "\(code)"
        case .signaled(let signal): variables["COORDINATOR_EXIT_SIGNAL"] = "\(signal)"
        case .normal: variables["COORDINATOR_EXIT_CODE"] = "0"
        case .shutdown, .failed, .hung, .startFailed, .startTimedOut, .stopTimedOut, .memoryExceeded, .killed, .outOfMemory,
            .escalated, .unknown:
            break
        }
        return variables
    }
}
