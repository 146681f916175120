public import Supervision
public import WireProtocol

/// A child of the daemon's root, or of a group: its worker, its program or its own children, and its supervision.
///
/// The words are those of OTP's child specification: https://www.erlang.org/doc/apps/stdlib/supervisor.html#module-child-specification
public struct ConfiguredChild: Codable, Hashable, Sendable {
    /// The kinds of children.
    public indirect enum Content: Codable, Hashable, Sendable {
        /// A process of coordinators that speaks the link protocol.
        case worker(ConfiguredWorker)
        /// Any other program, which the daemon starts, watches and stops.
        case program(ConfiguredProgram)
        /// Children with a supervisor of their own, in the daemon's process.
        case group(ConfiguredGroup)
    }

    /// The child's name among its siblings: not empty, without `/` and control characters, neither `.` nor `..`.
    ///
    /// The child's path is that of its supervisor, a slash, and this key; with ``instances`` there are as many paths, which end in `-1`, `-2`
    /// and so on.
    public var key: String

    /// The worker, the program or the children.
    public var content: Content

    /// The ends after which the child is restarted.
    public var restart: RestartType

    /// The time that the child is given to stop.
    ///
    /// The default is 5 s for a program, and `infinity` for a worker or a group, which is the root of a subtree and stops its own children
    /// first.
    public var shutdown: Shutdown

    /// The child's own limits of restarts; where it has none, those of the file's `supervision` apply.
    ///
    /// The restarts of each child are counted separately in any case, so that a child that fails again and again takes no restart from its
    /// siblings.
    public var restartLimits: RestartLimits?

    /// The number of equal children with the keys `key-1`, `key-2` and so on; nil means one child under the key itself.
    public var instances: Int?

    /// Whether a rolling restart of a worker starts the next life before the present one ends.
    public var overlap: Bool

    /// Whether the child is started with its supervisor; otherwise only an operator's start, or that of a child that requires it, starts it.
    public var autostart: Bool

    /// The children that are ready, or have failed for good, before the child is started, and that are stopped after it: the keys of siblings,
    /// and the paths of any others.
    public var after: [String]

    /// The children without which the child doesn't run: it is started after them, and stopped when one of them is.
    public var requires: [String]

    /// What the child waits for where the file says it; see ``possibleConditions`` for the others.
    public var conditions: [String: DependencyCondition] = [:]

    /// What follows when the child has ended and isn't restarted, whatever the reason but a request.
    public var onExit = EndResponse.nothing

    /// What follows when the child has failed for good: it was given up, or has ended abnormally and isn't restarted.
    public var onFailure = EndResponse.nothing

    /// What becomes of the child's output; where it says nothing, the file's `logging` applies; nil: that alone.
    public var logging: LoggingConfiguration?

    /// What the child wants of the cluster's node on which it runs; nil: it runs here, and isn't the cluster's.
    public var placement: ClusterPlacement?

    /// The number of the child among instances, which the file doesn't have: ``instances`` make it; nil: it isn't one of several.
    public var instance: InstanceNumber?

    /// The beginnings of the names of messages that the daemon's root hands on to the child; only a worker of the root has some.
    public var receives: [String] = []

    /// The times at which the child runs; nil: it's always to run.
    public var schedule: ScheduleSettings?

    /// Creates a child; `shutdown: nil` means the default for its content.
    public init(
        key: String,
        content: Content,
        restart: RestartType = .permanent,
        shutdown: Shutdown? = nil,
        restartLimits: RestartLimits? = nil,
        instances: Int? = nil,
        overlap: Bool = false,
        autostart: Bool = true,
        after: [String] = [],
        requires: [String] = []
    ) {
        self.key = key
        self.content = content
        self.restart = restart
        self.shutdown = shutdown ?? Self.defaultShutdown(of: content)
        self.restartLimits = restartLimits
        self.instances = instances
        self.overlap = overlap
        self.autostart = autostart
        self.after = after
        self.requires = requires
    }

    static func defaultShutdown(of content: Content) -> Shutdown {
        switch content {
        case .worker, .group: .infinity
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

    /// The responses to an executor of the worker that runs nothing any more, since its coordinator, or all threads, are busy or blocked.
    public enum HangResponse: String, Codable, Hashable, Sendable, CaseIterable {
        /// The silence is logged and shown.
        case report
        /// The worker is killed, and restarted as `restart` says.
        case restart
    }

    /// The response to an executor that runs nothing any more.
    public var hang: HangResponse

    /// The number of processes that are kept started and waiting, so that the life after a failure takes one instead of spawning.
    public var spares: Int

    /// The bytes of memory (resident set) above which the process is killed; nil means any number.
    public var memoryLimit: Int?

    /// What the process has around it.
    public var process: ProcessSettings

    /// Creates a specification.
    public init(
        executable: String,
        coordinator: String,
        configuration: JSONValue? = nil,
        environment: [String: String] = [:],
        directory: String? = nil,
        hang: HangResponse = .report,
        spares: Int = 0,
        memoryLimit: Int? = nil,
        process: ProcessSettings = ProcessSettings()
    ) {
        self.executable = executable
        self.coordinator = coordinator
        self.configuration = configuration
        self.environment = environment
        self.directory = directory
        self.hang = hang
        self.spares = spares
        self.memoryLimit = memoryLimit
        self.process = process
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

    /// What the process has around it.
    public var process: ProcessSettings

    /// The way in which the program becomes ready, is checked and is stopped.
    public var settings: ProgramSettings

    /// Whether the program runs once, to its end: its start has succeeded when it has ended as it should.
    public var isOneshot: Bool

    /// The ports that differ from instance to instance; nil: none do, or the program is that of an instance.
    var instancePorts: InstancePorts?

    /// Creates a specification.
    public init(
        command: [String],
        environment: [String: String] = [:],
        directory: String? = nil,
        process: ProcessSettings = ProcessSettings(),
        settings: ProgramSettings = ProgramSettings(),
        isOneshot: Bool = false
    ) {
        self.command = command
        self.environment = environment
        self.directory = directory
        self.process = process
        self.settings = settings
        self.isOneshot = isOneshot
    }
}
