import ConcurrencySupport
import Logging
import Processes
import WireProtocol

/// A plain program as a child: it becomes ready as its specification says, is checked while it runs, and is stopped by signals.
final class ProgramHost: ChildHost {
    struct State {
        /// The specification as it was changed last: a change that needs another process isn't taken over.
        var specification: ProgramSpecification
        /// The end of the present check of the program's health, with the program's process or with its settings.
        var healthWatchEnd = OneShot<Void>()
        /// The end of what looks at the program's age and memory.
        var ageWatchEnd = OneShot<Void>()
        var child: ChildProcess?
        /// The program with its descendants, once it runs.
        var family: ProcessFamily?
        /// The files of a program that may outlive this process.
        var files: ProgramFiles?
        /// What the next daemon needs to adopt the program, if it may.
        var record: RuntimeHandover.Program?
        /// Whether the program has become ready.
        var isReady = false
        /// The time since which it's ready; `nil`: it isn't yet.
        var readySince: MonotonicTime?
        /// The same, as a former runtime has noted it.
        var readyBefore: MonotonicTime?
        var isPaused: Bool
        /// The number of times that the program was paused or resumed.
        var pauses = 0
        var ending = Ending()
        /// The time at which the program must be ready.
        var startDeadline = MonotonicTime.now
        /// The time that may pass between two signs of life; `nil`: any.
        var watchdog: Duration?
        /// The time of the last sign of life.
        var lastSign = MonotonicTime.now
        var condition = CoordinatorSnapshot.Condition()
        /// The process of the check that runs at the moment.
        var check: ChildProcess?
        /// The start of that process.
        var checkStart: PendingValue<SpawnedProcess>?
    }

    /// A time that counts as unlimited: a year.
    static let forEver = Duration.seconds(365 * 86_400)
    /// The time within which a process begins as a rule.
    private static let usualLaunch = Duration.seconds(1)
    /// The time that a program is given to end because of its own state, if it may take any time to be stopped.
    static let longestEnd = Duration.seconds(30)

    let path: CoordinatorPath
    let runtime: RuntimeCore
    let events: HostEvents
    let shutdown: Shutdown
    let logger: Logger
    let tasks = OwnedTasks()
    /// The commands that check the program, which end before the program counts as ended.
    let checks = OwnedTasks()
    let state: Lock<State>
    /// The signal that the program has shown that it's ready, or has ended before.
    let readiness = OneShot<Void>()
    /// The end of the program's process.
    let exited = OneShot<ExitStatus>()
    /// The first check of the program's health that has succeeded, or the program's end: whether it was the former.
    let firstHealth = OneShot<Bool>()
    /// The hooks that run.
    let hooks = HookRuns()
    /// The signal that nothing is left of the program, with its exit status.
    let gone = OneShot<ExitStatus>()
    /// The start of the program's process.
    private let launch = OneShot<PendingValue<SpawnedProcess>>()

    init(
        _ specification: ProgramSpecification,
        _ shutdown: Shutdown,
        path: CoordinatorPath,
        parent: CoordinatorCell,
        startContext: StartContext,
        events: HostEvents
    ) {
        state = Lock(State(specification: specification, isPaused: !startContext.pauseReasons.isEmpty, watchdog: specification.watchdog))
        self.shutdown = shutdown
        self.path = path
        self.runtime = parent.runtime
        self.logger = parent.logger
        self.events = events
    }

    var specification: ProgramSpecification { state.withLock { $0.specification } }

    var process: ProcessIdentity? { state.withLock { $0.child?.identity } }

    var condition: CoordinatorSnapshot.Condition { state.withLock { $0.condition } }

    var readyBefore: MonotonicTime? { state.withLock { $0.readyBefore } }

    func start() async throws {
        if isStopping {
            if let program = runtime.pendingHandover?.takeProgram(at: path) { await runtime.end(program, because: "it's stopped") }
            throw CoordinatorError.hasStopped(path)
        }
        var began = MonotonicTime.now
        switch await takeOver() {
        case .goesOn(let process, let isReady):
            keep(process)
            try? await runtime.processBegan(process.family)
            watchProcess(process)
            // One that was ready has shown that to the former daemon.
            if isReady { readiness.settle() }
            return try await goOn(since: began, isReady: isReady)
        case .hasEnded: return noteEndMeanwhile()
        case .nothing: break
        }
        try await prepareByHook()
        began = .now
        let files = try makeFiles()
        let channels = try makeChannels(files)
        let limit = specification.startTimeout
        let pending = pending(in: tasks) { [self] in
            try await runtime.processes.spawner.spawn(
                specification,
                path: path,
                incarnation: events.life.incarnation,
                channels: channels,
                files: files,
                within: limit
            )
        }
        launch.settle(pending)
        if isStopping { giveUpLaunch() }
        tasks.add { [self] in await tellWhileLaunching(pending) }
        let spawned = try await pending.value
        keep(spawned)
        try? await runtime.processBegan(spawned.family)
        watchProcess(spawned)
        try await goOn(since: began, isReady: false)
    }

    /// Begins to start a process; one that is given up and begins all the same is ended.
    func pending(
        in tasks: OwnedTasks,
        _ start: @escaping @Sendable () async throws -> SpawnedProcess
    ) -> PendingValue<SpawnedProcess> {
        PendingValue(in: tasks, start) { [self] spawned in
            try? await runtime.processBegan(spawned.family)
            _ = await spawned.process.terminate(grace: .zero)
            await end(spawned.family)
        }
    }

    /// Shows and logs that a start takes its time, as long as it does.
    private func tellWhileLaunching(_ launch: PendingValue<SpawnedProcess>) async {
        let since = DateTime.now
        if await launch.isSettled(within: Self.usualLaunch) { return }
        let status = "the start hangs since \(since): a file system doesn't answer"
        state.withLock { $0.condition.status = status }
        logger.warning("the start of a program hangs: a file system doesn't answer", metadata: ["coordinator.path": "\(path)"])
        _ = try? await launch.value
        // The program may have said something meanwhile.
        state.withLock { if $0.condition.status == status { $0.condition.status = nil } }
    }

    /// Gives the start up if it doesn't end in a moment, because the program is to stop.
    private func giveUpLaunch() {
        guard let launch = launch.outcome else { return }
        tasks.add { [self] in await launch.giveUp(CoordinatorError.hasStopped(path), after: Self.usualLaunch) }
    }

    private func goOn(since began: MonotonicTime, isReady: Bool) async throws {
        if !isReady { try await becomeReady(since: began) }
        state.withLock { ($0.isReady, $0.readySince) = (true, $0.readyBefore ?? .now) }
        keep()
        watch()
        reportEnd()
    }

    func reportEnd() {
        tasks.add { [self] in
            let status = await gone.value
            events.send(.exited(reason(of: status)))
        }
    }

    private func watchProcess(_ spawned: SpawnedProcess) {
        let child = spawned.process
        let stopGrace = state.withLock { state in
            state.child = child
            state.family = spawned.family
            // The signal is sent under the lock, so that a resume that comes now is sent after it.
            if state.isPaused, state.ending.grace == nil { try? child.sendToGroup(.stop) }
            // One whose former parent was killed may have been paused by that one.
            if !state.isPaused, child.isAdopted { try? child.sendToGroup(.continue) }
            return state.ending.grace
        }
        child.onExit { [self] status in
            // This runs on the process thread, which must not wait.
            exited.settle(status)
            for end in state.withLock({ [$0.healthWatchEnd, $0.ageWatchEnd] }) { end.settle() }
            tasks.add { await self.ended(status, spawned) }
        }
        guard let stopGrace else { return }
        ask(child, by: specification.stopSignal, within: stopGrace)
    }

    /// Ends what is left of the program after its own end, before its path lives again.
    private func ended(_ status: ExitStatus, _ spawned: SpawnedProcess) async {
        readiness.settle()
        firstHealth.settle(false)
        let (check, start) = state.withLock { ($0.check, $0.checkStart) }
        start?.giveUp(CoordinatorError.hasStopped(path))
        if let check { _ = await check.terminate(grace: .zero) }
        await checks.waitForAll()
        let family = spawned.family
        // Before the group goes, which alone tells who has killed the program.
        if status.isKill, ControlGroup.outOfMemoryKills(in: family.entry) > 0 { state.withLock { $0.ending.hasRunOutOfMemory = true } }
        await endRest(of: family)
        // The orphans of an adopted program don't come here.
        if spawned.process.isAdopted { await runtime.endLeftoverProcesses(of: family) }
        removeFiles()
        // None of a former life may act on the next one.
        for run in hooks.runs(at: [.reload]) { run.cancel() }
        for run in hooks.runs(at: [.reload, .stop]) { _ = await run.outcome.value }
        await cleanUpByHook(after: status)
        gone.settle(status)
    }

    /// Ends the descendants of a process that has ended.
    func end(_ family: ProcessFamily) async {
        await runtime.end([family])
        await runtime.processEnded(family)
    }

    /// Whether the program was told to stop, or to end because of its state.
    var isStopping: Bool { state.withLock { $0.ending.grace != nil || $0.ending.verdict != nil } }

    /// Returns the reason of the program's end.
    func reason(of status: ExitStatus) -> ExitReason {
        let (verdict, killedAfter, hasRunOutOfMemory) = state.withLock { state in
            // What was asked to end for its state has that as its reason.
            (state.ending.verdict, state.ending.grace == nil ? nil : state.ending.killedAfter, state.ending.hasRunOutOfMemory)
        }
        if let verdict { return verdict }
        if let killedAfter { return .killed(after: killedAfter) }
        if hasRunOutOfMemory { return .outOfMemory }
        if case .exited(let code) = status, specification.normalExitCodes.contains(code) { return .normal }
        return ExitReason(status)
    }

    /// Ends the program because of its state, as its specification says; the reason is that of its end.
    func end(because reason: ExitReason, by signal: Signal? = nil) async {
        let child = state.withLock { state -> ChildProcess? in
            if state.ending.verdict == nil { state.ending.verdict = reason }
            // A stop is under way, or comes to the same.
            return state.ending.grace == nil ? state.child : nil
        }
        let grace = min(shutdown.grace ?? Self.longestEnd, Self.longestEnd)
        guard let child else { return }
        ask(child, by: signal, within: grace)
        _ = await exited.value
    }

    func stop(_ shutdown: Shutdown) {
        let grace = shutdown.grace
        endHooks(within: grace)
        let child = state.withLock { state -> ChildProcess? in
            // A second stop can only shorten the time that is left.
            if let former = state.ending.grace, former ?? Self.forEver <= grace ?? Self.forEver { return nil }
            state.ending.grace = .some(grace)
            return state.child
        }
        guard let child else { return giveUpLaunch() }
        ask(child, within: grace)
    }

    func deliver(_ envelope: Envelope, to rest: ArraySlice<Substring>, isDirect: Bool) {
        envelope.end(.failure(CoordinatorError(.unsupported, "\(path) is a plain program: it answers no messages")))
    }

    func operate(_ operation: Operation, on rest: ArraySlice<Substring>, budget: TimeoutBudget) async throws -> JSONValue {
        throw CoordinatorError(rest.isEmpty ? .unsupported : .noSuchPath, "\(path) is a plain program: it has no coordinators below it")
    }

    /// Pauses the program by SIGSTOP, after which it gets no processor time, and resumes it by SIGCONT.
    func pause(for reasons: PauseReasons) async {
        // The signal is sent under the lock, so that the last signal matches the last request.
        state.withLock { state in
            state.isPaused = !reasons.isEmpty
            state.pauses += 1
            // The time in which it could give no sign of life doesn't count.
            state.lastSign = .now
            try? state.child?.sendToGroup(reasons.isEmpty ? .continue : .stop)
        }
    }

    func inherit(_ dependencies: Dependencies) {}

    func observeEvents() {}

    var isBusy: Bool { false }

    func kill() throws {
        guard
            let child = state.withLock({ state in
                state.ending.isKilled = true
                return state.child
            })
        else {
            throw CoordinatorError(.stopped, "\(path) has no process yet")
        }
        try child.send(.kill)
    }
}

// MARK: - Changes of a running program

/// What a program that runs follows of another specification.
extension ProgramHost {
    func adoptDefinition(_ definition: ChildDefinition) throws {
        guard case .program(let given) = definition.kind else { return }
        let (former, child, isReady, ends) = state.withLock { state in
            let former = state.specification
            var next = given
            // The process has begun with these, and whoever asks wants to know what it has.
            next.command = former.command
            next.environment = former.environment
            next.environmentFiles = former.environmentFiles
            next.inheritsEnvironment = former.inheritsEnvironment
            next.directory = former.directory
            next.sockets = former.sockets
            next.attributes = former.attributes
            (next.attributes.nice, next.attributes.limits) = (given.attributes.nice, given.attributes.limits)
            // The process shows its readiness in the way that it was started for.
            if !state.isReady { next.readiness = former.readiness }
            state.specification = next
            if former.watchdog != next.watchdog { state.changeWatchdog(to: next.watchdog) }
            var ends: [OneShot<Void>] = []
            if former.health != next.health {
                ends.append(state.healthWatchEnd)
                (state.healthWatchEnd, state.condition.health) = (OneShot(), nil)
            }
            if former.recycling != next.recycling || former.memoryLimit != next.memoryLimit {
                ends.append(state.ageWatchEnd)
                state.ageWatchEnd = OneShot()
            }
            return (former, state.child, state.isReady, ends)
        }
        let next = specification
        for end in ends { end.settle() }
        if isReady, exited.outcome == nil {
            if former.health != next.health { beginHealthWatch() }
            if former.recycling != next.recycling || former.memoryLimit != next.memoryLimit { beginAgeWatch() }
        }
        // The process may have ended before the new ends were there.
        if exited.outcome != nil { for end in state.withLock({ [$0.healthWatchEnd, $0.ageWatchEnd] }) { end.settle() } }
        defer { keep() }
        do throws(ProcessError) {
            try child?.change(from: former.attributes, to: next.attributes)
        } catch {
            throw CoordinatorError(.invalidSpecification, "\(path): \(error.message) It has the change from its next start on.")
        }
    }
}

extension ProgramHost.State {
    /// Changes the time between signs of life, as far as the process can follow: it was told the former time, or none, and would be ended for
    /// keeping to that.
    fileprivate mutating func changeWatchdog(to next: Duration?) {
        guard let present = watchdog else { return }
        watchdog = next.map { max($0, present) }
    }
}
