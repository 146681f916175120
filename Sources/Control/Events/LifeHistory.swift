/// The last lives of a coordinator or program.
public struct LifeHistory: Codable, Hashable, Sendable {
    /// One life.
    public struct Life: Codable, Hashable, Sendable {
        /// The number of the life, as in ``TreeNode/incarnation``.
        public var incarnation: UInt32
        /// The process; nil when it isn't known.
        public var pid: Int32?
        /// The time at which it became ready, as in ``LogLine/time``; nil when it never did, or the daemon hasn't seen it.
        public var started: String?
        /// The time of its end; nil while it lives.
        public var ended: String?
        /// The milliseconds from its readiness to its end, or to now.
        public var durationMilliseconds: Int64?
        /// The reason of its end; nil while it lives.
        public var reason: String?
        /// The exit code of its end; nil when there is none.
        public var exitCode: Int32?
        /// The number of the signal that has ended it; nil when none has.
        public var signal: Int32?

        /// Creates a life.
        public init(
            incarnation: UInt32,
            pid: Int32? = nil,
            started: String? = nil,
            ended: String? = nil,
            durationMilliseconds: Int64? = nil,
            reason: String? = nil
        ) {
            self.incarnation = incarnation
            self.pid = pid
            self.started = started
            self.ended = ended
            self.durationMilliseconds = durationMilliseconds
            self.reason = reason
        }

        private enum CodingKeys: String, CodingKey {
            case incarnation, pid, started, ended, reason, signal
            case exitCode = "exit_code"
            case durationMilliseconds = "duration_ms"
        }
    }

    /// The path.
    public var path: String
    /// The lives, oldest first.
    public var lives: [Life]

    /// Creates a history.
    public init(path: String, lives: [Life]) {
        self.path = path
        self.lives = lives
    }
}
