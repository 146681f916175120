public import Supervision
package import WireProtocol

/// The state of a coordinator and its subtree at one moment.
public struct CoordinatorSnapshot: Sendable, Hashable {
    /// The process that runs the coordinator.
    public enum Host: String, Sendable, Hashable, Codable {
        /// The process of the parent.
        case inProcess = "in_process"
        /// A worker process of its own.
        case worker
        /// A process of its own that runs a plain program.
        case program
    }

    /// The messages of a coordinator.
    public struct Mailbox: Sendable, Hashable {
        /// The number of messages that wait: in the mailbox, on their way to the coordinator's executor, or for the coordinator to be started
        /// again.
        ///
        /// One whose asker has given up doesn't count.
        public var waiting: Int
        /// The number of messages whose handlers have begun and not ended.
        ///
        /// An ask of a row that doesn't await, of an idle coordinator in its asker's process, isn't counted while it's handled.
        public var running: Int
        /// The time for which the oldest waiting message has waited, since it was sent or has arrived in the coordinator's process; `nil`
        /// when none waits.
        public var oldestWaiting: Duration?
        /// The number of messages that this incarnation has handled, those included whose handlers have thrown.
        public var handled: UInt64
        /// The number of handlers that run on though their messages were cancelled longer than ``Coordinator/cancellationGrace`` ago.
        public var stuck: Int

        /// Creates the description of a mailbox.
        public init(waiting: Int = 0, running: Int = 0, oldestWaiting: Duration? = nil, handled: UInt64 = 0, stuck: Int = 0) {
            (self.waiting, self.running, self.oldestWaiting, self.handled) = (waiting, running, oldestWaiting, handled)
            self.stuck = stuck
        }
    }

    /// The result of a program's health checks.
    public struct Health: Sendable, Hashable, Codable {
        /// Whether the last check has succeeded.
        public var isHealthy: Bool
        /// The number of checks in a row that have failed.
        public var failures: Int
        /// The failure of the last check.
        public var problem: String?
        /// Whether as many checks in a row have failed as ``HealthCheck/retries`` says: the program is unhealthy until a check succeeds.
        public var isUnhealthy: Bool

        // Not private, since the decoder is in another file.
        enum CodingKeys: String, CodingKey { case isHealthy, failures, problem, isUnhealthy }

        /// Creates the result.
        public init(isHealthy: Bool, failures: Int = 0, problem: String? = nil, isUnhealthy: Bool = false) {
            (self.isHealthy, self.failures, self.problem, self.isUnhealthy) = (isHealthy, failures, problem, isUnhealthy)
        }
    }

    /// What is known of a program beside its process.
    struct Condition: Sendable, Hashable {
        var status: String?
        var health: Health?
        /// Whether the program has said that it stops.
        var isStopping = false
    }

    /// The coordinator's place in the tree.
    public var path: CoordinatorPath
    /// The coordinator's type, or the program's name.
    public var type: String
    /// The state of the coordinator.
    public var state: CoordinatorState
    /// The process that runs the coordinator: see ``Placement`` for the choice.
    public var host: Host
    /// The number of the process that hosts the coordinator.
    public var processID: Int32?
    /// The start time of that process, in clock ticks since boot: together with the number it identifies the process.
    public var processStartTime: UInt64?
    /// The number of the current incarnation, counted from 1.
    public var incarnation: UInt32
    /// The number of restarts by supervision after failures; restarts by an operator or by recycling aren't counted.
    public var restarts = 0
    /// The number of incarnations that were killed, or abandoned, because they didn't stop within their time.
    public var forcedKills = 0
    /// The number of restarts in a row, from 1, while the coordinator waits for its next start.
    public var restartAttempt: Int?
    /// The time until the next start, while the coordinator waits for it.
    public var nextStart: Duration?
    /// The time for which the coordinator has been stopping.
    public var stopping: Duration?
    /// The time that the coordinator was given to stop, while it's stopping; `nil`: any.
    public var stopTimeout: Duration?
    /// The time for which the coordinator has been ready.
    public var uptime: Duration?
    /// The reason why the previous incarnation ended.
    public var lastExit: ExitReason?
    /// Whether the coordinator's process didn't answer in time, so that its children are unknown.
    public var isUnresponsive = false
    /// The time for which the executor of the worker's first coordinator has left a ping unanswered.
    ///
    /// One of the coordinator's rows is busy or blocked then, or all threads of the process are. `nil` when it answers, and of a coordinator that isn't a worker's first. A silence of less than three seconds, or three tenths of ``CoordinatorRuntime/Options/heartbeatTimeout`` if that is less, isn't shown.
    public var executorSilence: Duration?
    /// The messages of the coordinator; `nil` when they aren't known: of a program, of a coordinator that isn't running, and of one whose
    /// process doesn't answer, or doesn't tell.
    public var mailbox: Mailbox?
    /// The state that a program has sent as `STATUS=` by sd_notify(3), or since when the child's start hangs, because a file system doesn't
    /// answer.
    public var statusText: String?
    /// The health of a program by its ``HealthCheck``; `nil` before the first check, and without one.
    public var health: Health?
    /// The coordinator's children, in start order.
    public var children: [CoordinatorSnapshot] = []
}

extension CoordinatorSnapshot {
    /// The state as all front-ends show it: with what is known beside supervision's own state.
    package var shownState: ShownState {
        if isUnresponsive { return .unresponsive }
        return switch state {
        case .inactive: .inactive
        case .starting: .starting
        case .active: health?.isUnhealthy == true ? .unhealthy : .active
        case .paused: .paused
        case .stopping: .stopping
        case .restarting: .restarting
        case .failing: .failing
        case .failed: .failed
        }
    }

    /// The snapshot of the child when it's gone.
    var ended: CoordinatorSnapshot {
        var ended = self
        ended.state = .inactive
        (ended.processID, ended.processStartTime, ended.uptime, ended.mailbox, ended.children) = (nil, nil, nil, nil, [])
        // The exit that was the last one then isn't any more.
        (ended.restartAttempt, ended.nextStart, ended.stopping, ended.lastExit, ended.executorSilence) = (nil, nil, nil, nil, nil)
        (ended.statusText, ended.health, ended.stopTimeout) = (nil, nil, nil)
        return ended
    }
}
