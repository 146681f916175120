/// One line that a child has written, or the note that lines are missing.
public struct LogLine: Codable, Hashable, Sendable {
    /// The lines that are missing in a log.
    public struct Gap: Codable, Hashable, Sendable {
        /// The number of bytes that were dropped; nil when it isn't known.
        public var bytes: Int64?
        /// The number of lines that were dropped; nil when it isn't known.
        public var lines: Int64?
        /// The reason for the gap.
        public var reason: String

        /// Creates a gap.
        public init(bytes: Int64? = nil, lines: Int64? = nil, reason: String) {
            self.bytes = bytes
            self.lines = lines
            self.reason = reason
        }
    }

    /// The streams of a process.
    public enum Stream: String, CaseIterable, Codable, Hashable, Sendable {
        /// Standard output; also standard error when both are captured together.
        case stdout
        /// Standard error, when it is captured apart.
        case stderr
    }

    /// The time at which the daemon read the line, as RFC 3339 in UTC with microseconds: `2026-11-22T20:41:00.123456Z`.
    public var time: String
    /// The path of the child.
    public var path: String
    /// The child's process; nil when it isn't known.
    public var pid: Int32?
    /// The number of the child's life, as in ``TreeNode/incarnation``; nil when it isn't known.
    public var incarnation: UInt32?
    /// The stream to which the line was written.
    public var stream: Stream
    /// The line without its end, its bytes that aren't UTF-8 replaced; empty for a gap.
    public var line: String
    /// True when the line was longer than the limit and goes on in the next one; nil otherwise.
    public var partial: Bool?
    /// The priority from 0 (emergency) to 7 (debug) that the child gave the line with a prefix `<N>`, see sd-daemon(3); nil without one.
    public var priority: Int?
    /// The lines that are missing here; nil for a line.
    public var gap: Gap?

    /// Creates a line.
    public init(
        time: String,
        path: String,
        pid: Int32? = nil,
        incarnation: UInt32? = nil,
        stream: Stream = .stdout,
        line: String,
        partial: Bool? = nil,
        priority: Int? = nil,
        gap: Gap? = nil
    ) {
        self.time = time
        self.path = path
        self.pid = pid
        self.incarnation = incarnation
        self.stream = stream
        self.line = line
        self.partial = partial
        self.priority = priority
        self.gap = gap
    }
}
