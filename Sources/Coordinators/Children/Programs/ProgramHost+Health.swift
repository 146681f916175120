import ConcurrencySupport
import Logging
import Processes

/// What is looked at while a program runs: its health, its signs of life, its age and its memory.
extension ProgramHost {
    /// The time that a check takes besides its own on a loaded machine.
    private static let usualDelay = Duration.seconds(1)
    /// The interval at which the memory of a program with a limit is measured.
    private static let measuring = Duration.seconds(1)

    /// Begins to look after the program, which is ready.
    func watch() {
        beginHealthWatch()
        if specification.watchdog != nil {
            state.withLock { $0.lastSign = .now }
            tasks.add { await self.watchSigns() }
        }
        beginAgeWatch()
    }

    func beginHealthWatch() {
        let (check, end) = state.withLock { ($0.specification.health, $0.healthWatchEnd) }
        if let check { tasks.add { await self.watchHealth(check, until: end) } }
    }

    func beginAgeWatch() {
        let (recycling, limit, end) = state.withLock { ($0.specification.recycling, $0.specification.memoryLimit, $0.ageWatchEnd) }
        if recycling.age != nil || recycling.memory != nil || limit != nil { tasks.add { await self.watchAge(recycling, until: end) } }
    }

    // MARK: Health

    /// - Parameter over: The end of the program's process, or of this check.
    private func watchHealth(_ check: HealthCheck, until over: OneShot<Void>) async {
        var graceEnd = MonotonicTime.now + check.startPeriod
        var failures = 0
        while await over.value(before: .now + check.interval) == nil {
            if state.withLock({ $0.isPaused || $0.condition.isStopping }) || isStopping { continue }
            let begun = MonotonicTime.now
            let problem = await problem(by: check.probe, within: check.timeout)
            if over.isSettled || isStopping { return }
            // A check that has taken much longer than it may says that the daemon stood still, and nothing of the program.
            if problem != nil, MonotonicTime.now - begun > check.timeout * 1.5 + Self.usualDelay { continue }
            guard let problem else {
                (failures, graceEnd) = (0, .now)
                firstHealth.settle(true)
                noteHealth(CoordinatorSnapshot.Health(isHealthy: true))
                continue
            }
            if MonotonicTime.now < graceEnd { continue }
            failures += 1
            let isUnhealthy = failures >= check.retries
            noteHealth(
                CoordinatorSnapshot.Health(isHealthy: false, failures: failures, problem: problem.shortened, isUnhealthy: isUnhealthy)
            )
            guard isUnhealthy, check.onFailure == .restart else { continue }
            return await end(because: .failed("unhealthy: \(problem.shortened)"))
        }
    }

    /// Notes the result of a check, and reports it when the program becomes healthy or unhealthy by it.
    private func noteHealth(_ health: CoordinatorSnapshot.Health) {
        let former = state.withLock { state in
            defer { state.condition.health = health }
            return state.condition.health
        }
        let wasUnhealthy = former?.isUnhealthy ?? false
        let isNew = health.isUnhealthy ? !wasUnhealthy : health.isHealthy && former?.isHealthy != true
        guard isNew else { return }
        if runtime.lives.areWanted {
            let change = LifeChange.Kind.health(problem: health.isUnhealthy ? health.problem ?? "" : nil)
            runtime.lives.add(LifeChange(change, of: path, events.life.incarnation, process?.processID))
        }
        guard health.isUnhealthy != wasUnhealthy else { return }
        var metadata: Logger.Metadata = ["coordinator.path": "\(path)"]
        if let problem = health.problem { metadata["problem"] = "\(problem)" }
        logger.warning(health.isUnhealthy ? "a program is unhealthy" : "a program is healthy again", metadata: metadata)
    }

    /// Asks once.
    ///
    /// - Returns: A description of the failure; nil when the answer is as it should be.
    func problem(by probe: HealthCheck.Probe, within timeout: Duration) async -> String? {
        switch probe {
        case .command(let command): await problem(with: command, within: timeout)
        case .http(let port, let path): await LoopbackProbe.problem(port: port, path: path, within: timeout)
        case .tcp(let port): await LoopbackProbe.problem(port: port, path: nil, within: timeout)
        }
    }

    /// Runs a command in the program's surroundings.
    ///
    /// - Returns: A description of its failure; nil when it has ended with exit code 0 in time.
    private func problem(with command: [String], within timeout: Duration) async -> String? {
        let outcome = OneShot<String?>()
        checks.add { [self] in outcome.settle(await run(command, within: timeout)) }
        return await outcome.value
    }

    private func run(_ command: [String], within timeout: Duration) async -> String? {
        var check = specification
        check.command = command
        check.sockets = GivenSockets()
        // What a check writes is its problem's text, and not the program's: each of thousands would be a line of the child's log.
        let line = FirstLine()
        var channels = ProgramChannels()
        channels.takesWholeOutput = { line.take($0) }
        do {
            let (specification, channels) = (check, channels)
            let start = pending(in: tasks) { [self] in
                try await runtime.spawner.spawn(
                    specification,
                    path: path,
                    incarnation: events.life.incarnation,
                    channels: channels,
                    for: "check",
                    within: timeout
                )
            }
            state.withLock { $0.checkStart = start }
            if exited.outcome != nil { start.giveUp(CoordinatorError.hasStopped(path)) }
            let spawned = try await start.value
            try? await runtime.processBegan(spawned.family)
            let end = OneShot<ExitStatus>()
            spawned.process.onExit { end.settle($0) }
            state.withLock { $0.check = spawned.process }
            // The program may have ended meanwhile, and its end waits for this.
            let limit = exited.outcome == nil ? timeout : .zero
            let status = await Patience.wait(for: end, atMost: limit, reading: runtime.spawner.spawner.readPending)
            if status == nil { _ = await spawned.process.terminate(grace: .zero) }
            state.withLock { $0.check = nil }
            await self.end(spawned.family)
            guard let status else { return "no end within \(timeout)" }
            if status == .exited(code: 0) { return nil }
            // Nothing is left that could hold the output open, except what has left the program's descendants.
            _ = await line.end.value(before: .now + .milliseconds(100))
            return "\(command.first ?? "") \(ExitReason(status))" + (line.text.map { ": \($0)" } ?? "")
        } catch {
            return "\(error)"
        }
    }

    // MARK: Signs of life

    /// Ends the program when it gives no sign of life for too long.
    private func watchSigns() async {
        func isLate() -> Bool { state.withLock { state in state.watchdog.map { state.lastSign + $0 <= .now } ?? false } }
        while let (time, due) = state.withLock({ state in state.watchdog.map { ($0, state.lastSign + $0) } }) {
            let (status, lost) = await Patience.wait(for: exited, until: due, of: time)
            if status != nil { return }
            state.withLock { $0.lastSign = $0.isPaused ? .now : $0.lastSign + lost }
            if isStopping { return }
            guard isLate() else { continue }
            await runtime.spawner.spawner.readPending()
            if isStopping || exited.outcome != nil { return }
            guard isLate() else { continue }
            logger.error("a program has given no sign of life, and is ended", metadata: ["coordinator.path": "\(path)"])
            return await end(because: .hung, by: .abort)
        }
    }

    // MARK: Age

    /// Has the program replaced when it's old enough or too large.
    private func watchAge(_ recycling: Recycling, until over: OneShot<Void>) async {
        let end = recycling.nextAge.map { MonotonicTime.now + $0 }
        let (wished, limit) = (recycling.memory, specification.memoryLimit)
        while true {
            let next = wished == nil && limit == nil ? end ?? .now : min(end ?? .now + Self.measuring, .now + Self.measuring)
            // After its time the program is still there until its parent has taken its turn.
            if await over.value(before: max(next, .now + .milliseconds(100))) != nil { return }
            if isStopping { return }
            let isOld = end.map { $0 <= .now } ?? false
            var isLarge = false
            if wished != nil || limit != nil, let bytes = process.flatMap({ FamilyUsage.residentBytes(of: $0) }) {
                isLarge = bytes > wished ?? .max
                if let limit, bytes > limit { return await self.end(because: .memoryExceeded(bytes: bytes, limit: limit)) }
            }
            if isOld || isLarge { events.send(.recyclingDue) }
        }
    }
}
