import Processes

/// The limits of a control server's connections, in number and time.
public struct ConnectionLimits: Sendable {
    /// The largest number of connections at a time.
    public var maximumCount = 256
    /// The number of connections that are served even when the process is short of descriptors, so that an operator gets in.
    public var guaranteedCount = 4
    /// The number of descriptors that connections leave to the rest of the process: enough to start a child.
    public var reservedDescriptors = 32
    /// The number of descriptors that even the guaranteed connections leave.
    ///
    /// Dispatch opens files of `/proc` and traps when it can't.
    public var untouchedDescriptors = 8
    /// The time in which a client must name its protocol.
    public var handshakeTimeout = Duration.seconds(3)
    /// The part of that time which clients are given when all connections are dismissed; only silent ones use it up.
    public var dismissalTimeout = Duration.milliseconds(250)
    /// The time after which a connection without an open request is closed.
    public var idleTimeout = Duration.seconds(60)
    /// The same time while the process is short of descriptors.
    public var pressedIdleTimeout = Duration.seconds(1)
    /// The interval between checks that the socket file is still there.
    public var socketCheckInterval = Duration.seconds(5)
    /// The largest number of bytes of unread answers, of all connections together.
    public var maximumUnreadBytes = 256 << 20
    /// The largest number of bytes that open requests have in memory, of all connections together; of one user or node a half.
    public var maximumOpenBytes = 256 << 20
    /// The largest number of bytes that were announced in requests which haven't arrived whole, of all connections together.
    public var maximumUnfinishedBytes = 32 << 20
    /// The largest number of bytes of the answers that are kept for requests which are repeated, of all connections together.
    public var maximumKeptBytes = 16 << 20
    /// Returns the number of descriptors that can still be opened.
    var descriptorRoom: @Sendable () -> Int = { ResourceLimits.descriptorRoom }

    /// Creates limits with their defaults.
    public init() {}
}
