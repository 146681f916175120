public import Supervision
public import WireProtocol

/// A child of the daemon's root: its worker or program, and its supervision.
///
/// The words are those of OTP's child specification: https://www.erlang.org/doc/apps/stdlib/supervisor.html#module-child-specification
public struct ConfiguredChild: Codable, Hashable, Sendable {
    /// The kinds of children.
    public enum Content: Codable, Hashable, Sendable {
        /// A process of coordinators that speaks the link protocol.
        case worker(ConfiguredWorker)
        /// Any other program, which the daemon starts, watches and stops.
        case program(ConfiguredProgram)
    }

    /// The child's name among its siblings: not empty, without `/` and control characters, neither `.` nor `..`.
    ///
    /// The child's path is a slash and this key.
    public var key: String

    /// The worker or program.
    public var content: Content

    /// The ends after which the child is restarted.
    public var restart: RestartType

    /// The time that the child is given to stop.
    ///
    /// The default is 5 s for a program, and `infinity` for a worker, which is the root of a subtree and stops its own children first.
    public var shutdown: Shutdown

    /// The child's own limits of restarts; where it has none, those of the file's `supervision` apply.
    ///
    /// The restarts of each child are counted separately in any case, so that a child that fails again and again takes no restart from its
    /// siblings.
    public var restartLimits: RestartLimits?

    /// Creates a child; `shutdown: nil` means the default for its content.
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

/// A worker process and the coordinator at the root of its subtree.
public struct ConfiguredWorker: Codable, Hashable, Sendable {
    /// The path of the worker's executable; a relative path is relative to the daemon's working directory.
    public var executable: String

    /// The name of the coordinator that the worker hosts, as its executable registers it.
    public var coordinator: String

    /// The values that replace those of the coordinator's default configuration; nil replaces none.
    public var configuration: JSONValue?

    /// The variables that are added to the daemon's environment.
    public var environment: [String: String]

    /// The working directory; nil means the daemon's.
    public var directory: String?

    /// Creates a specification.
    public init(
        executable: String,
        coordinator: String,
        configuration: JSONValue? = nil,
        environment: [String: String] = [:],
        directory: String? = nil
    ) {
        self.executable = executable
        self.coordinator = coordinator
        self.configuration = configuration
        self.environment = environment
        self.directory = directory
    }
}

/// A program that doesn't use the library.
public struct ConfiguredProgram: Codable, Hashable, Sendable {
    /// The program and its arguments; never empty.
    ///
    /// A program's name without a slash is looked up in `PATH`; no shell is involved.
    public var command: [String]

    /// The variables that are added to the daemon's environment.
    public var environment: [String: String]

    /// The working directory; nil means the daemon's.
    public var directory: String?

    /// Creates a specification.
    public init(command: [String], environment: [String: String] = [:], directory: String? = nil) {
        self.command = command
        self.environment = environment
        self.directory = directory
    }
}
