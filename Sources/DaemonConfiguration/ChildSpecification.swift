/// One child of the daemon's root: what runs, and how it is supervised.
///
/// The words are those of OTP's child specification: https://www.erlang.org/doc/apps/stdlib/supervisor.html#module-child-specification
public struct ChildSpecification: Codable, Hashable, Sendable {
    /// What the child is made of.
    public enum Content: Codable, Hashable, Sendable {
        /// A process of coordinators that speaks the link protocol.
        case worker(WorkerSpecification)
        /// Any other program; it is started, watched and stopped, nothing more.
        case program(ProgramSpecification)
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
    public var shutdown: ShutdownPolicy

    /// Creates a specification; `shutdown: nil` means the default of the content.
    public init(key: String, content: Content, restart: RestartType = .permanent, shutdown: ShutdownPolicy? = nil) {
        self.key = key
        self.content = content
        self.restart = restart
        self.shutdown = shutdown ?? Self.defaultShutdown(of: content)
    }

    static func defaultShutdown(of content: Content) -> ShutdownPolicy {
        switch content {
        case .worker: .infinity
        case .program: .timeout(.seconds(5))
        }
    }
}
