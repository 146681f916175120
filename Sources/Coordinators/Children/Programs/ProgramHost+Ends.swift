import ConcurrencySupport
import Logging
import Processes

/// The end of a program: it's asked by a signal, the others of its family after it, and what is left when the time is over is killed.
///
/// The order is the same for every way in which a program ends: a stop, a restart, recycling, a check, the watchdog, the end of the daemon. A
/// program that ends by itself leaves the others the time that a stop would have given.
extension ProgramHost {
    /// What is known of a program's end, from the first request on.
    struct Ending {
        /// The ways in which a program was asked to end.
        enum Request {
            case none
            /// By a hook, after which the signal is due.
            case hook
            case signal
        }

        /// The time that a stop grants; nil: it wasn't told to stop.
        var grace: Duration??
        /// The reason why the host itself has ended the program, instead of the exit status.
        var verdict: ExitReason?
        /// The time at which what is left of the program is killed; nil: it wasn't asked to end, or may take any time.
        var deadline: PatientDeadline?
        var request = Request.none
        /// The time after which some of the program was killed; nil: nothing was.
        var killedAfter: Duration?
        /// Whether the kernel has killed the program for want of memory.
        var hasRunOutOfMemory = false
        /// Whether an operator has had the program killed.
        var isKilled = false
        /// The end of the kill of what the first process has left; nil: it hasn't begun.
        var restKilled: OneShot<Void>?
    }

    /// Asks a program that runs to end.
    ///
    /// - Parameters:
    ///   - signal: The signal; nil: that of the specification, after its hook, if it has one.
    ///   - grace: The time after which what is left of it is killed; nil: it may take any time.
    func ask(_ child: ChildProcess, by signal: Signal? = nil, within grace: Duration?) {
        let deadline = grace.map { PatientDeadline($0) }
        let hasTime = grace.map { $0 > .zero } ?? true
        let hook = signal == nil && hasTime ? specification.hooks.stop : nil
        // One that has been asked has others that were asked too: a second signal often means haste. The hook isn't waited for twice.
        let former = state.withLock { state in
            if let deadline, state.ending.deadline.map({ deadline.end < $0.end }) ?? true { state.ending.deadline = deadline }
            defer { state.ending.request = hook == nil || state.ending.request != .none ? .signal : .hook }
            return state.ending.request
        }
        guard hasTime else { return killRest(after: .zero) }
        let signal = signal ?? specification.stopSignal
        switch (former, hook) {
        case (.none, let hook?):
            tasks.add { [self] in
                await ask(child, by: hook, within: grace ?? Self.forEver)
                let isDue = state.withLock { state in
                    guard state.ending.request == .hook, exited.outcome == nil else { return false }
                    state.ending.request = .signal
                    return true
                }
                if isDue { send(signal, to: child) }
            }
        case (.none, nil), (.hook, _): send(signal, to: child)
        case (.signal, _): break
        }
        guard let grace, let deadline else { return }
        tasks.add { [self] in
            var deadline = deadline
            let read = runtime.processes.spawner.spawner.readPending
            guard await Patience.wait(for: gone, until: &deadline, reading: read) == nil else { return }
            killRest(after: grace)
        }
    }

    /// Sends the signal that asks a program to end, unless it has ended: its others are asked then.
    private func send(_ signal: Signal, to child: ChildProcess) {
        guard exited.outcome == nil else { return }
        // If these are refused, the kill remains. SIGCONT, because a stopped process can't act on a signal.
        if specification.stopsGroup { try? child.sendToGroup(signal) } else { try? child.send(signal) }
        try? child.sendToGroup(.continue)
    }

    /// Kills what is left of the program, whose time is over.
    private func killRest(after grace: Duration) {
        guard gone.outcome == nil, let (child, family) = state.withLock({ state in state.child.map { ($0, state.family) } }) else { return }
        if exited.outcome == nil {
            noteKill(after: grace)
            try? child.sendToGroup(.kill)
        } else if let family {
            // The wait for these ends with them.
            tasks.add { [self] in await kill(family, after: grace) }
        }
    }

    /// Kills what the first process has left, once: who comes later waits for that, so that nothing is concluded before the kill is noted.
    private func kill(_ family: ProcessFamily, after grace: Duration) async {
        let (killed, isFirst, isNoted) = state.withLock { state in
            let former = state.ending.restKilled
            let killed = former ?? OneShot<Void>()
            state.ending.restKilled = killed
            return (killed, former == nil, !state.ending.isKilled)
        }
        guard isFirst else { return await killed.value }
        await runtime.end([family]) { if !$0.isEmpty, isNoted { noteKill(after: grace) } }
        killed.settle(())
    }

    private func noteKill(after grace: Duration) {
        let isFirst = state.withLock { state in
            defer { state.ending.killedAfter = state.ending.killedAfter ?? grace }
            return state.ending.killedAfter == nil
        }
        guard isFirst, grace > .zero else { return }
        logger.warning(
            "a program was not stopped within its time, and is killed",
            metadata: ["coordinator.path": "\(path)", "limit": "\(grace)"]
        )
    }

    /// Ends the others of a program that has ended: they get the stop signal, and what is left of the time.
    func endRest(of family: ProcessFamily) async {
        let grace = min(shutdown.grace ?? Self.longestEnd, Self.longestEnd)
        let (deadline, hasToldGroup) = state.withLock { state -> (PatientDeadline?, Bool) in
            let request = state.ending.request
            // By itself, or killed by an operator: the path is to live again soon.
            if request == .none { state.ending.deadline = PatientDeadline(state.ending.isKilled ? .zero : grace) }
            // The end may be heard late, because this process stood still, and the others weren't asked meanwhile.
            _ = state.ending.deadline?.look()
            return (state.ending.deadline, request == .signal && state.specification.stopsGroup)
        }
        if deadline.map({ $0.left > .zero }) ?? true {
            let deadline = deadline ?? PatientDeadline(Self.forEver)
            if await family.terminate(by: specification.stopSignal, hasToldGroup: hasToldGroup, until: deadline) {
                await state.withLock { $0.ending.restKilled }?.value
                return await concluded(family)
            }
        }
        await kill(family, after: state.withLock { $0.ending.grace.flatMap(\.self) ?? grace })
        await concluded(family)
    }

    private func concluded(_ family: ProcessFamily) async {
        // A process that still holds the pipes isn't of the family.
        state.withLock { $0.child }?.endCapture()
        await runtime.processEnded(family)
    }
}

extension ExitStatus {
    /// Whether SIGKILL has ended the process.
    var isKill: Bool { if case .signaled(.kill, _) = self { true } else { false } }
}

// MARK: - Hooks

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
