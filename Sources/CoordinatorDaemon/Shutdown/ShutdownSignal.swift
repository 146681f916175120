import ConcurrencySupport
import Coordinators
import Processes
import Supervision

/// The daemon's shutdown, requested by signals and by operators, who can wait for it and hasten it.
final class ShutdownSignal: Sendable {
    /// The time that running processes are given after a second request.
    static let hurriedGrace = Duration.seconds(1)

    private let runtime: CoordinatorRuntime
    private let asked = OneShot<Cause?>()
    private let hastening = OneShot<Void>()
    private let completion = OneShot<Void>()
    private let hurry = Lock(Hurry())

    /// The end of a child that ends the daemon.
    struct Cause {
        let path: CoordinatorPath
        let reason: ExitReason
    }

    private struct Hurry {
        /// The shortest time that was granted so far; nil means the times of the configuration.
        var shutdown: Shutdown?
        /// Whether the tree has been hastened, which is possible only while it stops.
        var isKnown = true
    }

    init(_ runtime: CoordinatorRuntime) { self.runtime = runtime }

    /// Requests the shutdown; the second call does nothing.
    func request() { asked.settle(nil) }

    /// Requests the shutdown because of a child's end.
    func request(because cause: Cause) { asked.settle(cause) }

    /// The end of a child that has requested the shutdown before anyone else has.
    var cause: Cause? { asked.outcome ?? nil }

    /// Requests the shutdown, with a limit to the time that each running process is given.
    func hasten(_ shutdown: Shutdown) {
        hurry.withLock { hurry in
            if hurry.shutdown != .brutalKill { hurry.shutdown = shutdown }
            hurry.isKnown = false
        }
        request()
        hastening.settle()
        hastenTree()
    }

    /// Whether the shutdown was requested.
    var isRequested: Bool { asked.outcome != nil }

    /// Waits until a second request has limited the time of the shutdown, or the waiting task is cancelled.
    func hastened() async { _ = await hastening.valueUnlessCancelled() }

    /// Waits until the shutdown is requested or the waiting task is cancelled.
    func requested() async { _ = await asked.valueUnlessCancelled() }

    /// Stops the tree.
    func carryOut() async {
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await self.runtime.stop() }
            group.addTask { await self.hastenAgain() }
            await group.next()
            group.cancelAll()
        }
        completion.settle()
    }

    /// Waits until the tree has stopped.
    func completed() async { _ = await completion.valueUnlessCancelled() }

    private func hastenTree() {
        guard let shutdown = hurry.withLock({ $0.isKnown ? nil : $0.shutdown }), runtime.hasten(shutdown) else { return }
        // A process that is just starting is killed by the next call.
        hurry.withLock { $0.isKnown = $0.shutdown != .brutalKill }
    }

    /// Hastens the tree again and again: processes that are being started now don't learn of the first call.
    private func hastenAgain() async {
        while !Task.isCancelled {
            hastenTree()
            try? await Task.sleep(for: .milliseconds(100))
        }
    }
}

extension ExitReason {
    /// The exit code of a program that stands for one that has ended for this reason, as a shell has it.
    var shellExitCode: Int32 {
        switch self {
        case .normal, .shutdown: 0
        case .exited(let code): code
        case .signaled(let signal): 128 + signal
        case .memoryExceeded: 128 + Signal.kill.rawValue
        default: 1
        }
    }
}
