/// The processes of the tree.
public struct ProcessList: Codable, Hashable, Sendable {
    /// One process.
    public struct Entry: Codable, Hashable, Sendable {
        /// The process ID.
        public var pid: Int32
        /// The path of the topmost node in the process.
        public var path: String
        /// The time at which the process began, in clock ticks since boot: field 22 of `/proc/PID/stat`, see proc(5).
        ///
        /// The kernel reuses process IDs; the ID and the start time together identify the process.
        public var startTime: UInt64
        /// The milliseconds since the node at the path became active.
        public var uptimeMilliseconds: Int64
        /// The state of the node at the path, as in ``TreeNode/state``.
        public var state: String
        /// The number of times that the node was restarted.
        public var restarts: Int
        /// The number of the node's present life, as in ``TreeNode/incarnation``.
        public var incarnation: UInt32
        /// The milliseconds since the node was told to stop; nil unless it is stopping.
        public var stoppingMilliseconds: Int64?
        /// The number of processes: this one and its descendants that aren't the tree's own; nil when that isn't known.
        public var processCount: Int?
        /// The memory (resident set) of these processes, in bytes; pages that they share are counted for each of them.
        public var memoryBytes: UInt64?
        /// The node of the cluster on which the process runs; nil without a cluster.
        public var node: String?
        /// Whether that node is another one than the daemon's own, so that the process is on another machine.
        public var isElsewhere: Bool?

        /// Creates an entry.
        public init(
            pid: Int32,
            path: String,
            startTime: UInt64,
            uptimeMilliseconds: Int64,
            state: String,
            restarts: Int,
            incarnation: UInt32,
            stoppingMilliseconds: Int64? = nil,
            node: String? = nil,
            isElsewhere: Bool? = nil
        ) {
            self.pid = pid
            self.path = path
            self.startTime = startTime
            self.uptimeMilliseconds = uptimeMilliseconds
            self.state = state
            self.restarts = restarts
            self.incarnation = incarnation
            self.stoppingMilliseconds = stoppingMilliseconds
            (self.node, self.isElsewhere) = (node, isElsewhere)
        }

        private enum CodingKeys: String, CodingKey {
            case pid, path, state, restarts, incarnation, node
            case isElsewhere = "elsewhere"
            case startTime = "start_time"
            case processCount = "process_count"
            case memoryBytes = "memory_bytes"
            case uptimeMilliseconds = "uptime_ms"
            case stoppingMilliseconds = "stopping_ms"
        }
    }

    /// A node of the cluster whose processes couldn't be listed.
    public struct Missing: Codable, Hashable, Sendable {
        /// The node's name.
        public var node: String
        /// The reason, for people.
        public var reason: String

        /// Creates the description of a node that hasn't answered.
        public init(node: String, reason: String) { (self.node, self.reason) = (node, reason) }
    }

    /// The processes, parents before children, those of this node first.
    public var processes: [Entry]
    /// The nodes that own subtrees of the cluster and haven't told of them; nil: there are none.
    public var missing: [Missing]?

    /// Creates a list.
    public init(processes: [Entry], missing: [Missing]? = nil) {
        (self.processes, self.missing) = (processes, missing)
    }
}
