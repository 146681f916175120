/// The lines that an operator wants to see of the children's output.
public struct LogQuery: Hashable, Sendable {
    /// The largest number of paths.
    static let maximumPaths = 256

    /// The paths whose output is sent, each with its descendants'; lines of several are merged by time.
    public var paths: [String]
    /// The number of lines that have been written already and are sent, counted from the end; nil means all that are kept.
    public var lines: Int?
    /// The time from which on lines are sent, in milliseconds since 1970; nil means the beginning.
    public var sinceMilliseconds: Int64?
    /// The POSIX extended regular expression that lines contain; nil means any line.
    ///
    /// See regex(7). It has no back-references.
    public var pattern: String?
    /// Whether lines that are written later are sent too, until the stream is cancelled.
    public var follows: Bool

    /// Creates a query.
    public init(paths: [String], lines: Int? = nil, sinceMilliseconds: Int64? = nil, pattern: String? = nil, follows: Bool = false) {
        self.paths = paths
        self.lines = lines
        self.sinceMilliseconds = sinceMilliseconds
        self.pattern = pattern
        self.follows = follows
    }
}
