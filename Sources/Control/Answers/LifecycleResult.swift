/// The state of a coordinator or program after a start, a stop, a restart, a pause, a resumption or a kill.
public struct LifecycleResult: Codable, Hashable, Sendable {
    /// The path that was named in the request.
    public var path: String
    /// The state now, as in ``TreeNode/state``.
    public var state: String
    /// The process in which it runs; nil when it doesn't.
    public var pid: Int32?
    /// The number of its present life, as in ``TreeNode/incarnation``.
    public var incarnation: UInt32
    /// The end of the life that was started, when that life has ended already and normally.
    public var lastExit: String?
    /// The exit code with which the life ended; nil as for ``TreeNode/lastExitCode``.
    public var lastExitCode: Int32?
    /// The number of the signal that ended the life; nil as for ``TreeNode/lastExitSignal``.
    public var lastExitSignal: Int32?

    /// Creates a result.
    public init(path: String, state: String, pid: Int32? = nil, incarnation: UInt32, lastExit: String? = nil) {
        self.path = path
        self.state = state
        self.pid = pid
        self.incarnation = incarnation
        self.lastExit = lastExit
    }

    private enum CodingKeys: String, CodingKey {
        case path, state, pid, incarnation
        case lastExit = "last_exit"
        case lastExitCode = "last_exit_code"
        case lastExitSignal = "last_exit_signal"
    }
}
