public import Logging

extension CoordinatorRuntime {
    /// What a runtime can be told.
    ///
    /// Everything has a default.
    public struct Options: Sendable {
        /// Where the sockets of this tree of processes are; `nil`: a fresh directory that is removed at the end.
        ///
        /// It's made if it isn't there; otherwise it must be a directory, no link, that belongs to this user and that nobody else may write
        /// to. What a runtime that was killed has left in it, processes too, is ended by the next one's start: so one runtime at a time.
        public var runtimeDirectory: String?
        /// What workers run; `nil`: this process's own executable.
        ///
        /// Under a test runner it must be given.
        public var workerExecutable: String?
        /// How long workers of this process may outlive it, to end in order; zero: they die with it.
        public var orphanGrace: Duration = .zero
        /// How long a coordinator may take to become ready.
        public var startTimeout: Duration = .seconds(30)
        /// How long the root is given to end.
        public var shutdown = Shutdown.timeout(.seconds(5))
        /// How long a worker may answer no ping, one of which is sent each second; then it's killed, and restarted as its type says.
        public var heartbeatTimeout: Duration = .seconds(10)
        /// How often this process may restart workers, all of them together: a hundred at once, and fifty a second in the long run.
        public var workerRestarts = TokenBucket(rate: 50, burst: 100)
        /// Where workers and programs write to.
        public var workerOutput: WorkerOutput = .inherit
        /// How the root restarts its children, instead of as its type says.
        public var supervision: SupervisionPolicy?
        /// The coordinators that can be started by name, from a file or by another process.
        public var coordinators: [any Coordinator.Type] = []
        /// What the root is provided with.
        ///
        /// Workers get what their parents have instead.
        public var dependencies = Dependencies()
        /// What every coordinator of this process gets instead of what is provided: for tests.
        package var dependencyOverrides = Dependencies()
        /// Whether orphans of the processes below come to this one, which waits for them and ends them: for a process that supervises and
        /// does nothing else.
        ///
        /// It stays so for the rest of the process's life.
        package var isSubreaper = false
        /// Whether children that are placed in workers live in this process instead: for tests.
        package var runsInOneProcess = false
        /// Where the runtime and its coordinators log to.
        ///
        /// In a worker the level is that of the parent's log, unless the worker's program sets another here, or has bootstrapped the logging
        /// system with another than `info`.
        ///
        /// Who logs never waits: entries are written by a thread of their own, at most 4,096 wait, and what is dropped beyond that is counted
        /// and logged. The end of the tree waits a second for them at most. Payloads are never logged.
        public var logger = WorkerEnvironment.logger(label: "coordinators")

        /// Creates options with their defaults.
        public init() {}
    }
}
