public import ArgumentParser
import Control
public import CoordinatorDaemon
import Coordinators
import DaemonConfiguration
import Glibc
public import Logging
import Migration
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

            Signals: TERM and INT stop the tree, each child before those that it was started after. A second one gives the processes that still run one \
            second, a third one kills them. HUP applies the configuration file again, as `coordinatorctl config apply` does. QUIT writes the \
            tree to the log. USR1, USR2 and realtime signals are logged. Every other signal that would end the daemon stops \
            the tree too.

            Exit status: 0 ended as requested; 1 failed, or another daemon is running; 64 usage; 77 not permitted; 78 bad configuration. \
            Ended by a child with `on_exit: end_daemon` or `on_failure: end_daemon`: that child's exit code, or 128 and its signal.
            """,
        version: Release.version
    )

    @Option(
        help: ArgumentHelp("The YAML file that lists the children. Default: /etc/coordinator/tree.yaml, if it's there.", valueName: "file")
    )
    var config: String?

    @Option(
        help: ArgumentHelp(
            "Check a configuration file and exit: print every problem to standard error in the form file:line:column: problem; expectation.",
            valueName: "file"
        )
    )
    var checkConfig: String?

    @Option(
        name: .customLong("import"),
        help: ArgumentHelp(
            "Write another supervisor's file as one of the daemon's to standard output and exit; what isn't carried over is told on standard error.",
            valueName: "file"
        )
    )
    var importedFile: String?

    @Option(
        help: ArgumentHelp(
            "With --import: whose file it is, one of supervisord, circus, procfile, pm2, process-compose, systemd.",
            valueName: "format"
        )
    )
    var importFrom: ConfigurationImport.Format?

    @Flag(name: .customLong("json"), help: "With --check-config and --import: print one JSON object.")
    var isJSON = false

    @Flag(help: "With --check-config: executables and directories that aren't there are no problems, as at a start.")
    var syntaxOnly = false

    @Option(
        help: ArgumentHelp(
            "The YAML file that makes the daemon a node of a cluster, with the keys of `cluster`; it counts instead of that key.",
            valueName: "file"
        )
    )
    var cluster: String?

    @Option(help: "The runtime directory. Default: COORDINATOR_RUNTIME_DIR, else $XDG_RUNTIME_DIR/coordinator, else /run/coordinator.")
    var runtimeDir: String?

    @Option(help: "The least severe messages to log: trace, debug, info, notice, warning, error or critical.")
    var logLevel: Logger.Level = .notice

    @Option(help: "The format of the log: human, or json (an object for each entry, on a line of its own).")
    var logFormat: LogFormat = .human

    /// For the running daemon alone, before it lets this executable take its place.
    @Flag(name: .customLong("rehearse"), help: .private)
    var isUpgradeDryRun = false

    /// For `Deploy/schemas`, as `coordinatorctl schemas` is.
    @Flag(name: .customLong("schemas"), help: .private)
    var isForSchemas = false

    static func main() async {
        // Before any file gets one of their numbers.
        ListeningSocket.takeActivated()
        occupyStandardDescriptors()
        MainThread.offer()
        // This task ends the process; the main thread serves the child processes, so that an upgrade keeps them.
        Task.detached {
            await work()
            Glibc.exit(0)
        }
        MainThread.serve()
    }

    private static func work() async {
        FreeMemory.limitArenas()
        // A configuration that names this executable as a worker's gets a refusal, instead of a second daemon.
        await CoordinatorRuntime.runWorkerIfRequested(coordinators: [])
        do {
            let command = try parseAsRoot()
            guard let daemon = command as? CoordinatorDaemonCommand else {
                var command = command
                return try command.run()
            }
            if daemon.isForSchemas {
                let schemas = try AnswerSchema.schemas(of: ConfigurationReport.files, noting: true)
                return try print(try ControlJSON.text(of: schemas) + "\n", to: STDOUT_FILENO)
            }
            if let file = daemon.checkConfig { return try check(file, isJSON: daemon.isJSON, checksFiles: !daemon.syntaxOnly) }
            if let file = daemon.importedFile { return try convert(file, daemon.importFrom, isJSON: daemon.isJSON) }
            try await daemon.serve(try daemon.file())
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

    /// The file of the system's daemon, where the packages have it.
    private static let systemFile = "/etc/coordinator/tree.yaml"

    mutating func validate() throws {
        let needed = "one of --config FILE, --check-config FILE and --import FILE is needed"
        switch [config, checkConfig, importedFile].count(where: { $0 != nil }) {
        case _ where isForSchemas: break
        case 1: break
        case 0 where access(Self.systemFile, F_OK) == 0: config = Self.systemFile
        case 0: throw ValidationError("\(needed), because there is no \(Self.systemFile)")
        default: throw ValidationError(needed)
        }
        if isJSON, config != nil { throw ValidationError("--json is for --check-config and --import") }
        if syntaxOnly, checkConfig == nil { throw ValidationError("--syntax-only is for --check-config") }
        if isUpgradeDryRun, config == nil { throw ValidationError("--rehearse is for --config") }
        if cluster != nil, config == nil { throw ValidationError("--cluster is for --config") }
        if importFrom != nil, importedFile == nil { throw ValidationError("--import-from is for --import") }
    }

    private func file() throws -> String {
        guard let config else { throw ValidationError("--config FILE is missing") }
        return config
    }

    private static func check(_ file: String, isJSON: Bool, checksFiles: Bool) throws {
        do {
            let result = try ConfigurationCheck(file: file, isJSON: isJSON, checksFiles: checksFiles).result()
            try print(result.errors, to: STDERR_FILENO)
            try print(result.output, to: STDOUT_FILENO)
            if result.exitCode != 0 { throw ExitCode(result.exitCode) }
        } catch let error as ControlError {
            throw failure("coordinatord: \(error.message)", code: error.code.exitCode)
        }
    }

    private static func convert(_ file: String, _ format: ConfigurationImport.Format?, isJSON: Bool) throws {
        do {
            let result = try ImportResult(file: file, format: format, isJSON: isJSON)
            try print(result.errors, to: STDERR_FILENO)
            try print(result.output, to: STDOUT_FILENO)
            if result.exitCode != 0 { throw ExitCode(result.exitCode) }
        } catch let error as ControlError {
            throw failure("coordinatord: \(error.message)", code: error.code.exitCode)
        }
    }

    /// Writes all of a text to a descriptor; a result that can't be written is a failure, unless its reader has gone.
    private static func print(_ text: String, to descriptor: Int32) throws {
        var rest = Array(text.utf8)[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            if count < 0, errno == EPIPE { return }
            guard count > 0 else {
                throw failure("coordinatord: the result can't be written: \(String(cString: strerror(errno)))", code: 1)
            }
            rest = rest.dropFirst(count)
        }
    }

    @concurrent
    private func serve(_ file: String) async throws {
        do {
            let handover = isUpgradeDryRun ? try DaemonHandover.inherited() : handover()
            // The configuration that was in effect stays so.
            var (configuration, text) =
                if let text = handover?.configuration {
                    (try DaemonConfiguration.parse(text: text, file: file), text)
                } else {
                    try DaemonConfiguration.read(path: file, allowsPipes: true)
                }
            handover?.adjust(&configuration)
            if let problem = configuration.missingPrivilege { throw failure("coordinatord: \(file): \(problem)", code: 77) }
            let directory = try RuntimeDirectory.resolve(option: runtimeDir).resolvingWorkingDirectory()
            let node = try cluster.map { file throws(ConfigurationError) in try DaemonConfiguration.cluster(path: file) }
            let output = DaemonOutput(format: logFormat)
            var logger = output.logger(label: "coordinatord")
            logger.logLevel = logLevel
            let daemon: Daemon
            do throws(ProcessError) {
                daemon = try Daemon(
                    configuration,
                    text: text,
                    file: file,
                    cluster: node,
                    directory: directory,
                    output: output,
                    logger: logger,
                    handover: handover,
                    isUpgradeDryRun: isUpgradeDryRun
                )
            } catch {
                throw failure("coordinatord: \(file): \(error.message)", code: 78)
            }
            if isUpgradeDryRun { return try daemon.dryRun(handover) }
            try await Self.run(daemon, logger)
        } catch let error as ConfigurationError {
            throw failure(error.description, code: error.code.exitCode)
        } catch let error as ControlError {
            throw failure("coordinatord: \(error.message)", code: error.code.exitCode)
        }
    }

    /// Returns what the former daemon in this process has left; one that can't be read is as if the daemon had been killed.
    private func handover() -> DaemonHandover? {
        do throws(ControlError) {
            return try DaemonHandover.inherited()
        } catch {
            _ = failure("coordinatord: what the former daemon has left can't be read: \(error.message)", code: 1)
            return nil
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
        if daemon.exitCode != 0 { throw ExitCode(daemon.exitCode) }
    }

    private func failure(_ message: String, code: Int32) -> ExitCode { Self.failure(message, code: code, logFormat) }

    private static func failure(_ message: String, code: Int32, _ format: LogFormat = .human) -> ExitCode {
        let text = Array(format.lines(of: message).utf8)
        _ = write(STDERR_FILENO, text, text.count)
        return ExitCode(code)
    }
}

extension Logger.Level: @retroactive ExpressibleByArgument {}
extension LogFormat: ExpressibleByArgument {}
extension ConfigurationImport.Format: ExpressibleByArgument {}
