import ConcurrencySupport
public import Processes
import Supervision
import Synchronization
import WireProtocol

/// The data that a parent keeps of a child, and needs again at every restart.
///
/// It has no object of its own: a child's small objects would lie between what the tasks leave that have started children, and keep its pages.
struct ChildDefinition: Sendable {
    /// The kind of the child and its data.
    enum Kind: Sendable {
        case coordinator(CoordinatorDefinition)
        indirect case program(ProgramSpecification)
    }

    /// The specification for the supervisor; the id is the key.
    let specification: ChildSpecification
    let kind: Kind
    /// The number of this definition and its copies among the latest four thousand million of the process: 32 bits, because every child has one.
    private let number: UInt32
    private static let numbers = Atomic<UInt32>(0)

    init(_ specification: ChildSpecification, _ kind: Kind) {
        self.specification = specification
        self.kind = kind
        number = Self.numbers.wrappingAdd(1, ordering: .relaxed).newValue
    }

    /// Whether one is a copy of the other.
    func isSame(as other: ChildDefinition) -> Bool { number == other.number }

    var key: String { specification.id }

    /// The name of the type, by which a living child is compared with the requested one.
    var typeName: String {
        switch kind {
        case .coordinator(let coordinator): coordinator.typeName
        case .program(let program): program.command.first ?? ""
        }
    }

    /// The configuration of a coordinator.
    var configuration: ConfigurationValue? {
        if case .coordinator(let coordinator) = kind { coordinator.configuration } else { nil }
    }

    /// Whether the child is known to have no configuration.
    var hasNoConfiguration: Bool { configuration.map(\.isNone) ?? true }

    /// Returns the same definition with another configuration; `nil` for a program, which has none.
    func configured(with configuration: ConfigurationValue) -> ChildDefinition? {
        guard case .coordinator(let coordinator) = kind else { return nil }
        return ChildDefinition(specification, .coordinator(CoordinatorDefinition(configuration: configuration, place: coordinator.place)))
    }

    /// Returns the names of the fields in which the configuration differs from that of another child.
    func differences(from other: ChildDefinition) throws(CoordinatorError) -> [String] {
        guard let configuration, let others = other.configuration else { return [] }
        return try configuration.differences(from: others)
    }

    /// Whether the child is a coordinator in the process of its parent.
    var isInProcess: Bool {
        if case .coordinator(let coordinator) = kind { coordinator.isInProcess } else { false }
    }

    /// Whether the child is a coordinator in a process of its own.
    var isInWorker: Bool {
        if case .coordinator(let coordinator) = kind, case .worker = coordinator.place { true } else { false }
    }
}

/// A coordinator that is to be started.
struct CoordinatorDefinition: Sendable {
    enum Place: Sendable {
        case inProcess(CoordinatorType)
        /// Whether the child runs in the parent's process although it was placed in a worker, as in tests.
        indirect case insteadOfWorker(CoordinatorType)
        indirect case worker(typeName: String, WorkerProgram, WorkerPlan)
    }

    // In this order the definition has no padding inside.
    let place: Place
    let configuration: ConfigurationValue

    init(configuration: ConfigurationValue, place: Place) {
        self.place = place
        self.configuration = configuration
    }

    var isInProcess: Bool {
        switch place {
        case .inProcess, .insteadOfWorker: true
        case .worker: false
        }
    }

    var typeName: String {
        switch place {
        case .inProcess(let type), .insteadOfWorker(let type): type.name
        case .worker(let typeName, _, _): typeName
        }
    }
}

/// The program that a worker runs.
struct WorkerProgram: Sendable, Hashable {
    /// The path or name of the executable; `nil`: the runtime's own executable.
    var executable: String?
    var arguments: [String] = []
    /// The variables that are set on top of the parent's environment.
    var environment: [String: String] = [:]
    var directory: String?
    var environmentFiles: [String] = []
    var inheritsEnvironment = true
    var attributes = ProcessAttributes()
    /// The epoch under which a node of a cluster owns the subtree; `nil`: it isn't a cluster's.
    ///
    /// A worker that has one dies with its parent.
    var fence: UInt64?
}

extension WorkerProgram {
    var surroundings: ProcessSurroundings {
        ProcessSurroundings(
            environment: fence.map { environment.merging([WorkerEnvironment.fenceVariable: "\($0)"]) { $1 } } ?? environment,
            environmentFiles: environmentFiles,
            inheritsEnvironment: inheritsEnvironment,
            directory: directory,
            attributes: attributes
        )
    }
}

// MARK: - The specification of a program

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

// MARK: - The place of a child

/// The place where a child runs: its parent's process, or a worker process of its own.
///
///     try await context.start(CartCoordinator.self, as: .cart, in: .worker)
///     try await context.start(RenderCoordinator.self, as: .render, in: .worker(spares: 1, recycling: Recycling(age: .seconds(3_600))))
public struct Placement: Sendable, Hashable {
    enum Place: Sendable, Hashable {
        case inProcess
        case worker(WorkerPlan)
    }

    let place: Place

    /// The process of the parent.
    public static let inProcess = Placement(place: .inProcess)

    /// A worker process of its own, which the child shares with its subtree.
    public static let worker = Placement(place: .worker(WorkerPlan()))

    /// Returns a placement in a worker process of its own, with further options.
    ///
    /// - Parameters:
    ///   - spares: The number of processes that are kept started and waiting, so that a restart takes one instead of spawning.
    ///   - recycling: The rules for replacing the process by a fresh one without a failure; none by default.
    ///   - memoryLimit: The bytes of memory (resident set, with that of descendants) above which the process is killed, for the reason
    ///     `memoryExceeded`; unlimited by default. Workers below it count by themselves. The memory is measured with the heartbeat, every second by default, so the process may exceed the limit by what it takes
    ///     in that time. A start is refused, with the number that it needs, if the coordinator is above the limit when it's ready.
    ///   - dataLimit: The bytes of data beyond which the kernel refuses the process more (`RLIMIT_DATA`); unlimited by default. Data are also
    ///     what is only reserved: eight megabytes of stack for each thread, of which a process has more on a machine with more processors.
    ///   - hang: The response to a coordinator whose executor runs nothing any more; it's reported by default.
    ///   - overlaps: Whether ``CoordinatorRuntime/replace(_:)`` starts the next life before the present one ends, so that the path lives twice
    ///     for a while: only for a coordinator without state of its own. False by default.
    public static func worker(
        spares: Int = 0,
        recycling: Recycling = Recycling(),
        memoryLimit: Int? = nil,
        dataLimit: Int? = nil,
        hang: HangResponse = .report,
        overlaps: Bool = false
    ) -> Placement {
        var plan = WorkerPlan(spares: max(spares, 0), recycling: recycling, hang: hang, overlaps: overlaps)
        (plan.memoryLimit, plan.dataLimit) = (memoryLimit, dataLimit)
        return Placement(place: .worker(plan))
    }
}

/// The response to a worker whose coordinator gets no processor time, since one of its handlers is busy or blocked without awaiting, or all
/// threads of the process's executor are.
///
/// The parent has the executor of the worker's first coordinator answer a ping every second. A process that is stopped or doesn't read its link is restarted in any case;
/// see ``CoordinatorRuntime/Options/heartbeatTimeout``.
public enum HangResponse: String, Sendable, Hashable, Codable, CaseIterable {
    /// The silence is logged and shown, in ``CoordinatorSnapshot/executorSilence`` and ``CoordinatorHealth/suspicions``: long computations are
    /// legitimate.
    case report
    /// The process is killed after ``CoordinatorRuntime/Options/heartbeatTimeout`` and restarted as its type says.
    case restart
}

/// The rules for when a worker's process is replaced by a fresh one: planned, drained, and not counted as a failure.
///
/// When a rule applies, new messages wait and those in the mailbox are handled, within the child's shutdown time. Then the process ends,
/// and the next one takes the messages that have waited.
public struct Recycling: Sendable, Hashable {
    /// The longest time that an incarnation may live, and that a spare may wait.
    public var age: Duration?
    /// The share of the age, from 0 to 1, by which it may differ at random, so that many workers don't end at once.
    public var jitter: Double
    /// The number of messages that an incarnation may be sent.
    public var messages: Int?
    /// The bytes of memory (resident set) that the process may occupy with its descendants; measured with the heartbeat, every second by default.
    ///
    /// Above it the process ends when it has handled what it has; above the `memoryLimit` of a ``Placement`` it's killed.
    public var memory: Int?

    /// Creates the rules; a limit of `nil` doesn't apply.
    public init(age: Duration? = nil, jitter: Double = 0.1, messages: Int? = nil, memory: Int? = nil) {
        self.age = age
        self.jitter = min(max(jitter, 0), 1)
        self.messages = messages
        self.memory = memory
    }

    /// The longest time that the next incarnation may live, jitter included.
    var nextAge: Duration? { age.map { $0 * (1 + jitter * Double.random(in: -1...1)) } }
}

/// The options of a worker's process, besides its program.
struct WorkerPlan: Sendable, Hashable {
    var spares = 0
    var recycling = Recycling()
    /// The resident bytes above which the process is killed.
    var memoryLimit: Int?
    /// The bytes of `RLIMIT_DATA`.
    var dataLimit: Int?
    var hang = HangResponse.report
    /// Whether a replacement starts the next life beside the present one.
    var overlaps = false
}

// MARK: - The surroundings of a process

/// What a child process has around its program: its environment, its directory, its attributes.
struct ProcessSurroundings: Sendable, Hashable {
    /// The variables that are set on top of all others.
    var environment: [String: String] = [:]
    /// The files of variables that are read at each start.
    var environmentFiles: [String] = []
    var inheritsEnvironment = true
    var directory: String?
    var attributes = ProcessAttributes()

    /// The variables, for comparisons; the number of a child's instances counts as it was when the process began.
    var condensedVariables: JSONValue {
        let compared = environment.filter { $0.key != InstanceVariables.count }.sorted { $0.key < $1.key }
        return .array(compared.flatMap { [.string($0.key), .string($0.value)] })
    }

    /// What a process may have besides its variables and its directory, for comparisons; a file counts by its name.
    var condensed: JSONValue {
        let limits = attributes.limits.sorted { $0.key.rawValue < $1.key.rawValue }.flatMap { resource, limit in
            [resource.rawValue] + [limit.soft, limit.hard].map { $0.map { String($0) } ?? "" }
        }
        let texts = [attributes.umask.map { String($0) } ?? "", attributes.nice.map { String($0) } ?? ""] + limits
        var fields: [JSONValue] = [
            .bool(inheritsEnvironment), .array(environmentFiles.map { .string($0) }), .array(texts.map { .string($0) }),
        ]
        // Most processes have this one's.
        let accounts = [attributes.user, attributes.group]
        if accounts != [nil, nil] { fields.append(.array(accounts.map { $0.map { .string($0) } ?? .null })) }
        // Few processes have these.
        if let score = attributes.oomScoreAdjustment { fields.append(.string("oom \(score)")) }
        if let capabilities = attributes.capabilities {
            fields.append(.string("capabilities \(capabilities.map(\.rawValue).sorted().joined(separator: " "))"))
        }
        if let limits = attributes.groupLimits { fields.append(.string("group \(limits)")) }
        return .array(fields)
    }

    /// Reads the files, and returns the variables that are set on top of the inherited ones; may block.
    ///
    /// - Parameters:
    ///   - account: That of the process, if it isn't this one's.
    ///   - limit: The time for each file.
    func variables(for account: Account?, within limit: Duration = BlockingCalls.usualLimit) throws(ProcessError) -> [String: String] {
        if environmentFiles.isEmpty { return environment }
        return try EnvironmentFile.load(environmentFiles, for: account, within: limit).merging(environment) { $1 }
    }
}

extension ProgramSpecification {
    var surroundings: ProcessSurroundings {
        ProcessSurroundings(
            environment: environment,
            environmentFiles: environmentFiles,
            inheritsEnvironment: inheritsEnvironment,
            directory: directory,
            attributes: attributes
        )
    }
}
