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
            await runtime.spawner.spawner.readPending()
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
            await runtime.spawner.spawner.readPending()
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
        if let search = try lineSearch() { channels.sees = { search.take($0, isError: $1) } }
        guard specification.readiness == .notify || specification.watchdog != nil else { return channels }
        do throws(LinkError) {
            let name = RuntimeFiles.notifyName(of: path.description, events.life.incarnation)
            let socket = try runtime.directory.socketPath(name)
            if specification.attributes.user != nil { runtime.directory.letOthersPass() }
            // A former life of another runtime may have left one.
            runtime.directory.removeFile(name)
            channels.list.append(.datagrams(path: socket) { [weak self] bytes in self?.sent(bytes) })
            channels.variables["NOTIFY_SOCKET"] = socket
        } catch {
            throw CoordinatorError(.spawnFailed, "\(path): \(error)")
        }
        if let watchdog = specification.watchdog {
            channels.variables["WATCHDOG_USEC"] = String(max(1, Int64(watchdog / .microseconds(1))))
        }
        return channels
    }

    /// Returns the search for the line that shows that the program is ready; nil when it shows that in another way.
    func lineSearch() throws -> LineSearch? {
        guard case .log(let text) = specification.readiness else { return nil }
        guard runtime.spawner.output.isCaptured else {
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
        for notice in ProgramNotice.notices(in: datagram) { take(notice) }
    }

    private func take(_ notice: ProgramNotice) {
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

/// The ways by which a program can say something, and the variables that name them to it.
struct ProgramChannels: Sendable {
    var list: [ProcessChannel] = []
    /// The function that sees the output, and whether it's standard error, beside the runtime's receiver.
    var sees: (@Sendable ([UInt8], Bool) -> Void)?
    /// The function that takes all output instead of the runtime's receiver; no bytes mean that no more comes.
    var takesWholeOutput: (@Sendable ([UInt8]) -> Void)?
    var variables: [String: String] = [:]
}
