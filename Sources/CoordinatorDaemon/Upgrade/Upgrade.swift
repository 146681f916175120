import ConcurrencySupport
import Control
import Coordinators
import DaemonConfiguration
import Glibc
import Logging
import Processes
import WireProtocol

/// The upgrade of the running daemon: another executable takes this one's place, in the same process, and the children live on.
///
/// The workers are adopted, as those of a killed daemon are, and plain programs stay children of the process: their pipes are handed on.
final class Upgrade: Sendable {
    /// The time that is given at least, whatever is left, to what ends in a moment as a rule and refuses the upgrade otherwise.
    private static let leastWait = Duration.seconds(1)

    private let runtime: CoordinatorRuntime
    private let children: ConfiguredChildren
    private let keeper: ConfigurationKeeper
    private let shutdown: ShutdownSignal
    private let logs: ChildLogs
    private let events: EventLog
    private let output: DaemonOutput
    private let notifier: ServiceNotifier
    private let marker: UpgradeMarker
    private let image: ProgramImage
    private let logger: Logger
    private let server = Lock<ControlServer?>(nil)
    private let isUnderWay = Lock(false)

    init(
        runtime: CoordinatorRuntime,
        children: ConfiguredChildren,
        keeper: ConfigurationKeeper,
        shutdown: ShutdownSignal,
        logs: ChildLogs,
        events: EventLog,
        output: DaemonOutput,
        notifier: ServiceNotifier,
        directory: RuntimeDirectory,
        logger: Logger
    ) {
        self.runtime = runtime
        self.children = children
        self.keeper = keeper
        self.shutdown = shutdown
        self.logs = logs
        self.events = events
        self.output = output
        self.notifier = notifier
        self.logger = logger
        marker = UpgradeMarker(directory)
        image = .current()
    }

    /// Tells which server's requests are to be waited for.
    func use(_ server: ControlServer) { self.server.withLock { $0 = server } }

    /// What an operator has asked for.
    struct Request {
        let executable: String?
        let wait: Duration
        let isDryRun: Bool
        let requestID: String?
    }

    /// Checks the next executable, brings the daemon to rest, and runs the executable in its place.
    ///
    /// - Returns: Only for a dry run: otherwise the next daemon answers the request.
    /// - Throws: The reason why nothing has changed.
    func carryOut(_ request: Request) async throws(ControlError) -> JSONValue {
        let isFirst = isUnderWay.withLock { isUnderWay in
            defer { isUnderWay = true }
            return !isUnderWay
        }
        guard isFirst else { throw ControlError(.failed, "an upgrade is under way already; wait for its end") }
        defer { isUnderWay.withLock { $0 = false } }
        let (began, clock) = (Timestamp.nowMicroseconds, ContinuousClock.now)
        let next = try await NextExecutable(path: request.executable ?? image.executable)
        let version = try await next.version()
        try await check(next)
        var result = UpgradeResult(
            pid: getpid(),
            executable: next.path,
            version: version,
            formerVersion: Release.version,
            kept: keptPaths,
            restarted: runtime.endingWorkers.map(\.description).sorted(),
            endedAsks: false,
            durationMilliseconds: 0,
            pauseMilliseconds: 0,
            isDryRun: request.isDryRun
        )
        try await dryRun(next, request, result)
        if request.isDryRun {
            result.durationMilliseconds = (ContinuousClock.now - clock).wholeMilliseconds
            return try ControlJSON.value(of: result)
        }
        logger.notice("another executable takes the daemon's place", metadata: ["executable": "\(next.path)", "version": "\(version)"])
        try await replace(by: next, request, result, began: began)
    }

    /// The paths of the children that live on in the next program.
    private var keptPaths: [String] { (runtime.adoptableWorkers + runtime.programs).map(\.description).sorted() }

    /// Has the next executable check the file, and the configuration that's in effect, if that's another one.
    private func check(_ next: NextExecutable) async throws(ControlError) {
        try await next.check(keeper.file)
        let (text, path) = (keeper.text, keeper.file)
        let present = try? await BlockingCalls.shared.run("configuration to upgrade") { try? DaemonConfiguration.text(path: path) }
        guard present != text else { return }
        let file: Int32
        do throws(ProcessError) {
            file = try MemoryFile.write(Array(text.utf8))
        } catch {
            throw ControlError(.failed, error.message)
        }
        defer { close(file) }
        try await next.check("/proc/\(getpid())/fd/\(file)")
    }

    /// Has the next executable read what it would be left at this moment, while this one goes on serving.
    private func dryRun(_ next: NextExecutable, _ request: Request, _ result: UpgradeResult) async throws(ControlError) {
        try completeJournal("nothing was changed")
        let kept: [KeptProcess]
        do throws(ProcessError) {
            kept = try await ProcessSpawner.shared.survey()
        } catch {
            throw ControlError(.failed, error.message)
        }
        let now = Timestamp.nowMicroseconds
        let handover = handover(request, result, began: now, paused: now, children.resting(), kept, ListeningSocket.handovers)
        let file = try handover.write()
        defer { close(file) }
        try await next.dryRun(file, as: image, expecting: UpgradeDryRun(of: handover, by: result.version))
    }

    /// Has the record of processes name all that live: one that it doesn't name would be started again beside itself.
    private func completeJournal(_ outcome: String) throws(ControlError) {
        guard let failure = runtime.completeJournal() else { return }
        let reason = String(cString: strerror(failure))
        throw ControlError(.failed, "the record of processes can't be written: \(reason); \(outcome)")
    }

    private func handover(
        _ request: Request,
        _ result: UpgradeResult,
        began: Int64,
        paused: Int64,
        _ resting: [String: RestingChild],
        _ kept: [KeptProcess],
        _ sockets: [ListeningSocket.Handover],
        pausing ended: [String] = []
    ) -> DaemonHandover {
        DaemonHandover(
            configuration: keeper.text,
            instances: keeper.configuration.instances,
            runtime: runtime.handover(among: kept, pausing: ended),
            sockets: sockets,
            resting: resting,
            events: events.legacy,
            request: DaemonHandover.Request(
                id: request.requestID,
                executable: request.executable,
                waitMilliseconds: request.wait.wholeMilliseconds,
                result: result,
                began: began,
                paused: paused
            ),
            schedules: children.scheduler.withLock { $0 }?.legacy ?? Scheduler.Legacy()
        )
    }

    private func replace(
        by next: NextExecutable,
        _ request: Request,
        _ result: UpgradeResult,
        began: Int64
    ) async throws(ControlError) -> Never {
        let pauseBegan = Timestamp.nowMicroseconds
        var result = result
        // From here on operators wait.
        marker.set()
        notifier.reloading("another executable takes the daemon's place")
        server.withLock { $0 }?.suspend()
        var deadline = PatientDeadline(request.wait)
        while server.withLock({ $0 })?.hasOpenRequests == true, !deadline.look() {
            try? await Task.sleep(for: .milliseconds(2))
        }
        // Changes that operators have asked for are made by now; what signals ask for from here on is for the next daemon.
        let patience = deadline.left > Self.leastWait ? deadline : PatientDeadline(Self.leastWait)
        let hasTurn = await keeper.takeTurn(by: patience)
        var stopped: [ConfiguredChildren.Place] = []
        var paused: [String] = []
        let failure: ControlError
        do throws(ControlError) {
            guard hasTurn else { throw ControlError(.failed, "a change of the configuration is under way; nothing was changed") }
            try await waitForEndingPrograms(by: patience)
            result.endedAsks = await !rest(by: deadline)
            let pausedByName = runtime.pausedByName
            stopped = await stopEndingWorkers()
            let restarted = stopped.map(\.path.description).sorted()
            let endedPaused = pausedByName.filter(restarted.contains)
            paused = endedPaused
            result.restarted = restarted
            failure = try await run(next) { kept, sockets in
                // Now that nothing is spawned or reaped: what has been stopped, has ended or has begun during the wait stays so.
                result.kept = keptPaths
                let resting = children.resting().filter { path, rest in
                    // The next daemon starts what the upgrade has stopped, unless an operator had begun to.
                    !restarted.contains(path) || rest.isStopped == true && rest.isRestarting != true
                }
                return handover(request, result, began: began, paused: pauseBegan, resting, kept, sockets, pausing: endedPaused)
            }
        } catch {
            failure = error
        }
        ProcessSpawner.shared.release()
        await startAgain(stopped, pausing: paused)
        await runtime.releaseMessages()
        if hasTurn { keeper.releaseTurn() }
        server.withLock { $0 }?.readmit()
        server.withLock { $0 }?.resume()
        marker.remove()
        notifier.reloaded()
        logger.error("the executable could not take the daemon's place", metadata: ["error": "\(failure)"])
        throw failure
    }

    /// Waits until nothing is left of the programs that have ended by themselves: the next daemon would run them again.
    private func waitForEndingPrograms(by deadline: PatientDeadline) async throws(ControlError) {
        var deadline = deadline
        while let path = runtime.endingPrograms.first {
            guard !deadline.look() else {
                let reason = "what \(path) has left since its end, or its after_end, hasn't ended"
                throw ControlError(.failed, "\(reason); try again, or with a longer --wait; nothing was changed")
            }
            try? await Task.sleep(for: .milliseconds(2))
        }
    }

    /// Waits until no ask is open.
    ///
    /// - Returns: False when the time is over and some still are, or a request is.
    private func rest(by deadline: PatientDeadline) async -> Bool {
        let isAnswered = server.withLock { $0 }?.hasOpenRequests != true
        await runtime.holdMessages()
        return await runtime.waitUntilQuiet(by: deadline) && isAnswered
    }

    /// Stops the workers that the next program can't take over.
    ///
    /// - Returns: Those that are to be started again.
    private func stopEndingWorkers() async -> [ConfiguredChildren.Place] {
        var stopped: [ConfiguredChildren.Place] = []
        for path in runtime.endingWorkers {
            guard let place = children.place(of: path), let supervisor = place.siblings.supervisor else {
                _ = try? await runtime.stop(path)
                continue
            }
            let key = place.child.key
            // What an operator has begun to stop stays stopped.
            let isOperators = place.siblings.change(key) { $0.isStopWanted && !$0.isRestarting } ?? false
            let isStopped = (try? await supervisor.stop(key, isRestarting: !isOperators)) != nil
            if isStopped, !isOperators { stopped.append(place) }
        }
        return stopped
    }

    /// Starts workers again that were stopped for a next program that there isn't.
    private func startAgain(_ stopped: [ConfiguredChildren.Place], pausing paused: [String]) async {
        for place in stopped.reversed() {
            guard let supervisor = place.siblings.supervisor else { continue }
            place.siblings.recordExit(nil, of: place.child.key)
            try? await supervisor.attempt(place.child)
            supervisor.arrange()
            if paused.contains(place.path.description) { _ = try? await runtime.pause(place.path) }
        }
    }

    /// Runs the next executable; returns only when that has failed.
    private func run(
        _ next: NextExecutable,
        _ handover: ([KeptProcess], [ListeningSocket.Handover]) -> DaemonHandover
    ) async throws(ControlError) -> ControlError {
        let kept: [KeptProcess]
        do throws(ProcessError) {
            kept = try await ProcessSpawner.shared.hold()
        } catch {
            throw ControlError(.failed, error.message)
        }
        try completeJournal("the daemon goes on as before")
        let sockets = ListeningSocket.handovers
        var handover = handover(kept, sockets)
        // What children have written so far.
        await logs.flush(within: .seconds(1), breakingLines: true)
        await output.flush(within: .seconds(1))
        try checkShutdown()
        // Asks may have been waited for since the examinations.
        try await next.compare()
        // The last that operators hear of this program: what has no answer by now wasn't carried out.
        if let server = server.withLock({ $0 }) { await server.dismissAll() }
        // No signal that has come until now is lost.
        handover.isReloadWaiting = keeper.isReloadWaiting ? true : nil
        let file = try handover.write()
        defer { close(file) }
        try checkShutdown()
        let error = await ProcessSpawner.shared.replace(
            by: ProcessReplacement(
                executable: next.path,
                arguments: [Array(next.path.utf8)] + image.arguments.dropFirst(),
                environment: image.environment + [Array("\(DaemonHandover.variable)=\(file)".utf8)],
                descriptors: handover.runtime.descriptors + sockets.map(\.descriptor) + [file]
            )
        )
        return ControlError(.failed, "\(error.message); the daemon goes on as before")
    }

    private func checkShutdown() throws(ControlError) {
        if shutdown.isRequested { throw ControlError(.failed, "the daemon was told to stop meanwhile") }
    }
}
