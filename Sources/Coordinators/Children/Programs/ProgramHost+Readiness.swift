import ConcurrencySupport
import Glibc
import Links
import Logging
import Processes

/// The start of a program, from its process to its readiness.
extension ProgramHost {
    /// Waits until the program is ready, and has run for as long as it must.
    ///
    /// - Throws: An error when the program has ended before, or wasn't ready in time; nothing is left of it then.
    func becomeReady(since began: MonotonicTime) async throws {
        if specification.isOneshot { return try await runToEnd(since: began) }
        if specification.readiness != .running {
            try await awaitReadiness(since: began)
        }
        if specification.startSeconds > .zero {
            _ = await gone.value(before: began + specification.startSeconds)
            // An end within that time may not have been heard yet.
            await runtime.processes.spawner.spawner.readPending()
        }
        let mustHaveRun = specification.readiness != .running || specification.startSeconds > .zero
        // An end that has begun counts, so that no program that ends is reported as ready.
        if mustHaveRun, exited.outcome != nil { try failed(await gone.value) }
        if state.withLock({ $0.ending.grace != nil }) {
            _ = await gone.value
            throw CoordinatorError.hasStopped(path)
        }
    }

    /// Waits until a program that runs once has ended as it should.
    private func runToEnd(since began: MonotonicTime) async throws {
        try await awaitReadiness(since: began)
        let status = await gone.value
        if state.withLock({ $0.ending.grace != nil }) || !reason(of: status).isNormal { try failed(status) }
    }

    private func awaitReadiness(since began: MonotonicTime) async throws {
        let limit = specification.startTimeout ?? (specification.isOneshot ? Self.forEver : runtime.options.startTimeout)
        state.withLock { $0.startDeadline = max($0.startDeadline, began + limit) }
        if let (probe, interval, timeout) = specification.readiness.trials {
            tasks.add { await self.tryUntilReady(probe, interval, timeout) }
        }
        while true {
            let deadline = state.withLock { state in
                // A program that is paused gets all of the time anew.
                if state.isPaused { state.startDeadline = max(state.startDeadline, .now + limit) }
                return state.startDeadline
            }
            let wait = await Patience.wait(for: readiness, until: deadline, of: limit)
            if wait.outcome != nil { return }
            let (isLate, isPaused) = state.withLock { state in
                state.startDeadline = state.startDeadline + wait.lost
                return (MonotonicTime.now >= state.startDeadline, state.isPaused)
            }
            guard isLate, !isPaused else { continue }
            await runtime.processes.spawner.spawner.readPending()
            if readiness.outcome != nil { return }
            // The program may have asked for more time.
            if state.withLock({ MonotonicTime.now < $0.startDeadline }) { continue }
            logger.error("a program was not ready in time", metadata: ["coordinator.path": "\(path)", "limit": "\(limit)"])
            await end(because: .startTimedOut)
            try failed(await gone.value)
        }
    }

    /// Throws the error of a start whose program has ended.
    private func failed(_ status: ExitStatus) throws {
        if state.withLock({ $0.ending.grace != nil }) { throw CoordinatorError.hasStopped(path) }
        let reason = reason(of: status)
        throw StartFailure(reason: reason, description: "\(path) \(reason)\(specification.isOneshot ? "" : " before it was ready")")
    }

    private func tryUntilReady(_ probe: HealthCheck.Probe, _ interval: Duration, _ timeout: Duration) async {
        var pause = Duration.zero
        while await exited.value(before: .now + pause) == nil {
            pause = max(interval, .milliseconds(1))
            if state.withLock({ $0.isPaused }) { continue }
            if await problem(by: probe, within: timeout) == nil {
                readiness.settle()
                return
            }
        }
    }

    // MARK: What the program says

    /// Returns the ways by which the program can say something, and the variables that name them.
    ///
    /// - Parameter files: The files of a program that may outlive this process.
    func makeChannels(_ files: ProgramFiles?) throws -> ProgramChannels {
        var channels = ProgramChannels()
        if case .descriptor(let target) = specification.readiness {
            channels.list.append(.pipe(target: target, at: files?.channel) { [weak self] bytes in self?.wrote(bytes) })
        }
        if let search = try lineSearch() { channels.sees = { search.search($0, isError: $1) } }
        guard specification.readiness == .notify || specification.watchdog != nil else { return channels }
        do throws(LinkError) {
            let name = RuntimeFiles.notifyName(of: path.description, events.life.incarnation)
            let socket = try runtime.processes.directory.socketPath(name)
            if specification.attributes.user != nil { runtime.processes.directory.letOthersPass() }
            // A former life of another runtime may have left one.
            runtime.processes.directory.removeFile(name)
            channels.list.append(.datagrams(path: socket) { [weak self] bytes in self?.sent(bytes) })
            channels.variables["NOTIFY_SOCKET"] = socket
        } catch {
            throw CoordinatorError(.spawnFailed, "\(path): \(error)")
        }
        if let watchdog = specification.watchdog {
            channels.variables["WATCHDOG_USEC"] = String(max(1, watchdog.wholeMicroseconds))
        }
        return channels
    }

    /// Returns the search for the line that shows that the program is ready; nil when it shows that in another way.
    func lineSearch() throws -> LineSearch? {
        guard case .log(let text) = specification.readiness else { return nil }
        guard runtime.processes.spawner.output.isCaptured else {
            let advice = "have the runtime capture output, by `options.workerOutput`, or choose another readiness"
            throw CoordinatorError(.invalidSpecification, "\(path) is ready by a line of its output, which isn't captured: \(advice)")
        }
        do throws(LinePattern.Problem) {
            return LineSearch(try LinePattern(text)) { [weak self] in self?.readiness.settle() }
        } catch {
            throw CoordinatorError(.invalidSpecification, "\(path): \(error.message)")
        }
    }

    /// Takes what the program has written to its descriptor: the line's end means that it's ready.
    func wrote(_ bytes: [UInt8]) {
        if bytes.contains(UInt8(ascii: "\n")) { readiness.settle() }
    }

    func sent(_ datagram: [UInt8]) {
        for notice in ProgramNotice.notices(in: datagram) { follow(notice) }
    }

    private func follow(_ notice: ProgramNotice) {
        switch notice {
        case .ready:
            state.withLock { $0.lastSign = .now }
            if specification.readiness == .notify { readiness.settle() }
        case .stopping: state.withLock { $0.condition.isStopping = true }
        case .status(let text): state.withLock { $0.condition.status = text.isEmpty ? nil : text }
        case .alive: state.withLock { $0.lastSign = .now }
        case .hung:
            guard specification.watchdog != nil else { return }
            tasks.add { await self.end(because: .hung, by: .abort) }
        case .watchdogChanged(let time):
            state.withLock { if $0.watchdog != nil { $0.watchdog = time } }
            keep()
        case .timeoutExtended(let time): state.withLock { $0.startDeadline = max($0.startDeadline, .now + time) }
        }
    }
}

// MARK: - While the program runs

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
        while true {
            let (begun, due) = (MonotonicTime.now, MonotonicTime.now + check.interval)
            if await over.value(before: due) != nil { return }
            // The program may have stood still with the daemon.
            graceEnd = graceEnd + Patience.loss(since: begun, due: due)
            let (mustWait, pauses) = state.withLock { ($0.isPaused || $0.condition.isStopping, $0.pauses) }
            if mustWait || isStopping { continue }
            let (problem, lost) = await timed(check)
            graceEnd = graceEnd + lost
            if over.isSettled || isStopping { return }
            // A check during which the daemon or the program stood still says nothing of the program.
            if problem != nil, lost > .zero || state.withLock({ $0.pauses }) != pauses { continue }
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

    /// Asks once.
    ///
    /// - Returns: A description of the failure; nil when the answer is as it should be. And the time in which the daemon stood still meanwhile.
    private func timed(_ check: HealthCheck) async -> (problem: String?, lost: Duration) {
        let outcome = OneShot<String?>()
        // None that the program's end waits for but a command, which is one of `checks`.
        tasks.add { [self] in outcome.settle(await problem(by: check.probe, within: check.timeout)) }
        // A process of a check takes a moment longer than its time.
        var deadline = PatientDeadline(check.timeout + Self.usualDelay)
        guard let problem = await Patience.wait(for: outcome, until: &deadline) else { return (await outcome.value, deadline.lost) }
        _ = deadline.look()
        return (problem, deadline.lost)
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
        if runtime.observation.lives.areWanted {
            let change = LifecycleRecord.Kind.health(problem: health.isUnhealthy ? health.problem ?? "" : nil)
            runtime.observation.lives.add(LifecycleRecord(change, of: path, events.life.incarnation, process?.processID))
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
        channels.takesWholeOutput = { line.append($0) }
        do {
            let (specification, channels) = (check, channels)
            let start = pending(in: tasks) { [self] in
                try await runtime.processes.spawner.spawn(
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
            let status = await Patience.wait(for: end, atMost: limit, reading: runtime.processes.spawner.spawner.readPending)
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
            await runtime.processes.spawner.spawner.readPending()
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

// MARK: - What a program sends by sd_notify(3)

/// One variable that a program has sent by sd_notify(3).
///
/// Follows https://www.freedesktop.org/software/systemd/man/latest/sd_notify.html; variables that aren't here are ignored.
enum ProgramNotice: Sendable, Hashable {
    /// The program is ready.
    case ready
    /// The program has begun to stop.
    case stopping
    /// The state of the program, for operators.
    case status(String)
    /// The program lives.
    case alive
    /// The program asks to be ended as if it had been silent for too long.
    case hung
    /// The program asks for another time between signs of life.
    case watchdogChanged(Duration)
    /// The program asks for more time to become ready, from now on.
    case timeoutExtended(Duration)

    /// The length of the longest state that is kept, in characters.
    private static let maximumStatus = 256

    /// Reads a datagram: one variable a line.
    static func notices(in datagram: [UInt8]) -> [ProgramNotice] {
        String(decoding: datagram, as: UTF8.self).split(separator: "\n").compactMap { line in
            let parts = line.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            return parts.count == 2 ? notice(parts[0], parts[1]) : nil
        }
    }

    private static func notice(_ name: Substring, _ value: Substring) -> ProgramNotice? {
        switch (name, value) {
        case ("READY", "1"): .ready
        case ("STOPPING", "1"): .stopping
        case ("STATUS", _): .status(String(value.prefix(maximumStatus)))
        case ("WATCHDOG", "1"): .alive
        case ("WATCHDOG", "trigger"): .hung
        case ("WATCHDOG_USEC", _): microseconds(value).map { .watchdogChanged($0) }
        case ("EXTEND_TIMEOUT_USEC", _): microseconds(value).map { .timeoutExtended($0) }
        default: nil
        }
    }

    /// A time; a year at most, so that no sum overflows.
    private static func microseconds(_ text: Substring) -> Duration? {
        guard let count = Int64(text), count > 0 else { return nil }
        return .microseconds(min(count, 365 * 86_400 * 1_000_000))
    }
}

// MARK: - Lines in what a program writes

/// The search for a line in what a program writes.
final class LineSearch: Sendable {
    /// The length of the longest line that is compared whole; of a longer one it's the beginning.
    private static let maximumLength = 4_096

    private struct State {
        /// The beginnings of the lines of standard output and standard error that haven't ended yet.
        var lines: [Bool: [UInt8]] = [:]
        var isOver = false
    }

    private let pattern: LinePattern
    private let found: @Sendable () -> Void
    private let state = Lock(State())

    /// - Parameter found: The function that is called once, for the first line with the pattern, on the thread that drains the output.
    init(_ pattern: LinePattern, found: @escaping @Sendable () -> Void) { (self.pattern, self.found) = (pattern, found) }

    func search(_ bytes: [UInt8], isError: Bool) {
        let isFound = state.withLock { state in
            if state.isOver { return false }
            var line = state.lines.removeValue(forKey: isError) ?? []
            for piece in bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false) {
                line += piece.prefix(Self.maximumLength - line.count)
                // The last piece has no end yet.
                guard piece.endIndex < bytes.endIndex else { break }
                state.isOver = pattern.matches(String(decoding: line, as: UTF8.self))
                if state.isOver { return true }
                line = []
            }
            state.lines[isError] = line
            return false
        }
        if isFound { found() }
    }
}

/// The first line that a command has written, and the signal that no more comes.
final class FirstLine: Sendable {
    private static let maximumLength = 256

    private let bytes = Lock([UInt8]())
    let end = OneShot<Void>()

    func append(_ piece: [UInt8]) {
        if piece.isEmpty { end.settle() }
        bytes.withLock { $0 += piece.prefix(Self.maximumLength - $0.count) }
    }

    /// The line; nil when there is none.
    var text: String? {
        let line = bytes.withLock { $0 }.split(separator: UInt8(ascii: "\n")).first.map { String(decoding: $0, as: UTF8.self) }
        return line.flatMap { $0.allSatisfy(\.isWhitespace) ? nil : $0 }
    }
}
