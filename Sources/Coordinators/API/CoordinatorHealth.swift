import ConcurrencySupport
public import ServiceLifecycle
public import Supervision
import WireProtocol

/// The health of a tree, for the probes of an orchestrator or a load balancer.
public struct CoordinatorHealth: Sendable, Hashable, Codable {
    /// A reason why a tree isn't ready.
    public struct Finding: Sendable, Hashable, Codable, CustomStringConvertible {
        /// The coordinator's place in the tree.
        public var path: CoordinatorPath
        /// The state of the coordinator.
        public var state: CoordinatorState
        /// Whether the coordinator's process didn't answer in time.
        public var isUnresponsive: Bool
        /// The reason why the previous incarnation ended, if there was one.
        public var lastExit: ExitReason?
        /// The reason why nothing is known of the coordinator; of an unhealthy program, the failure of its last check.
        public var problem: String?
        /// Whether the health check of the program has failed too often.
        public var isUnhealthy = false
        /// The number of the coordinator's handlers that run on past their cancellation, if there are any.
        public var stuckHandlers: Int?
        /// The time for which the executor of the coordinator's worker has run nothing.
        public var executorSilence: Duration?
        /// The time for which the oldest message has waited, if that is suspicious.
        public var oldestWaiting: Duration?
        /// The number of durable flows of the coordinator's store that are parked, if there are any.
        public var parkedFlows: Int?

        /// The finding in words, such as `/cart is restarting, after: ended by signal 15`.
        public var description: String {
            let state = isUnresponsive ? ShownState.unresponsive.rawValue : isUnhealthy ? ShownState.unhealthy.rawValue : state.rawValue
            return "\(path) is \(state)" + (stuckHandlers.map { ", handlers that run on past their cancellation: \($0)" } ?? "")
                + (executorSilence.map { ", its executor silent for \($0)" } ?? "")
                + (oldestWaiting.map { ", its messages waiting for \($0)" } ?? "")
                + (parkedFlows.map { ", parked flows in its store: \($0)" } ?? "") + (lastExit.map { ", after: \($0)" } ?? "")
                + (problem.map { ": \($0)" } ?? "")
        }
    }

    /// Whether the tree works, or may begin to: false once it has ended, or a child of the root was given up, since no one but an operator, or
    /// a new process, mends that.
    public var isLive: Bool
    /// Whether the tree takes messages: its root is ready, and there are no findings.
    public var isReady: Bool
    /// The coordinators that aren't ready, in tree order.
    ///
    /// A coordinator of which a handler runs on past its cancellation is one of them; see ``Coordinator/cancellationGrace``. One that was
    /// stopped, or has ended as it should, isn't.
    public var findings: [Finding]

    /// The coordinators that somebody should look at, in tree order: they don't count against readiness, since they take messages.
    ///
    /// A coordinator is suspicious if the executor of its worker runs nothing, or if a message has waited for it longer than
    /// ``CoordinatorRuntime/Options/heartbeatTimeout``: its handler may be blocked, or wait for something that never comes. So is one whose store
    /// has a durable flow that is parked, which goes on only when an operator says how.
    public var suspicions: [Finding]

    /// Creates a health.
    public init(isLive: Bool, isReady: Bool, findings: [Finding] = [], suspicions: [Finding] = []) {
        (self.isLive, self.isReady, self.findings, self.suspicions) = (isLive, isReady, findings, suspicions)
    }

    /// Creates the health of a subtree that lives.
    ///
    /// - Parameter patience: The time for which a message may wait without suspicion.
    init(of snapshot: CoordinatorSnapshot, patience: Duration) {
        findings = snapshot.findings
        suspicions = snapshot.suspicions(patience)
        isLive = !snapshot.hasFailedChildOfRoot
        isReady = findings.isEmpty
    }
}

extension CoordinatorSnapshot {
    /// Whether this is a child of the root that was given up, or the root of one.
    fileprivate var hasFailedChildOfRoot: Bool {
        if path == .root { return children.contains { $0.state == .failed } }
        return path.parent == .root && state == .failed
    }

    fileprivate var findings: [CoordinatorHealth.Finding] {
        let isStuck = mailbox.map { $0.stuck > 0 } ?? false
        let isWell = !isStuck && [.active, .inactive].contains(shownState)
        return (isWell ? [] : [finding]) + children.flatMap(\.findings)
    }

    fileprivate func suspicions(_ patience: Duration) -> [CoordinatorHealth.Finding] {
        var finding = finding
        finding.executorSilence = executorSilence
        // What waits for a coordinator that is paused, or isn't there, waits for a known reason.
        finding.oldestWaiting = state == .active ? mailbox?.oldestWaiting.flatMap { $0 >= patience ? $0 : nil } : nil
        finding.parkedFlows = flows.flatMap { $0.parked > 0 ? $0.parked : nil }
        let isSuspicious = finding.executorSilence != nil || finding.oldestWaiting != nil || finding.parkedFlows != nil
        return (isSuspicious ? [finding] : []) + children.flatMap { $0.suspicions(patience) }
    }

    private var finding: CoordinatorHealth.Finding {
        var finding = CoordinatorHealth.Finding(path: path, state: state, isUnresponsive: isUnresponsive, lastExit: lastExit)
        finding.stuckHandlers = mailbox.flatMap { $0.stuck > 0 ? $0.stuck : nil }
        if shownState == .unhealthy { (finding.isUnhealthy, finding.problem) = (true, health?.problem) }
        return finding
    }
}

extension CoordinatorRuntime {
    /// Waits until the root is ready.
    ///
    /// `run` starts the tree in a task of its own; what must not begin before, such as an HTTP server, waits here.
    ///
    /// - Throws: The error that the root's start threw; `stopped` when the tree has ended before, or has never been started;
    ///   `CancellationError` when the waiting task is cancelled, which doesn't concern the tree.
    public func ready() async throws {
        guard let outcome = await begin.valueUnlessCancelled() else { throw CancellationError() }
        _ = try outcome.get()
        _ = try root
    }

    /// Returns the health of the tree, or of a part of it.
    ///
    /// Coordinators that only serve a part of what the program does can be left out by asking for the health of others.
    ///
    /// - Parameter path: The coordinator whose subtree is meant; the root by default. A path without a coordinator is a finding.
    public func health(of path: CoordinatorPath = .root) async -> CoordinatorHealth {
        switch progress {
        case .idle: return CoordinatorHealth(isLive: true, isReady: false)
        case .ended: return CoordinatorHealth(isLive: false, isReady: false)
        case .running: break
        }
        // A part of the tree doesn't take messages while the root is starting or stopping.
        guard case .success? = begin.outcome, !isStopping else {
            let state = isStopping ? CoordinatorState.stopping : .starting
            return CoordinatorHealth(isLive: true, isReady: false, findings: [.init(path: .root, state: state, isUnresponsive: false)])
        }
        do {
            return CoordinatorHealth(of: try await snapshot(of: path), patience: core.options.heartbeatTimeout)
        } catch {
            let finding = CoordinatorHealth.Finding(path: path, state: .inactive, isUnresponsive: false, problem: "\(error)")
            return CoordinatorHealth(isLive: true, isReady: false, findings: [finding])
        }
    }
}

extension CoordinatorRuntime {
    /// A service that makes the tree unready when its group shuts down gracefully, and then waits for ``Options/unreadyDelay``.
    ///
    /// A group shuts its services down in reverse: listed last, this one comes before the server, which goes on serving until load balancers have
    /// noticed.
    ///
    ///     let services: [any Service] = [runtime, server, runtime.readiness]
    ///
    /// Without it, the runtime does the same when its own turn comes.
    public var readiness: some Service { Readiness(runtime: self) }

    private struct Readiness: Service {
        let runtime: CoordinatorRuntime

        func run() async throws {
            try? await gracefulShutdown()
            await runtime.becomeUnready()
        }
    }
}
