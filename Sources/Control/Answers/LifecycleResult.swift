/// How it stands with a path after a start, a stop, a restart, a pause, a resumption or a kill.
public struct LifecycleResult: Codable, Hashable, Sendable {
    /// The path that was named in the request.
    public var path: String
    /// Its state now, as in ``TreeNode/state``.
    public var state: String
    /// Its process, when it runs.
    public var pid: Int32?
    /// Which of its lives this is.
    public var incarnation: UInt32
    /// How the life that was started has ended, when it has ended already and as it should.
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
