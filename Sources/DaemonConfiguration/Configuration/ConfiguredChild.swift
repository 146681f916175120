public import Supervision

/// One child of the daemon's root: what runs, and how it is supervised.
///
/// The words are those of OTP's child specification: https://www.erlang.org/doc/apps/stdlib/supervisor.html#module-child-specification
public struct ConfiguredChild: Codable, Hashable, Sendable {
    /// What the child is made of.
    public enum Content: Codable, Hashable, Sendable {
        /// A process of coordinators that speaks the link protocol.
        case worker(ConfiguredWorker)
        /// Any other program; it is started, watched and stopped, nothing more.
        case program(ConfiguredProgram)
    }

    /// The child's name among its siblings: not empty, without `/` and control characters, neither `.` nor `..`.
    ///
    /// The child's path is a slash and this key.
    public var key: String

    /// What runs.
    public var content: Content

    /// When the child is started again after its end.
    public var restart: RestartType

    /// How long a stop may take.
    ///
    /// Without one in the file: 5 s for a program, `infinity` for a worker, which is the root of a subtree and has to stop its own
    /// children first.
    public var shutdown: Shutdown

    /// How often and how soon the child is started again; nil, or what it leaves out, is as the file's `supervision`.
    ///
    /// Each child is counted by itself, whether it has limits of its own or not: one that fails again and again takes no restart from
    /// its siblings.
    public var restartLimits: RestartLimits?

    /// Creates a specification; `shutdown: nil` means the default of the content.
    public init(
        key: String,
        content: Content,
        restart: RestartType = .permanent,
        shutdown: Shutdown? = nil,
        restartLimits: RestartLimits? = nil
    ) {
        self.key = key
        self.content = content
        self.restart = restart
        self.shutdown = shutdown ?? Self.defaultShutdown(of: content)
        self.restartLimits = restartLimits
    }

    static func defaultShutdown(of content: Content) -> Shutdown {
        switch content {
        case .worker: .infinity
        case .program: .timeout(.seconds(5))
        }
    }
}
