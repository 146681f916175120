import ArgumentParser
import Control
import CoordinatorConsole
import Glibc
import Logging
import Processes
import ServiceLifecycle
import UnixSignals

/// The web console of a daemon.
@main
struct CoordinatorConsoleCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "coordinator-console",
        abstract: "Serve a web page, a JSON API and Prometheus metrics of a running coordinatord.",
        discussion: """
            Runs in the foreground, best as a child of the daemon itself, with `ready: notify` and `nice: 10`. Prints its address when it \
            listens. The page is at /, metrics at /metrics, the API's description at /openapi.json, probes at /healthz and /readyz.

            The console only shows, unless --token-file names a file with a secret; then a change needs that secret. It listens at the \
            loopback device or at a Unix socket alone.

            Exit status: 0 ended as requested; 1 failed; 64 usage.
            """,
        version: Release.version
    )

    @Option(help: ArgumentHelp("The address: HOST:PORT of the loopback device, or unix:PATH.", valueName: "address"))
    var listen = "127.0.0.1:7077"

    @Option(
        help:
            "The daemon's runtime directory. Default: COORDINATOR_RUNTIME_DIR, else $XDG_RUNTIME_DIR/coordinator if a daemon is there, else /run/coordinator."
    )
    var runtimeDir: String?

    @Flag(help: "Allow no changes, which is the default.")
    var readOnly = false

    @Option(help: ArgumentHelp("A file with the secret of at least 16 characters that changes need.", valueName: "file"))
    var tokenFile: String?

    @Option(help: ArgumentHelp("A further name under which browsers may reach the console, that of a proxy before it.", valueName: "name"))
    var allowedHost: [String] = []

    @Flag(help: "Answer supervisord's XML-RPC at /RPC2, for supervisorctl and its like; the token is the password of any user.")
    var supervisord = false

    func validate() throws {
        if readOnly, tokenFile != nil { throw ValidationError("--read-only and --token-file exclude each other") }
        do {
            _ = try ListenAddress(listen)
        } catch {
            throw ValidationError("--listen: \(error)")
        }
    }

    func run() async throws {
        do {
            let directory = try RuntimeDirectory.find(option: runtimeDir).resolvingWorkingDirectory()
            var configuration = ConsoleConfiguration(address: try ListenAddress(listen), runtimeDirectory: directory)
            configuration.token = try tokenFile.map(Self.token)
            configuration.allowedHosts = Set(allowedHost.map { $0.lowercased() })
            configuration.answersSupervisorctl = supervisord
            // A browser that goes away while it is written to is no reason to end.
            signal(SIGPIPE, SIG_IGN)
            try await Self.serve(configuration)
        } catch let error as ControlError {
            throw Self.failure(error.message)
        } catch let error as ListenAddress.Problem {
            throw Self.failure(error.description)
        }
    }

    private static func serve(_ configuration: ConsoleConfiguration) async throws {
        var logger = Logger(label: "coordinator-console") { StreamLogHandler.standardError(label: $0) }
        logger.logLevel = .error
        let console = Console(configuration) { address in
            print("coordinator-console listens at \(address.url)")
            fflush(nil)
            Readiness.tell("READY=1")
        }
        let group = ServiceGroup(
            configuration: .init(
                services: [.init(service: console)],
                gracefulShutdownSignals: [.sigterm, .sigint],
                logger: logger
            )
        )
        do {
            try await group.run()
        } catch {
            throw failure("\(configuration.address) can't be listened at: \(error)")
        }
    }

    /// Reads the secret.
    private static func token(_ file: String) throws -> String {
        guard let stream = fopen(file, "r") else {
            throw failure("the token's file \(file) can't be read: \(String(cString: strerror(errno)))")
        }
        defer { fclose(stream) }
        var bytes = [UInt8](repeating: 0, count: 1024)
        let count = fread(&bytes, 1, bytes.count, stream)
        let token = bytes[..<count].prefix { (0x21...0x7e).contains($0) }
        guard token.count >= 16 else { throw failure("\(file) has no token: expected at least 16 printable characters on one line") }
        return String(decoding: token, as: UTF8.self)
    }

    private static func failure(_ message: String) -> ExitCode {
        let text = Array("coordinator-console: \(message)\n".utf8)
        _ = write(STDERR_FILENO, text, text.count)
        return ExitCode(1)
    }
}

extension ListenAddress {
    /// The address as it is entered in a browser.
    fileprivate var url: String {
        if case .unix = self { description } else { "http://\(self)/" }
    }
}
