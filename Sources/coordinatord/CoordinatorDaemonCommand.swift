public import ArgumentParser
import Control
import CoordinatorDaemon
import Coordinators
import DaemonConfiguration
import Glibc
public import Logging
import Processes
import ServiceLifecycle

/// The supervisor daemon.
@main
struct CoordinatorDaemonCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "coordinatord",
        abstract: "Supervise a tree of coordinators and programs.",
        discussion: """
            Runs in the foreground and logs to standard error. Operate it with coordinatorctl.

            Signals: TERM and INT stop the tree in reverse order of its start. A second one gives the processes that still run one \
            second, a third one kills them. HUP checks the configuration file again and logs the result; nothing is applied. QUIT \
            writes the tree to the log. USR1, USR2 and realtime signals are logged. Every other signal that would end the daemon stops \
            the tree too.

            Exit status: 0 ended as requested; 1 failed, or another daemon is running; 64 usage; 77 not permitted; 78 bad configuration.
            """,
        version: Release.version
    )

    @Option(help: "The YAML file that lists the children.")
    var config: String

    @Option(help: "The runtime directory. Default: COORDINATOR_RUNTIME_DIR, else $XDG_RUNTIME_DIR/coordinator, else /run/coordinator.")
    var runtimeDir: String?

    @Option(help: "The least severe messages to log: trace, debug, info, notice, warning, error or critical.")
    var logLevel: Logger.Level = .notice

    static func main() async {
        occupyStandardDescriptors()
        // A configuration that names this executable as a worker's gets a refusal, instead of a second daemon.
        await CoordinatorRuntime.runWorkerIfRequested(coordinators: [])
        do {
            let command = try parseAsRoot()
            guard let daemon = command as? CoordinatorDaemonCommand else {
                var command = command
                return try command.run()
            }
            try await daemon.serve()
        } catch {
            exit(withError: error)
        }
    }

    /// Opens closed standard descriptors on /dev/null; otherwise files that are opened later would get their numbers, and the log's text.
    private static func occupyStandardDescriptors() {
        // open(2) takes the lowest number that is free.
        while case let descriptor = open("/dev/null", O_RDWR), descriptor >= 0 {
            if descriptor > STDERR_FILENO {
                close(descriptor)
                return
            }
        }
    }

    @concurrent
    private func serve() async throws {
        do {
            let configuration = try DaemonConfiguration.load(path: config)
            let directory = try RuntimeDirectory.resolve(option: runtimeDir).resolvingWorkingDirectory()
            let output = DaemonOutput()
            var logger = output.logger(label: "coordinatord")
            logger.logLevel = logLevel
            let daemon = Daemon(configuration, file: config, directory: directory, output: output, logger: logger)
            try await Self.run(daemon, logger)
        } catch let error as ConfigurationError {
            throw Self.failure(error.description, code: 78)
        } catch let error as ControlError {
            throw Self.failure("coordinatord: \(error.message)", code: error.code.exitCode)
        }
    }

    private static func run(_ daemon: Daemon, _ logger: Logger) async throws {
        var lifecycleLogger = logger
        lifecycleLogger.logLevel = .error
        let group = ServiceGroup(
            configuration: .init(
                // The daemon receives the signals itself.
                services: [.init(service: daemon, successTerminationBehavior: .gracefullyShutdownGroup)],
                logger: lifecycleLogger
            )
        )
        try await group.run()
    }

    private static func failure(_ message: String, code: Int32) -> ExitCode {
        let text = Array("\(message)\n".utf8)
        _ = write(STDERR_FILENO, text, text.count)
        return ExitCode(code)
    }
}

extension Logger.Level: @retroactive ExpressibleByArgument {}
