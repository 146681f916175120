public import Processes

/// The specification of any program that is supervised like a child: how it's started, becomes ready, is checked and stopped.
public struct ProgramSpecification: Sendable, Hashable {
    /// The program and its arguments.
    ///
    /// A name without a slash is looked up in `PATH`.
    public var command: [String]
    /// The variables that are set on top of the parent's environment.
    public var environment: [String: String]
    /// The directory in which the program runs; `nil`: the parent's.
    public var directory: String?
    /// The files of variables that are read at each start, below those of ``environment``; the last file wins.
    ///
    /// A file whose path begins with `-` may be missing. The form is that of systemd's `EnvironmentFile=`.
    public var environmentFiles: [String] = []
    /// Whether the program gets the parent's environment too.
    public var inheritsEnvironment = true
    /// The user, the priority and the limits of the program; by default it inherits them.
    public var attributes = ProcessAttributes()
    /// The signal that asks the program to stop.
    public var stopSignal = Signal.terminate
    /// Whether the signal goes to the whole process group at once, rather than to the program, and to the others when it has ended.
    public var stopsGroup = false
    /// The exit codes, besides 0, with which the program ends as it should.
    public var normalExitCodes: Set<Int32> = []
    /// The way in which the program shows that it's ready; until then it's `starting`.
    public var readiness = Readiness.running
    /// The time within which the program must be ready; `nil`: that of the runtime's options.
    ///
    /// A program that isn't ready in time is stopped, and its start has failed.
    public var startTimeout: Duration?
    /// The time that the program must run: its start has failed when it ends before, with whatever exit code.
    public var startSeconds = Duration.zero
    /// The time within which the program has to send `WATCHDOG=1` again and again, by sd_notify(3), once it's ready; `nil`: it doesn't.
    ///
    /// A program that is late is ended by SIGABRT and restarted as its type says. It finds the time in the variable `WATCHDOG_USEC`.
    public var watchdog: Duration?
    /// The sockets that the program gets by systemd's protocol; they stay open while no life of the program runs.
    public var sockets = GivenSockets()
    /// The check that is made again and again, once the program is ready; `nil`: none.
    public var health: HealthCheck?
    /// The rules for when the program is stopped and started again without a failure; the number of messages has no meaning.
    public var recycling = Recycling()
    /// Whether the program runs once, to its end: its start has succeeded when it has ended as it should, and failed otherwise.
    ///
    /// ``readiness`` has no meaning then, and without a ``startTimeout`` the program may run for any time.
    public var isOneshot = false
    /// What the program reads on its standard input.
    public var standardInput = ProgramInput.null
    /// The bytes of memory (resident sets of the program and its descendants, measured each second) above which the program is ended and started
    /// again, which counts against no limit of restarts; `nil`: any number.
    public var memoryLimit: Int?
    /// Whether the program goes on when the process that has started it is killed: the next runtime in the same directory adopts it.
    ///
    /// This needs ``CoordinatorRuntime/Options/runtimeDirectory``, and is for programs of the root's process; all others die with their
    /// parent. The program's output then goes through a FIFO in that directory, and waits there, up to 1 MiB, until it's read again.
    public var outlivesRuntime = false
    /// The commands that are run at certain moments of the program's lives.
    public var hooks = ProgramHooks()

    /// Creates a specification.
    public init(command: [String], environment: [String: String] = [:], directory: String? = nil) {
        self.command = command
        self.environment = environment
        self.directory = directory
    }
}
