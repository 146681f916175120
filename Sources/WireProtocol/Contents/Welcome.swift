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
