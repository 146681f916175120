import Processes

/// How many connections a control server keeps, and for how long.
public struct ConnectionLimits: Sendable {
    /// How many there may be at a time.
    public var maximumCount = 256
    /// How many there may be whatever other parts of the process need, so that an operator gets in.
    public var guaranteedCount = 4
    /// How many descriptors connections leave to the rest of the process: enough to start a child, and what it starts with.
    public var reservedDescriptors = 32
    /// How many descriptors even the guaranteed connections leave.
    ///
    /// Dispatch opens files of `/proc` and traps when it can't.
    public var untouchedDescriptors = 8
    /// How long a peer may take to say which protocol it speaks.
    public var handshakeTimeout = Duration.seconds(3)
    /// How long a connection may have no open request.
    public var idleTimeout = Duration.seconds(60)
    /// How long it may have none while the process is short of descriptors.
    public var pressedIdleTimeout = Duration.seconds(1)
    /// How often it's seen whether the socket file is still there.
    public var socketCheckInterval = Duration.seconds(5)
    /// How many bytes of answers that their requesters haven't read yet there may be, of all connections together.
    public var maximumUnreadBytes = 256 << 20
    /// How many descriptors can still be opened.
    var descriptorRoom: @Sendable () -> Int = { ResourceLimits.descriptorRoom }

    /// Creates limits with their defaults.
    public init() {}
}
