/// One place of the tree: a coordinator or a program, and what is below it.
public struct TreeNode: Codable, Hashable, Sendable {
    /// What is at the place.
    public enum Kind: String, Codable, Hashable, Sendable {
        /// The daemon's own root.
        case root
        /// A coordinator, in whichever process.
        case coordinator
        /// A supervised program that knows nothing about coordinators.
        case program
    }

    /// In which process it runs.
    public enum Placement: String, Codable, Hashable, Sendable {
        /// In the process of its parent.
        case inProcess = "in_process"
        /// In a worker process of its own.
        case worker
        /// It is a program of its own.
        case program
    }

    /// The name among its siblings; `/` for the root.
    public var key: String
    /// Where it is: `/shop/cart`.
    public var path: String
    /// The coordinator's type, or the program's name.
    public var type: String
    /// What is at the place.
    public var kind: Kind
    /// `inactive`, `starting`, `active`, `paused`, `stopping`, `restarting` or `failed`.
    public var state: String
    /// The process in which it runs, when it runs.
    public var pid: Int32?
    /// Which of its lives this is, counted from 1; 0 before the first.
    public var incarnation: UInt32
    /// How often its supervisor restarted it.
    public var restarts: Int
    /// While it waits for its next start: the number of restarts in a row, from 1.
    public var restartAttempt: Int?
    /// While it waits for its next start: the milliseconds that remain.
    public var nextStartMilliseconds: Int64?
    /// Milliseconds since it became active; 0 when it isn't.
    public var uptimeMilliseconds: Int64
    /// In which process it runs.
    public var placement: Placement
    /// How its previous life ended: `exit code 1`, `signal 9 (SIGKILL)`.
    public var lastExit: String?
    /// What is below it, in start order.
    public var children: [TreeNode]

    /// Creates a node.
    public init(
        key: String,
        path: String,
        type: String,
        kind: Kind,
        state: String,
        pid: Int32? = nil,
        incarnation: UInt32 = 0,
        restarts: Int = 0,
        restartAttempt: Int? = nil,
        nextStartMilliseconds: Int64? = nil,
        uptimeMilliseconds: Int64 = 0,
        placement: Placement,
        lastExit: String? = nil,
        children: [TreeNode] = []
    ) {
        self.key = key
        self.path = path
        self.type = type
        self.kind = kind
        self.state = state
        self.pid = pid
        self.incarnation = incarnation
        self.restarts = restarts
        self.restartAttempt = restartAttempt
        self.nextStartMilliseconds = nextStartMilliseconds
        self.uptimeMilliseconds = uptimeMilliseconds
        self.placement = placement
        self.lastExit = lastExit
        self.children = children
    }

    private enum CodingKeys: String, CodingKey {
        case key, path, type, kind, state, pid, incarnation, restarts, placement, children
        case restartAttempt = "restart_attempt"
        case nextStartMilliseconds = "next_start_ms"
        case uptimeMilliseconds = "uptime_ms"
        case lastExit = "last_exit"
    }

    /// Whether it does what it's there for, or would when it's resumed: LSB's `status` action answers 3 for what isn't running.
    public var isServing: Bool { state == "active" || state == "paused" }

    /// Whether it lives, if only just.
    public var isRunning: Bool {
        state != "inactive" && state != "failed"
    }
}
