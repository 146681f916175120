package import WireProtocol

/// One node of the tree: a coordinator or a program, with its descendants.
public struct TreeNode: Codable, Hashable, Sendable {
    /// The kinds of nodes.
    public enum Kind: String, CaseIterable, Codable, Hashable, Sendable {
        /// The daemon's own root.
        case root
        /// A coordinator.
        case coordinator
        /// A supervised program that doesn't use the library.
        case program
    }

    /// The kinds of processes in which a node can run.
    public enum Placement: String, CaseIterable, Codable, Hashable, Sendable {
        /// The process of its parent.
        case inProcess = "in_process"
        /// A worker process of its own.
        case worker
        /// The process of the program itself.
        case program
    }

    /// The messages of a coordinator.
    public struct Mailbox: Codable, Hashable, Sendable {
        /// The number of messages that wait.
        public var waiting: Int
        /// The number of messages whose handlers have begun and not ended.
        public var running: Int
        /// The milliseconds for which the oldest waiting message has waited; nil when none waits.
        public var oldestWaitingMilliseconds: Int64?
        /// The number of messages that the present life has handled.
        public var handled: UInt64
        /// The number of handlers that run on past their cancellation; nil when there are none.
        public var stuck: Int?
        /// The places in which messages wait, and for what; nil when none waits.
        public var places: [Place]?

        /// Messages that wait in one place.
        public struct Place: Codable, Hashable, Sendable {
            /// What they wait for: `handler`, `dependency`, `life` (the next one), `credit` (of the node's process), `member` (of the pool), `opening` (of the child
            /// with the key), `start` (of children after an adoption), `node` (of the cluster), or `parent`: those on their way up, which `waiting` doesn't count.
            public var reason: String
            /// The name of the child that it's about; nil when it's about none.
            public var key: String?
            /// The number of messages.
            public var waiting: Int
            /// The milliseconds for which the oldest of them has waited.
            public var oldestWaitingMilliseconds: Int64

            /// Creates the description of a place.
            public init(reason: String, key: String? = nil, waiting: Int, oldestWaitingMilliseconds: Int64) {
                (self.reason, self.key, self.waiting) = (reason, key, waiting)
                self.oldestWaitingMilliseconds = oldestWaitingMilliseconds
            }

            private enum CodingKeys: String, CodingKey {
                case reason, key, waiting
                case oldestWaitingMilliseconds = "oldest_waiting_ms"
            }
        }

        /// Creates the description of a mailbox.
        public init(
            waiting: Int = 0,
            running: Int = 0,
            oldestWaitingMilliseconds: Int64? = nil,
            handled: UInt64 = 0,
            stuck: Int? = nil,
            places: [Place]? = nil
        ) {
            self.waiting = waiting
            self.running = running
            self.oldestWaitingMilliseconds = oldestWaitingMilliseconds
            self.handled = handled
            self.stuck = stuck
            self.places = places
        }

        private enum CodingKeys: String, CodingKey {
            case waiting, running, handled, stuck, places
            case oldestWaitingMilliseconds = "oldest_waiting_ms"
        }
    }

    /// The durable flows of the store that a coordinator provides.
    public struct Flows: Codable, Hashable, Sendable {
        /// The number of flows that go on, or wait for messages.
        public var open: Int
        /// The number of flows whose pages are undone.
        public var unwinding: Int
        /// The number of flows that don't go on before an operator says how.
        public var parked: Int
        /// The number of flows that have something to do now.
        public var due: Int
        /// The milliseconds for which the first of them has had it; nil when none has.
        public var oldestDueMilliseconds: Int64?
        /// The milliseconds for which the first of the flows' messages that haven't come to their ends is under way, or should be; nil when there is none.
        public var outboxAgeMilliseconds: Int64?
        /// The microseconds that one of a hundred of the latest commits exceeds; nil before the first.
        public var commitP99Microseconds: Int64?

        /// Creates the numbers.
        public init(open: Int = 0, unwinding: Int = 0, parked: Int = 0, due: Int = 0) {
            (self.open, self.unwinding, self.parked, self.due) = (open, unwinding, parked, due)
        }

        /// The numbers of the flows that aren't over, by status.
        package var byStatus: KeyValuePairs<String, Int> { ["open": open, "unwinding": unwinding, "parked": parked] }

        private enum CodingKeys: String, CodingKey {
            case open, unwinding, parked, due
            case oldestDueMilliseconds = "oldest_due_ms"
            case outboxAgeMilliseconds = "outbox_age_ms"
            case commitP99Microseconds = "commit_p99_us"
        }
    }

    /// The result of a program's health checks.
    public struct Health: Codable, Hashable, Sendable {
        /// Whether the last check has succeeded.
        public var healthy: Bool
        /// The number of checks in a row that have failed.
        public var failures: Int
        /// The failure of the last check; nil when it has succeeded.
        public var problem: String?

        /// Creates the result.
        public init(healthy: Bool, failures: Int = 0, problem: String? = nil) {
            self.healthy = healthy
            self.failures = failures
            self.problem = problem
        }
    }

    /// The node's name among its siblings; `/` for the root.
    public var key: String
    /// The node's path, such as `/shop/cart`.
    public var path: String
    /// The coordinator's type, or the program's name.
    public var type: String
    /// The node's kind.
    public var kind: Kind
    /// The state: `inactive`, `waiting` (it's started once others let it), `starting`, `active`, `paused`, `stopping`,
    /// `restarting`, `failing` (restarted for the third time in a row or more), `unhealthy`, `failed` or `unresponsive`.
    public var state: String
    /// The process in which the node runs; nil when it doesn't.
    public var pid: Int32?
    /// The number of the node's present life, counted from 1; 0 before the first.
    public var incarnation: UInt32
    /// The number of times that its supervisor has restarted the node.
    public var restarts: Int
    /// The number of the node's lives that were killed because they didn't stop within their time; nil when there are none.
    public var forcedKills: Int?
    /// The number of restarts in a row, from 1; nil unless the node waits for its next start.
    public var restartAttempt: Int?
    /// The paths of what the node isn't started without, or before, while it waits; nil when that isn't known, and of one that doesn't wait.
    public var waitsFor: [String]?
    /// The milliseconds until the next start: of a node that waits for its restart, or of one that has times, at which it runs; nil of others.
    public var nextStartMilliseconds: Int64?
    /// The milliseconds since the node was told to stop; nil unless it is stopping.
    public var stoppingMilliseconds: Int64?
    /// The milliseconds that the node was given to stop; nil unless it is stopping, and when it may take any time.
    public var stopTimeoutMilliseconds: Int64?
    /// The milliseconds since the node became active; 0 when it isn't.
    public var uptimeMilliseconds: Int64
    /// The kind of process in which the node runs.
    public var placement: Placement
    /// The milliseconds for which the executor of the node's worker has run nothing; nil when it answers.
    public var executorSilenceMilliseconds: Int64?
    /// The end of the node's previous life, such as `exited with code 1` or `ended by signal 15`.
    public var lastExit: String?
    /// The exit code with which the previous life ended; nil when it ended otherwise, or that isn't known.
    public var lastExitCode: Int32?
    /// The number of the signal that ended the previous life; nil when none did, or that isn't known.
    public var lastExitSignal: Int32?
    /// Whether the node has ended by itself and isn't started again; nil: it hasn't, or isn't known to have.
    public var hasEnded: Bool?
    /// The node's messages; nil when they aren't known, and of a program.
    public var mailbox: Mailbox?
    /// The durable flows of the node's store; nil when it provides none, or they aren't known.
    public var flows: Flows?
    /// The state that a program has sent as `STATUS=` by sd_notify(3).
    public var statusText: String?
    /// The result of a program's health checks; nil before the first one.
    public var health: Health?
    /// The node of the cluster that owns the subtree; nil when none does, and of what the cluster doesn't place.
    public var clusterNode: String?
    /// Whether that node is another one than the daemon's own, so that the processes are on another machine.
    public var isElsewhere: Bool?
    /// The last lines that the node and its descendants have written; nil unless `status` was asked for them.
    public var log: [LogLine]?
    /// The node's children, in the order of their starts.
    public var children: [TreeNode]

    /// Creates a node.
    public init(
        key: String,
        path: String,
        type: String,
        kind: Kind,
        state: String,
        pid: Int32? = nil,
        incarnation: UInt32 = 0,
        restarts: Int = 0,
        restartAttempt: Int? = nil,
        nextStartMilliseconds: Int64? = nil,
        stoppingMilliseconds: Int64? = nil,
        stopTimeoutMilliseconds: Int64? = nil,
        uptimeMilliseconds: Int64 = 0,
        placement: Placement,
        executorSilenceMilliseconds: Int64? = nil,
        lastExit: String? = nil,
        mailbox: Mailbox? = nil,
        statusText: String? = nil,
        health: Health? = nil,
        clusterNode: String? = nil,
        isElsewhere: Bool? = nil,
        children: [TreeNode] = []
    ) {
        self.key = key
        self.path = path
        self.type = type
        self.kind = kind
        self.state = state
        self.pid = pid
        self.incarnation = incarnation
        self.restarts = restarts
        self.restartAttempt = restartAttempt
        self.nextStartMilliseconds = nextStartMilliseconds
        self.stoppingMilliseconds = stoppingMilliseconds
        self.stopTimeoutMilliseconds = stopTimeoutMilliseconds
        self.uptimeMilliseconds = uptimeMilliseconds
        self.placement = placement
        self.executorSilenceMilliseconds = executorSilenceMilliseconds
        self.lastExit = lastExit
        self.mailbox = mailbox
        self.statusText = statusText
        self.health = health
        self.clusterNode = clusterNode
        self.isElsewhere = isElsewhere
        self.children = children
    }

    private enum CodingKeys: String, CodingKey {
        case key, path, type, kind, state, pid, incarnation, restarts, placement, mailbox, flows, health, log, children
        case forcedKills = "forced_kills"
        case restartAttempt = "restart_attempt"
        case waitsFor = "waits_for"
        case nextStartMilliseconds = "next_start_ms"
        case stoppingMilliseconds = "stopping_ms"
        case stopTimeoutMilliseconds = "stop_timeout_ms"
        case uptimeMilliseconds = "uptime_ms"
        case executorSilenceMilliseconds = "executor_silence_ms"
        case lastExit = "last_exit"
        case lastExitCode = "last_exit_code"
        case lastExitSignal = "last_exit_signal"
        case hasEnded = "ended"
        case statusText = "status_text"
        case clusterNode = "cluster_node"
        case isElsewhere = "elsewhere"
    }

    /// Whether the node is active or paused; LSB's `status` action exits with 3 for a service that isn't running.
    public var isServing: Bool { shownState?.isServing ?? false }

    /// The state; nil of one that a later version has.
    package var shownState: ShownState? { ShownState(rawValue: state) }
}
