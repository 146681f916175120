public import Control
import Coordinators
public import DaemonConfiguration
public import Logging
public import ServiceLifecycle
import WireProtocol

/// The supervisor daemon: a runtime whose root reads its children from a file, and a control socket beside it.
public final class Daemon: Service {
    private let runtime: CoordinatorRuntime
    private let server: ControlServer
    private let directory: RuntimeDirectory
    private let shutdown: Shutdowns
    private let output: ChildOutput
    private let logger: Logger

    /// Creates a daemon; nothing is touched before `run`.
    public init(_ configuration: DaemonConfiguration, directory: RuntimeDirectory, logger: Logger) {
        let output = ChildOutput()
        var options = CoordinatorRuntime.Options()
        options.runtimeDirectory = directory.path
        options.orphanGrace = configuration.orphanGrace
        options.supervision = configuration.supervision
        options.workerOutput = .captured { path, bytes in output.received(bytes, from: path.description) }
        // What descends from a child and leaves its group is found here when the child has ended.
        options.isSubreaper = true
        options.logger = logger
        runtime = CoordinatorRuntime(DaemonCoordinator.self, configuration: configuration, options: options)
        shutdown = Shutdowns()
        server = ControlServer(path: directory.controlSocket, handler: OperatorDesk(runtime: runtime, shutdown: shutdown))
        self.output = output
        self.directory = directory
        self.logger = logger
    }

    /// Runs until an operator or a signal asks for the end; then the tree is stopped in reverse order, and no process and no socket is left.
    ///
    /// - Throws: `ControlError` when another daemon runs in the directory, or the directory can't be used; what the root threw.
    public func run() async throws {
        // First of all: whoever has the socket is the only daemon here.
        try server.listen()
        try await withThrowingDiscardingTaskGroup { group in
            group.addTask { try await self.server.run() }
            do {
                try await runtime.start()
                logger.notice("ready", metadata: ["runtime.directory": "\(directory.path)"])
                await withGracefulShutdownHandler {
                    await shutdown.requested()
                } onGracefulShutdown: {
                    self.shutdown.request()
                }
                logger.notice("stopping", metadata: ["runtime.directory": "\(directory.path)"])
            } catch {
                server.close()
                throw error
            }
            await runtime.stop()
            shutdown.complete()
            // What operators have asked is still answered.
            server.close()
        }
        await output.flush()
        logger.notice("stopped")
    }
}
