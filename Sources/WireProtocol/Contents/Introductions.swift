/// A worker's introduction: its process, the versions that it speaks, and the secret that proves that it was spawned for this link.
public struct Hello: Sendable, Hashable {
    /// The oldest version of the format that the worker speaks.
    public var minimumVersion: UInt8
    /// The newest version of the format that the worker speaks.
    public var maximumVersion: UInt8
    /// The ticket's secret.
    public var secret: [UInt8]
    /// The worker's process identifier.
    public var processID: Int32
    /// The time at which the kernel started the process, in clock ticks since boot (field 22 of `/proc/PID/stat`); 0 when unknown.
    public var processStartTime: UInt64
    /// The identifier of the build; peers with equal ones speak the compact codec.
    ///
    /// Empty for a peer in another language.
    public var buildID: String
    /// The largest frame that the worker accepts, in bytes.
    public var maximumFrameSize: UInt32

    /// Creates the content of a frame.
    public init(
        minimumVersion: UInt8 = Frame.version,
        maximumVersion: UInt8 = Frame.version,
        secret: [UInt8],
        processID: Int32,
        processStartTime: UInt64,
        buildID: String,
        maximumFrameSize: UInt32
    ) {
        self.minimumVersion = minimumVersion
        self.maximumVersion = maximumVersion
        self.secret = secret
        self.processID = processID
        self.processStartTime = processStartTime
        self.buildID = buildID
        self.maximumFrameSize = maximumFrameSize
    }
}

extension Hello: CustomStringConvertible {
    /// The worker's identity, without its secret.
    public var description: String {
        "Hello(processID: \(processID), buildID: \(buildID), versions: \(minimumVersion)...\(maximumVersion))"
    }
}

extension Hello {
    func encode(into batch: inout [UInt8]) {
        batch.append(minimumVersion)
        batch.append(maximumVersion)
        batch.appendInteger(processID)
        batch.appendInteger(processStartTime)
        batch.appendInteger(maximumFrameSize)
        batch.appendField(secret[...])
        batch.appendText(buildID)
    }

    init(from body: inout ByteReader, limits: FrameLimits) throws(WireError) {
        let minimum = try body.integer(UInt8.self)
        let maximum = try body.integer(UInt8.self)
        guard minimum <= maximum else {
            throw WireError(.malformed, "versions \(minimum) to \(maximum) are no range", offset: body.position - 2)
        }
        let processID = try body.integer(Int32.self)
        let startTime = try body.integer(UInt64.self)
        let size = try body.integer(UInt32.self)
        let secretOffset = body.position
        let secret = try body.field()
        guard secret.count <= limits.maximumSecretLength else {
            let message = "a secret of \(secret.count) bytes is longer than \(limits.maximumSecretLength)"
            throw WireError(.tooLarge, message, offset: secretOffset)
        }
        self.init(
            minimumVersion: minimum,
            maximumVersion: maximum,
            secret: Array(secret),
            processID: processID,
            processStartTime: startTime,
            buildID: try body.text(limit: limits.maximumNameLength),
            maximumFrameSize: size
        )
    }
}

/// A parent's acceptance of a worker, and the settings of their link.
public struct Welcome: Sendable, Hashable {
    /// The version of the format that both sides use from here on.
    public var version: UInt8
    /// The identifier of the build; peers with equal ones speak the compact codec.
    public var buildID: String
    /// The largest frame that the parent accepts, in bytes.
    public var maximumFrameSize: UInt32
    /// The interval between the parent's pings, in milliseconds; 0 means that the parent doesn't ping.
    public var heartbeatMilliseconds: UInt32

    /// Creates the content of a frame.
    public init(
        version: UInt8 = Frame.version,
        buildID: String,
        maximumFrameSize: UInt32,
        heartbeatMilliseconds: UInt32
    ) {
        self.version = version
        self.buildID = buildID
        self.maximumFrameSize = maximumFrameSize
        self.heartbeatMilliseconds = heartbeatMilliseconds
    }
}

extension Welcome {
    func encode(into batch: inout [UInt8]) {
        batch.append(version)
        batch.appendInteger(maximumFrameSize)
        batch.appendInteger(heartbeatMilliseconds)
        batch.appendText(buildID)
    }

    init(from body: inout ByteReader, limits: FrameLimits) throws(WireError) {
        let version = try body.integer(UInt8.self)
        let size = try body.integer(UInt32.self)
        let heartbeat = try body.integer(UInt32.self)
        let build = try body.text(limit: limits.maximumNameLength)
        self.init(version: version, buildID: build, maximumFrameSize: size, heartbeatMilliseconds: heartbeat)
    }
}

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

/// The definition of a number that stands for a name, in one direction of one link.
public struct DefineName: Sendable, Hashable {
    /// The number; never 0, which is the empty string.
    public var id: NameID
    /// The name.
    public var text: String

    /// Creates the content of a frame.
    public init(id: NameID, text: String) {
        self.id = id
        self.text = text
    }
}

extension DefineName {
    func encode(into batch: inout [UInt8]) {
        batch.appendInteger(id)
        batch.appendText(text)
    }

    init(from body: inout ByteReader, limits: FrameLimits) throws(WireError) {
        let id = try body.integer(NameID.self)
        guard id != 0 else {
            throw WireError(.malformed, "name 0 is the empty string and can't be defined", offset: body.position - 4)
        }
        self.init(id: id, text: try body.text(limit: limits.maximumNameLength))
    }
}

/// The names of messages that belong to the runtime, and that no coordinator's message has.
package enum ReservedName {
    /// How they begin.
    @inlinable package static var prefix: String { "coordinators." }
}
