/// The attributes of a child process that it would otherwise inherit: its user, its priority, its limits.
///
/// They are set in the child before its program begins. An attribute that can't be set is an error of the start, never ignored.
public struct ProcessAttributes: Sendable, Hashable, Codable {
    /// The user as whom the process runs, a name or a number; nil: that of this process.
    ///
    /// Only root may choose another one. The process gets all groups of the user, as by initgroups(3), and the variables `HOME`, `USER`,
    /// `LOGNAME` and `SHELL` of the user, unless they are given.
    public var user: String?
    /// The group as which the process runs, a name or a number; nil: the user's own.
    public var group: String?
    /// The permissions that files of the process don't get when they are made, such as 0o027; see umask(2).
    public var umask: UInt32?
    /// The niceness, from -20, the highest priority, to 19; see nice(2).
    ///
    /// Only root may go below that of this process.
    public var nice: Int?
    /// The limits of what the process and its descendants may use.
    public var limits: [Resource: Limit]
    /// How much the process is one to be killed when the machine, or its control group, has no memory left, from -1000 (never) to 1000; see
    /// proc_pid_oom_score_adj(5).
    ///
    /// Only root may go below that of this process.
    public var oomScoreAdjustment: Int?
    /// The only parts of root's powers that the process has, whoever its user is, and that it and its descendants can get.
    ///
    /// Only root may choose them; nil: a process of root has those of this process, and any other has none.
    public var capabilities: Set<Capability>?
    /// The limits of the process together with its descendants; nil: those of this process.
    ///
    /// They need a control group that is left to this process.
    public var groupLimits: GroupLimits?

    /// Creates attributes; what isn't given is inherited.
    public init(
        user: String? = nil,
        group: String? = nil,
        umask: UInt32? = nil,
        nice: Int? = nil,
        limits: [Resource: Limit] = [:]
    ) {
        self.user = user
        self.group = group
        self.umask = umask
        self.nice = nice
        self.limits = limits
    }

    /// Whether all attributes are inherited.
    public var isEmpty: Bool { self == ProcessAttributes() }
}
