import ConcurrencySupport
import Control
import Coordinators
import Glibc
import Logging
import Processes
import Synchronization
import WireProtocol

/// The receiver that carries out the requests that signals stand for.
///
/// No signal that can be caught ends the daemon before its children have ended.
final class SignalReceiver: Sendable {
    private enum Meaning {
        case stop, reload, reopenLogs, dump, nothing
    }

    /// The time that killed processes are given to disappear before the daemon ends regardless.
    private static let patience = Duration.seconds(5)

    private let runtime: CoordinatorRuntime
    private let shutdown: ShutdownSignal
    private let keeper: ConfigurationKeeper
    private let output: DaemonOutput
    private let logger: Logger
    private let stops = Atomic(0)
    /// The requests that aren't urgent, carried out one after the other.
    private let requests: AsyncStream<Meaning>
    private let inbox: AsyncStream<Meaning>.Continuation

    init(runtime: CoordinatorRuntime, shutdown: ShutdownSignal, keeper: ConfigurationKeeper, output: DaemonOutput, logger: Logger) {
        self.runtime = runtime
        self.shutdown = shutdown
        self.keeper = keeper
        self.output = output
        self.logger = logger
        (requests, inbox) = AsyncStream.makeStream(bufferingPolicy: .bufferingOldest(16))
    }

    /// Begins to receive signals.
    func begin() throws(ProcessError) {
        try ReceivedSignal.receiveAll { [weak self] in self?.received($0) }
    }

    /// Carries out the requests that aren't urgent, until `end`; one that takes its time doesn't delay the next.
    func run() async {
        await withDiscardingTaskGroup { group in
            for await request in requests { group.addTask { await self.carryOut(request) } }
            // A file that is being read may hang.
            group.cancelAll()
        }
    }

    func end() { inbox.finish() }

    private func received(_ received: ReceivedSignal) {
        var metadata: Logger.Metadata = ["signal": "\(received.signal)"]
        if let pid = received.senderProcessID { metadata["sender.pid"] = "\(pid)" }
        if let user = received.senderUserID { metadata["sender.uid"] = "\(user)" }
        switch Self.meaning(of: received.signal) {
        case .stop: stop(metadata)
        case .nothing: logger.notice("a signal that means nothing here was ignored", metadata: metadata)
        case let other:
            logger.notice("a signal was received", metadata: metadata)
            if other == .reload { requestReload() } else { inbox.yield(other) }
        }
    }

    /// Has the tree follow the daemon's configuration file, as after SIGHUP.
    func requestReload() {
        // An upgrade that begins before the change is made leaves it to the next daemon.
        keeper.beginReload()
        if case .enqueued = inbox.yield(.reload) { return }
        keeper.endReload()
    }

    /// Begins the shutdown with the first signal, hastens it with the second and kills with the third.
    private func stop(_ metadata: Logger.Metadata) {
        switch stops.add(1, ordering: .relaxed).newValue {
        case 1:
            logger.notice("a signal asks for the end", metadata: metadata)
            shutdown.request()
        case 2:
            logger.notice("a second signal asks for the end: what still runs has a second", metadata: metadata)
            shutdown.hasten(.timeout(ShutdownSignal.hurriedGrace))
        case 3:
            logger.warning("a third signal asks for the end: what still runs is killed", metadata: metadata)
            shutdown.hasten(.brutalKill)
            endRegardless()
        default: break
        }
    }

    /// Ends the daemon after a third signal even when its tree doesn't end; parent-death signals kill the children.
    ///
    /// No one awaits the task: it ends the process.
    private func endRegardless() {
        // Without an owner that could cancel it: the process ends with it.
        Task { [output, logger] in
            try? await Task.sleep(for: Self.patience)
            logger.error("the daemon ends although its tree hasn't")
            await output.flush(within: .seconds(1))
            _exit(1)
        }
    }

    private func carryOut(_ meaning: Meaning) async {
        switch meaning {
        case .stop, .nothing: break
        case .reload: await reload()
        case .reopenLogs: logger.notice("the children's log files are opened anew at their next lines, if they were renamed")
        case .dump: await dump()
        }
    }

    /// Has the tree follow the daemon's configuration file, as `coordinatorctl config apply` does.
    private func reload() async {
        defer { keeper.endReload() }
        do {
            _ = try await keeper.apply(nil)
        } catch  where error.code == .badConfiguration {
            for problem in error.message.split(separator: "\n") {
                logger.error("the configuration file has a problem; nothing was applied", metadata: ["problem": "\(problem)"])
            }
        } catch {
            logger.error("the configuration file can't be applied", metadata: ["error": "\(error)"])
        }
    }

    private func dump() async {
        do {
            log(try await runtime.snapshot())
        } catch {
            logger.notice("there is no tree to be described", metadata: ["error": "\(error)"])
        }
    }

    private func log(_ snapshot: CoordinatorSnapshot) {
        var metadata: Logger.Metadata = [
            "coordinator.path": "\(snapshot.path)",
            "state": "\(snapshot.shownState.rawValue)",
            "incarnation": "\(snapshot.incarnation)",
            "restarts": "\(snapshot.restarts)",
        ]
        if let pid = snapshot.processID { metadata["worker.pid"] = "\(pid)" }
        if let exit = snapshot.lastExit { metadata["last.exit"] = "\(exit)" }
        logger.notice("in the tree", metadata: metadata)
        for child in snapshot.children { log(child) }
    }

    private static func meaning(of signal: Signal) -> Meaning {
        switch signal.rawValue {
        case SIGHUP: .reload
        case SIGUSR1: .reopenLogs
        case SIGQUIT: .dump
        case SIGUSR2: .nothing
        // Realtime signals begin after those of signal(7)'s table; the C library keeps the first two.
        case 32...: .nothing
        default: .stop
        }
    }
}
