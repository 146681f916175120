/// The processes of the tree.
public struct ProcessList: Codable, Hashable, Sendable {
    /// One process.
    public struct Entry: Codable, Hashable, Sendable {
        /// The process's number.
        public var pid: Int32
        /// The path at which the process begins.
        public var path: String
        /// When the process began, in clock ticks since boot: field 22 of `/proc/PID/stat`, see proc(5).
        ///
        /// The number alone is given to another process some day; with this it identifies the process.
        public var startTime: UInt64
        /// Milliseconds since it became active.
        public var uptimeMilliseconds: Int64
        /// The state of what is at the path, as in ``TreeNode/state``.
        public var state: String
        /// How often it was restarted.
        public var restarts: Int
        /// Which of the path's lives this process is.
        public var incarnation: UInt32

        /// Creates an entry.
        public init(
            pid: Int32,
            path: String,
            startTime: UInt64,
            uptimeMilliseconds: Int64,
            state: String,
            restarts: Int,
            incarnation: UInt32
        ) {
            self.pid = pid
            self.path = path
            self.startTime = startTime
            self.uptimeMilliseconds = uptimeMilliseconds
            self.state = state
            self.restarts = restarts
            self.incarnation = incarnation
        }

        private enum CodingKeys: String, CodingKey {
            case pid, path, state, restarts, incarnation
            case startTime = "start_time"
            case uptimeMilliseconds = "uptime_ms"
        }
    }

    /// The processes, parents before children.
    public var processes: [Entry]

    /// Creates a list.
    public init(processes: [Entry]) {
        self.processes = processes
    }
}
