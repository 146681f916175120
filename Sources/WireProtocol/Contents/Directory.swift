/// The rows of one coordinator above a worker: what is answered or intercepted there when a message climbs.
///
/// A parent tells its worker of all coordinators from itself up to the root, nearest first, and the rows of each in the order in which they
/// are tried. A coordinator with many rows takes several frames.
public struct Directory: Sendable, Hashable {
    /// A row for messages of a coordinator.
    public struct Row: Sendable, Hashable {
        /// The messages that a row matches, and what it does with them; bits without a name are kept as they came.
        public struct Traits: OptionSet, Sendable, Hashable {
            /// The byte in the frame.
            public let rawValue: UInt8

            /// Creates traits from the byte in the frame.
            public init(rawValue: UInt8) {
                self.rawValue = rawValue
            }

            /// The row may answer a message or let it climb further; without this trait it answers.
            public static let intercepts = Traits(rawValue: 1 << 0)
            /// The row matches all messages whose names begin with its name.
            public static let prefix = Traits(rawValue: 1 << 1)
        }

        /// The messages that the row matches, and what it does with them.
        public var traits: Traits
        /// The name of the messages, or the beginning of their names.
        public var name: String

        /// Creates a row.
        public init(_ name: String, _ traits: Traits = []) {
            self.traits = traits
            self.name = name
        }
    }

    /// The number of coordinators that a message climbs to reach this one: 1 for the worker's parent.
    public var distance: UInt32
    /// The identifier of the build of the coordinator's process; empty if that is in another language.
    public var buildID: String
    /// Whether the directory is complete with this frame.
    public var isLast: Bool
    /// The rows, in the order in which they are tried.
    public var rows: [Row]

    /// Creates the content of a frame.
    public init(distance: UInt32, buildID: String, isLast: Bool, rows: [Row]) {
        self.distance = distance
        self.buildID = buildID
        self.isLast = isLast
        self.rows = rows
    }
}

extension Directory {
    func encode(into batch: inout [UInt8]) {
        batch.appendInteger(distance)
        batch.append(isLast ? 1 : 0)
        batch.appendText(buildID)
        batch.appendVarint(UInt64(rows.count))
        for row in rows {
            batch.append(row.traits.rawValue)
            batch.appendText(row.name)
        }
    }

    init(from body: inout ByteReader, limits: FrameLimits) throws(WireError) {
        let distance = try body.integer(UInt32.self)
        let isLast = try body.flag("a directory's end")
        let build = try body.text(limit: limits.maximumNameLength)
        var rows: [Row] = []
        // Each row takes more than one byte, so that the length of the frame bounds their number.
        for _ in 0..<(try body.length()) {
            let traits = Row.Traits(rawValue: try body.integer())
            rows.append(Row(try body.text(limit: limits.maximumNameLength), traits))
        }
        self.init(distance: distance, buildID: build, isLast: isLast, rows: rows)
    }
}
