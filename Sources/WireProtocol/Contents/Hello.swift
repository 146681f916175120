/// A worker introduces itself: who it is, which versions it speaks, and the secret that proves that it was spawned for this link.
public struct Hello: Sendable, Hashable {
    /// The oldest version of the format that the worker speaks.
    public var minimumVersion: UInt8
    /// The newest version of the format that the worker speaks.
    public var maximumVersion: UInt8
    /// The ticket's secret.
    public var secret: [UInt8]
    /// The worker's process identifier.
    public var processID: Int32
    /// When the kernel started the process, in clock ticks since boot (field 22 of `/proc/PID/stat`); 0 when unknown.
    public var processStartTime: UInt64
    /// What two peers must have in common to speak the compact codec; empty for a peer in another language.
    public var buildID: String
    /// The largest frame that the worker takes, in bytes.
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
