package import ConcurrencySupport
public import Logging
import WireProtocol

extension CoordinatorRuntime {
    /// The settings of a runtime.
    ///
    /// Every setting has a default.
    public struct Options: Sendable {
        /// The directory of the sockets of this tree of processes; `nil`: a fresh directory that is removed at the end.
        ///
        /// The directory is made if it doesn't exist; otherwise it must be a directory, not a link, that belongs to this user and that no
        /// other user may write to. When a runtime starts, it ends what a killed runtime has left in the directory, processes included,
        /// except the workers that it adopts; see ``orphanGrace``. Only one runtime at a time can use it: a second one is refused.
        public var runtimeDirectory: String?
        /// The executable that workers run; `nil`: that of this process.
        ///
        /// This is needed under a test runner, whose own executable isn't the program.
        public var workerExecutable: String?
        /// The time for which workers of this process may outlive it; zero: they are killed with it.
        ///
        /// With a ``runtimeDirectory``, the next runtime there that starts the same children within this time adopts their workers: the
        /// processes live on, with their state. See <doc:RuntimeSemantics>. Otherwise they only have this time to end in order.
        public var orphanGrace: Duration = .zero
        /// Whether the workers of a former runtime that no start has adopted are ended as soon as the root is ready.
        ///
        /// Set this to false if the root starts children after its `start` hook, such as in `run`, and call ``CoordinatorContext/endOrphans()``
        /// or ``CoordinatorRuntime/endOrphans()`` once all these starts were requested. Until then a message of an adopted worker to a child
        /// that isn't there waits for the child's start. Without the call, workers that nothing adopts end by themselves after their
        /// ``orphanGrace``.
        public var endsOrphansWhenReady = true
        /// The time that a coordinator may take to become ready.
        public var startTimeout: Duration = .seconds(30)
        /// The time that the root is given to end; with `draining` the whole tree finishes what it has taken first.
        public var shutdown = Shutdown.timeout(.seconds(5))
        /// The time for which the tree still takes messages after a graceful shutdown was asked for, such as by SIGTERM, while its health
        /// says already that it isn't ready.
        ///
        /// Give it the time that load balancers need to notice. If an HTTP server is in the same `ServiceGroup`, it has to serve during this time
        /// too: list ``CoordinatorRuntime/readiness`` as the last service.
        public var unreadyDelay: Duration = .zero
        /// The time after which a worker that hasn't answered a ping, one of which is sent each second, is killed and restarted as its type
        /// says.
        public var heartbeatTimeout: Duration = .seconds(10)
        /// The response to a handler in the root's process that runs on past its cancellation; see ``Coordinator/cancellationGrace``.
        ///
        /// A worker with such a handler is killed and restarted in any case.
        public var whenStuck = StuckResponse.report
        /// The rate at which this process may restart workers, all of them together: a hundred at once, and fifty a second in the long run.
        public var workerRestarts = TokenBucket(rate: 50, burst: 100)
        /// The longest time for which a task that asks another process of this machine looks for the answer before it's suspended; zero: it's
        /// suspended at once.
        ///
        /// An answer that comes within this time is there in half the time, because no thread is woken for the task. The price is processor
        /// time: one task of the process looks, while no other ask or stream of it is open, and offers the processor to other threads between two looks.
        /// When more than a fifth of the answers come later, or other threads want the processor, looks are given up for the next thousand asks. A
        /// process whose processor time is limited may want zero. A worker has the time that its own program sets. See <doc:HowAMessageTravels>.
        public var busyWait: Duration = .microseconds(200)
        /// The size of the largest message, reply or stream element between two processes, in bytes, encoded and with its header: 64 MiB.
        ///
        /// What is larger than 1 MiB leaves in parts, between which smaller messages pass. Beyond this size it fails with
        /// ``CoordinatorError/Code/messageTooLarge``, before anything has left. Each process has the size that its own program sets, and the
        /// smaller of the two sides of a link counts; 1 MiB and less means that nothing leaves in parts. At most 1 GiB counts. See
        /// <doc:RuntimeSemantics>.
        public var maximumMessageSize = 64 << 20
        /// The destination of the output of workers and programs.
        public var workerOutput: WorkerOutput = .inherit
        /// The policy by which the root restarts its children, instead of its type's.
        public var supervision: SupervisionPolicy?
        /// What happens when a child of the root is given up, because it has failed more often than its limits allow, or for good; `nil`:
        /// `endProcess` in ``CoordinatorRuntime/main(_:coordinators:options:configure:)``, and `report` in a program that embeds the runtime.
        ///
        /// Children that are temporary, or that a call of `run` waits for, aren't meant.
        public var whenGivenUp: GivenUpResponse?
        /// The coordinators that can be started by name, from a file or by another process.
        public var coordinators: [any Coordinator.Type] = []
        /// The dependencies that the root is provided with.
        ///
        /// A worker gets the dependencies of its parent instead.
        public var dependencies = Dependencies()
        /// The dependencies that every coordinator of this process gets instead of the provided ones: for tests.
        package var dependencyOverrides = Dependencies()
        /// The messages that the root hands on to its children, after those for which its type has rows.
        ///
        /// They are as static as the rows of a type: workers are told of them.
        package var forwards: [Forward] = []
        /// Whether this process becomes the parent of orphans below it, waits for them and ends them: for a process that supervises and
        /// does nothing else.
        ///
        /// The setting holds for the rest of the process's life.
        package var isSubreaper = false
        /// What the former program in this process has left, when this one has taken its place.
        package var handover: RuntimeHandover?
        /// Whether this process is the runtime's alone: its `main` is ``CoordinatorRuntime/main(_:coordinators:options:configure:)``.
        package var ownsProcess = false
        /// Whether children that are placed in workers run in this process instead: for tests.
        package var runsInOneProcess = false
        /// Whether messages of a coordinator that runs here instead of in a worker are encoded, as they would be between two processes.
        package var encodesBorders = false
        /// The types of coordinators that others stand for.
        package var standIns: [String: any Coordinator.Type] = [:]
        /// The time that the tree lives by, for tests: its workers would live by the clock all the same.
        package var time = TimeSource.monotonic
        /// The limit of what is told of those that break the rules of their links.
        var violations = Violations.Limit()
        /// The function that gets the changes of children in the whole tree, and the number of those that were left out before them; it's
        /// called by the thread that has made the change, and returns at once.
        package var lifeObserver: (@Sendable ([LifecycleRecord], Int) -> Void)?
        /// The function that gets the drops of the whole tree; it's called as the one above.
        package var deadLetterObserver: (@Sendable (DeadLetterReport) -> Void)?
        /// What gets the spans and the numbers of the whole tree, in the root's process.
        package var exporter: (any TelemetryExporter)?
        /// The logger of the runtime and its coordinators.
        ///
        /// In a worker the level is that of the parent's log, unless the worker's program sets another here, or has bootstrapped the
        /// logging system with another than `info`.
        ///
        /// Logging never waits: a thread of its own writes the entries. At most 4,096 entries wait; those beyond are dropped, counted, and
        /// the number is logged. The end of the tree waits a second for the entries at most. Payloads are never logged.
        public var logger: Logger {
            get { ownLogger ?? WorkerEnvironment.logger(label: "coordinators") }
            set { ownLogger = newValue }
        }
        /// The logger that was set; otherwise one is made when it's read, after the bootstrap.
        private var ownLogger: Logger?
        /// A function in which a process bootstraps what it can bootstrap once: logging, metrics, tracing.
        ///
        ///     options.bootstrap = { path in LoggingSystem.bootstrap { JSONLogHandler(label: $0, instance: path.description) } }
        ///
        /// ``CoordinatorRuntime/main(_:coordinators:options:configure:)`` and
        /// ``CoordinatorRuntime/runWorkerIfRequested(coordinators:options:)`` call it once in each process of the tree, before anything else, with the
        /// path of the process's first coordinator. A program that embeds the runtime bootstraps its own process itself. A ``logger`` that
        /// was set before isn't affected. An error ends the process: `main` throws it, and a worker exits with code 78.
        public var bootstrap: (@Sendable (CoordinatorPath) async throws -> Void)?
        /// The instruments of the process, which observe its messages and changes: for metrics, tracing and audit.
        ///
        ///     options.instruments = [Tracing(), Latencies()]
        ///
        /// The first is the outermost. A worker has the instruments that its own program sets here. What an instrument needs of a system that ``bootstrap`` sets up it
        /// has to make when it's first used.
        public var instruments: [any CoordinatorInstrument] = []

        /// Creates options with their defaults.
        public init() {}
    }
}

/// The response to a child of the root that was given up, and that only a request starts again.
public enum GivenUpResponse: String, Sendable, Hashable, Codable, CaseIterable {
    /// The other children go on, and ``CoordinatorHealth/isLive`` is false as long as the child has failed.
    case report
    /// The tree ends, so that whoever watches over the process starts another one. ``CoordinatorRuntime/run()`` throws `failed`, and
    /// ``CoordinatorRuntime/main(_:coordinators:options:configure:)`` ends the process with code 75, a temporary failure, or with the child's own code
    /// if that is one after which no start helps (78 and 125).
    case endProcess
}

/// The response to a handler in the root's process that runs on past its cancellation: nothing inside of the process can end it.
public enum StuckResponse: String, Sendable, Hashable, Codable, CaseIterable {
    /// It's logged, told to the instruments, and shown: ``CoordinatorHealth/isReady`` is false until the handler ends.
    case report
    /// It's logged, and the process ends at once with the exit code 1: for a process that something restarts.
    ///
    /// Nothing of the tree is stopped in order, since the handler may block every thread. The workers end with the process.
    case endProcess
}

extension CoordinatorRuntime {
    /// A row of the root that isn't its type's: it hands messages on to a child, as they are.
    package struct Forward: Sendable {
        /// The beginning of the messages' names.
        package let prefix: String
        /// The child's key.
        package let child: String

        /// Creates a row.
        package init(prefix: String, to child: String) {
            self.prefix = prefix
            self.child = child
        }
    }
}

extension CoordinatorRuntime.Options {
    var messageSizes: MessageSizes {
        var sizes = MessageSizes()
        sizes.message = maximumMessageSize > sizes.frame ? min(maximumMessageSize, FrameLimits.largestFrameInParts) : 0
        return sizes
    }
}
