public import Control
import Coordinators
public import DaemonConfiguration
public import Logging
public import Processes
public import ServiceLifecycle
import WireProtocol

/// The supervisor daemon: a runtime whose root reads its children from a file, and a control socket beside it.
public final class Daemon: Service {
    private let runtime: CoordinatorRuntime
    private let server: ControlServer
    private let directory: RuntimeDirectory
    private let shutdown: ShutdownSignal
    private let signals: SignalReceiver
    private let output: DaemonOutput
    private let logger: Logger

    /// Creates a daemon; nothing is touched before `run`.
    ///
    /// - Parameters:
    ///   - file: where the configuration was read, and is read again when a signal asks for it.
    ///   - output: where children's lines go; the logger's own had better go there too.
    public init(_ configuration: DaemonConfiguration, file: String, directory: RuntimeDirectory, output: DaemonOutput, logger: Logger) {
        let childOutput = ChildOutput(output)
        var options = CoordinatorRuntime.Options()
        options.runtimeDirectory = directory.path
        options.orphanGrace = configuration.orphanGrace
        options.supervision = configuration.supervision
        options.workerOutput = .captured { path, bytes in childOutput.received(bytes, from: path.description) }
        // What descends from a child and leaves its group is found here when the child has ended.
        options.isSubreaper = true
        options.logger = logger
        let children = ConfiguredChildren(configuration.children)
        runtime = CoordinatorRuntime(DaemonCoordinator.self, configuration: children, options: options)
        shutdown = ShutdownSignal(runtime)
        signals = SignalReceiver(runtime: runtime, shutdown: shutdown, file: file, output: output, logger: logger)
        let handler = ControlRequestHandler(runtime: runtime, children: children, shutdown: shutdown, logger: logger)
        server = ControlServer(path: directory.controlSocket, handler: handler)
        self.output = output
        self.directory = directory
        self.logger = logger
    }

    /// Runs until an operator or a signal asks for the end; then the tree is stopped in reverse order, and no process and no socket is left.
    ///
    /// From the first moment every signal that could end the process is received by the daemon, which ends its children first.
    ///
    /// - Throws: `ControlError` when another daemon runs in the directory, or the directory can't be used; what the root threw.
    public func run() async throws {
        do {
            try await serve()
            logger.notice("stopped")
        } catch {
            await output.flush(within: .seconds(1))
            throw error
        }
        await output.flush(within: .seconds(1))
    }

    private func serve() async throws {
        // Before anybody can connect: descriptors may be short then.
        try await runtime.prepare()
        try signals.begin()
        // First of all else: whoever has the socket is the only daemon here.
        try server.listen()
        try await withThrowingDiscardingTaskGroup { group in
            group.addTask { try await self.server.run() }
            group.addTask { await self.signals.run() }
            do {
                try await runtime.start()
                logger.notice("ready", metadata: ["runtime.directory": "\(directory.path)"])
                await withGracefulShutdownHandler {
                    await shutdown.requested()
                } onGracefulShutdown: {
                    self.shutdown.begin()
                }
                logger.notice("stopping", metadata: ["runtime.directory": "\(directory.path)"])
            } catch {
                signals.end()
                server.close()
                throw error
            }
            await shutdown.carryOut()
            signals.end()
            // What operators have asked is still answered.
            server.close()
        }
    }
}
