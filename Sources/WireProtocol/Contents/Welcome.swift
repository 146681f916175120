/// The parent accepts a worker and settles what the link speaks.
public struct Welcome: Sendable, Hashable {
    /// The version of the format that both sides use from here on.
    public var version: UInt8
    /// What two peers must have in common to speak the compact codec.
    public var buildID: String
    /// The largest frame that the parent takes, in bytes.
    public var maximumFrameSize: UInt32
    /// How often the parent pings, in milliseconds; 0 means that it doesn't.
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
