public import Processes

/// The way in which a program becomes ready, is checked and is stopped.
public struct ProgramSettings: Codable, Hashable, Sendable {
    /// The signal that asks the program to stop.
    public var stopSignal: Signal

    /// The exit codes, besides 0, with which the program ends as it should.
    public var exitCodes: Set<Int32>

    /// The time that the program must run before it's ready; nil means none.
    ///
    /// Nil also means that an end within a second is a failed start of a program that is always restarted.
    public var startSeconds: Duration?

    /// The time within which the program must be ready; nil means the default of the runtime, 30 s.
    public var startTimeout: Duration?

    /// The way in which the program shows that it's ready.
    public var readiness: Readiness

    /// The time within which the program must send a sign of life; nil means that it need not.
    public var watchdog: Duration?

    /// The check that is made again and again; nil means none.
    public var health: HealthCheck?

    /// The listening sockets that the program gets, from descriptor 3 on.
    public var sockets: [SocketSpecification]

    /// Whether the stop signal goes to the whole process group at once.
    public var stopsGroup: Bool = false

    /// The exit codes after which the program isn't started again.
    public var finalExitCodes: Set<Int32> = []

    /// What the program reads on its standard input.
    public var standardInput = ProgramInput.null

    /// The bytes of memory of the program and its descendants above which the program is ended and started again; nil means any number.
    public var memoryLimit: Int?

    /// The responses to the loss of the daemon: to its end by a signal that it can't handle, or by a crash.
    public enum DaemonLoss: String, Codable, Hashable, Sendable, CaseIterable {
        /// The program goes on, and the next daemon adopts it.
        case keep
        /// The program is killed.
        case end
    }

    /// What becomes of the program when the daemon is lost; nil: it's kept, unless the daemon is process 1.
    public var onDaemonLoss: DaemonLoss?

    /// Whether the program is kept when a daemon is lost.
    ///
    /// - Parameter process: the daemon's process number: with process 1 all others of its namespace end.
    public func outlives(_ process: Int32) -> Bool { process != 1 && onDaemonLoss != .end }

    /// The commands that are run at certain moments.
    public var hooks = ProgramHooks()

    /// Creates settings; by default a program is ready once it runs, isn't checked, and is stopped by SIGTERM.
    public init(
        stopSignal: Signal = .terminate,
        exitCodes: Set<Int32> = [],
        startSeconds: Duration? = nil,
        startTimeout: Duration? = nil,
        readiness: Readiness = .running,
        watchdog: Duration? = nil,
        health: HealthCheck? = nil,
        sockets: [SocketSpecification] = []
    ) {
        self.stopSignal = stopSignal
        self.exitCodes = exitCodes
        self.startSeconds = startSeconds
        self.startTimeout = startTimeout
        self.readiness = readiness
        self.watchdog = watchdog
        self.health = health
        self.sockets = sockets
    }
}
