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
    }
}
