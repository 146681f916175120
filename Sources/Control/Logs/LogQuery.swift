import WireProtocol

/// The lines that an operator wants to see of the children's output.
public struct LogQuery: Hashable, Sendable {
    /// The largest number of paths.
    static let maximumPaths = 256
    /// The length of the longest pattern, in bytes.
    static let maximumPatternLength = 1024

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

    var fields: [String: JSONValue] {
        var fields: [String: JSONValue] = ["paths": .array(paths.map(JSONValue.string))]
        fields["lines"] = lines.map { .integer(Int64($0)) }
        fields["since_ms"] = sinceMilliseconds.map(JSONValue.integer)
        fields["pattern"] = pattern.map(JSONValue.string)
        if follows { fields["follow"] = true }
        return fields
    }

    init(fields: RequestFields) throws(ControlError) {
        paths = try fields.paths(atMost: Self.maximumPaths)
        lines = try fields.optionalInteger("lines").map { Int(clamping: max(0, $0)) }
        sinceMilliseconds = try fields.optionalInteger("since_ms")
        pattern = fields.members["pattern"] == nil ? nil : try fields.text("pattern")
        follows = fields.members["follow"] == true
        guard (pattern?.utf8.count ?? 0) <= Self.maximumPatternLength else {
            throw ControlError(.invalidRequest, "`pattern` has more than \(Self.maximumPatternLength) bytes; expected a shorter one")
        }
    }
}

extension RequestFields {
    func paths(atMost maximum: Int) throws(ControlError) -> [String] {
        guard case .array(let values)? = members["paths"], !values.isEmpty, values.count <= maximum else {
            throw ControlError(.invalidRequest, "the request has no `paths`; expected a list of 1 to \(maximum) paths")
        }
        var paths: [String] = []
        for value in values { paths.append(try RequestFields(members: ["path": value]).path()) }
        return paths
    }

    func optionalInteger(_ key: String) throws(ControlError) -> Int64? {
        members[key] == nil || members[key] == .null ? nil : try integer(key)
    }
}
