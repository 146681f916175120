import ConcurrencySupport
import Control
import CoordinatorsTesting
import Glibc
import Processes
import TestSupport
import Testing
import WireProtocol

/// A real `coordinatord` with a real console as its child, in a directory of their own.
final class RunningConsole: Sendable {
    static let token = "0123456789-a-token"

    private let temporary: TemporaryDirectory
    private let daemons: Lock<[ChildProcess]>
    /// What the daemons have written.
    let log: Transcript
    /// The port of the loopback device at which the console listens.
    let port: UInt16

    var directory: String { temporary.path }

    /// The latest daemon.
    var daemon: ChildProcess { daemons.withLock { $0[$0.count - 1] } }

    private init(_ temporary: TemporaryDirectory, daemon: ChildProcess, port: UInt16, log: Transcript) {
        self.temporary = temporary
        self.port = port
        self.log = log
        daemons = Lock([daemon])
    }

    /// Starts a daemon with further children, runs the body once the console is ready, and ends the daemon in any case.
    ///
    /// - Parameters:
    ///   - children: Further children, in which `DIRECTORY` stands for the directory and `CONSOLE` for the console's executable.
    ///   - settings: Further keys of the file.
    static func with(
        _ children: String = "",
        settings: String = "",
        isReadOnly: Bool = false,
        options further: [String] = [],
        _ body: (RunningConsole) async throws -> Void
    ) async throws {
        let temporary = try TemporaryDirectory()
        let port = try FreePort.find()
        try Files.write(token + "\n", to: temporary.file("token"))
        let options = ((isReadOnly ? [] : ["--token-file", temporary.file("token")]) + further).map { ", \($0)" }.joined()
        let console = BuiltProgram("coordinator-console").path
        let tree = """
            observability: { metrics: {} }
            \(settings)
            children:
              - name: console
                program:
                  command: [\(console), --listen, "127.0.0.1:\(port)", --runtime-dir, \(temporary.file("run"))\(options)]
                  ready: notify
                  nice: 10
                  health: { http: "http://127.0.0.1:\(port)/healthz", interval: 5s }
            \(children)
            supervision: { max_restarts: 1000, period: 60s, backoff: { minimum: 1ms, maximum: 10ms } }
            """
        let text = tree.replacing("DIRECTORY", with: temporary.path).replacing("CONSOLE", with: console)
        try Files.write(text, to: temporary.file("tree.yaml"))
        let log = Transcript()
        let running = RunningConsole(temporary, daemon: try await spawn(in: temporary, log), port: port, log: log)
        do {
            try await eventually("the console is ready", within: .seconds(60)) { try? await running.get("/readyz").status == 200 }
            try await body(running)
        } catch {
            // What a killed daemon has left goes on; the next one adopts it, and ends it.
            if !running.isAlive {
                try? await running.startNextDaemon()
                _ = await eventually { (try? await running.attempt(["status", "/"]).exitCode) == 0 }
            }
            // One that a test has stopped hears no signal.
            try? running.daemon.send(.continue)
            _ = await running.daemon.terminate(grace: .patient(.seconds(10)))
            throw error
        }
        _ = await running.daemon.terminate(grace: .patient(.seconds(10)))
    }

    private static func spawn(in directory: TemporaryDirectory, _ log: Transcript) async throws -> ChildProcess {
        try await ProcessSpawner.shared.spawn(
            ProcessSpecification(
                executable: BuiltProgram("coordinatord").path,
                arguments: ["--config", directory.file("tree.yaml"), "--runtime-dir", directory.file("run")],
                standardOutput: .null,
                standardError: log.destination
            )
        )
    }

    /// Starts another daemon after one that has ended.
    func startNextDaemon() async throws {
        let next = try await Self.spawn(in: temporary, log)
        daemons.withLock { $0.append(next) }
    }

    func get(_ path: String, headers: [String: String] = [:]) async throws -> HTTPExchange.Answer {
        try await HTTPExchange.request("GET", path, port: port, headers: headers)
    }

    /// Requests a change as the page does.
    func post(_ path: String, _ body: String, headers: [String: String] = [:], token: String? = RunningConsole.token) async throws
        -> HTTPExchange.Answer
    {
        var all = ["Content-Type": "application/json"]
        if let token { all["Authorization"] = "Bearer \(token)" }
        return try await HTTPExchange.request("POST", path, port: port, headers: all.merging(headers) { $1 }, body: body)
    }

    /// Runs a command that may fail.
    @discardableResult
    func attempt(_ arguments: [String]) async throws -> BuiltProgram.Ended {
        try await BuiltProgram("coordinatorctl").run(["--runtime-dir", "\(directory)/run"] + arguments)
    }

    func control(_ arguments: String...) async throws -> String {
        let ended = try await attempt(arguments)
        // 3: what is shown isn't running; 5: it's unhealthy.
        try #require([0, 3, 5].contains(ended.exitCode), "\(arguments): \(ended.errors)")
        return ended.output
    }

    var isAlive: Bool { daemon.identity.isAlive }

    /// Changes the daemon's configuration file.
    func change(_ edit: (String) -> String) throws {
        let file = temporary.file("tree.yaml")
        try Files.write(edit(try #require(Files.text(of: file))), to: file)
    }

    /// The tree, as the operator's command tells it.
    func tree() async throws -> TreeNode {
        try ControlJSON.decode(TreeNode.self, from: ControlJSON.parse(Array(try await control("tree", "--json").utf8)))
    }

    func metrics() async throws -> TreeMetrics {
        try ControlJSON.decode(TreeMetrics.self, from: ControlJSON.parse(Array(try await control("metrics", "--json").utf8)))
    }

    func node(_ path: String) async throws -> TreeNode {
        try ControlJSON.decode(TreeNode.self, from: ControlJSON.parse(Array(try await control("status", path, "--json").utf8)))
    }
}
