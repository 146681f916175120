import Control
import Glibc
import Processes
import TestSupport
import Testing

@testable import CoordinatorDaemon

@Suite("What the package has, and how its daemon starts", .timeLimit(minutes: 3))
struct PackageTests {
    /// Words and marks that mean something to the documentation's catalogue alone, by a regular expression of grep(1).
    private static let marks = "<doc:|(^|[^`])``([^`]|$)|^@[A-Z][A-Za-z]*"

    @Test("All that people read in it can be read without the catalogue of the documentation")
    func documents() async throws {
        let directory = try TemporaryDirectory()
        let built = RunningDaemon.coordinatord.path.split(separator: "/").dropLast().map { "/\($0)" }.joined()
        let package = try await BuiltProgram(path: "\(Files.packageRoot)/Deploy/package").run([
            "--documents", directory.path, "--built", built,
        ])
        #expect(package.exitCode == 0, "\(package)")
        // Reads files as they are, and those that are packed.
        let shell = BuiltProgram(path: "/bin/sh")
        let files = try await shell.run(["-c", "find '\(directory.path)' -type f"]).output.split(separator: "\n")
        let names = Set(files.map { $0.split(separator: "/").last.map(String.init) ?? "" })
        let expected = [
            "coordinatorctl", "_coordinatorctl", "coordinatorctl.fish", "coordinatord.8.gz", "coordinatorctl.1.gz",
            "coordinator-console.8.gz",
            "coordinatord.yaml.5.gz", "configuration.md.gz", "runbook.md.gz", "console.md.gz", "deployment.md.gz", "alerts.yaml",
        ]
        #expect(names.isSuperset(of: expected), "\(names)")
        let marked = try await shell.run(["-c", "find '\(directory.path)' -type f -exec zgrep -EnH '\(Self.marks)' {} +"])
        #expect(marked.output.isEmpty, "\(marked.output)")
    }

    @Test(
        "The marks of the catalogue are found",
        arguments: [("see <doc:Console>", true), ("``Child``", true), ("```sh", false), ("`a`", false)]
    )
    func marks(text: String, isFound: Bool) async throws {
        let found = try await BuiltProgram(path: "/bin/sh").run(["-c", "printf '%s\\n' '\(text)' | grep -Eq '\(Self.marks)'"])
        #expect((found.exitCode == 0) == isFound)
    }

    /// The settings of a unit of systemd, by their names.
    private static func unit(_ name: String) throws -> [String: [String]] {
        let text = try #require(Files.text(of: "\(Files.packageRoot)/Deploy/systemd/\(name)"))
        return text.split(separator: "\n").filter { !$0.hasPrefix("#") }.reduce(into: [:]) { settings, line in
            let parts = line.split(separator: "=", maxSplits: 1).map(String.init)
            if parts.count == 2 { settings[parts[0], default: []].append(parts[1]) }
        }
    }

    @Test("The unit's directories are those of the system, where the command and the daemon look without an option")
    func directories() throws {
        let unit = try Self.unit("coordinatord.service")
        for name in ["RuntimeDirectory", "StateDirectory", "LogsDirectory", "ConfigurationDirectory"] {
            #expect(unit[name] == ["coordinator"])
        }
        let start = try #require(unit["ExecStart"]?.first).split(separator: " ").map(String.init)
        let runtime = try RuntimeDirectory.resolve(option: nil, environment: [:])
        #expect(start == ["/usr/sbin/coordinatord", "--config", "/etc/coordinator/tree.yaml", "--runtime-dir", runtime.path])
        #expect(
            LogDirectory(runtime) { ["LOGS_DIRECTORY": "/var/log/coordinator", "STATE_DIRECTORY": "/var/lib/coordinator"][$0] }.path
                == "/var/log/coordinator"
        )
        // A file that can't be used isn't mended by another start; everything else may pass, and nothing is asked before the daemon.
        let codes: [ControlError.Code] = [.invalidRequest, .notPermitted, .badConfiguration]
        #expect(unit["RestartPreventExitStatus"] == [codes.map { "\($0.exitCode)" }.joined(separator: " ")])
        #expect(unit["ExecStartPre"] == nil)
        let temporary = try #require(Files.text(of: "\(Files.packageRoot)/Deploy/systemd/coordinatord.tmpfiles"))
        for path in [runtime.path, "/var/lib/coordinator", "/var/log/coordinator"] { #expect(temporary.contains(" \(path) ")) }
    }

    @Test("The unit keeps nothing from programs that live on when the daemon was killed: systemd would remove it before the next start")
    func kept() throws {
        let unit = try Self.unit("coordinatord.service")
        #expect(unit["KillMode"] == ["process"] && unit["RuntimeDirectoryPreserve"] == ["yes"])
        for name in ["PrivateTmp", "RemoveIPC", "DynamicUser"] { #expect(unit[name] == nil, "\(name)") }
        // ProtectSystem=strict alone would have them read these only.
        #expect(unit["ProtectSystem"] == ["strict"] && unit["ReadWritePaths"] == ["/tmp /var/tmp"])
    }

    @Test("The article shows lines of the unit as they are, and the unit's watchdog leaves the tree to the next daemon")
    func article() throws {
        let unit = try Self.unit("coordinatord.service")
        // By SIGABRT, systemd's default, the daemon stops its tree.
        #expect(unit["WatchdogSignal"] == ["SIGKILL"])
        let article = try #require(Files.text(of: "\(Files.packageRoot)/Sources/Coordinators/Coordinators.docc/Deployment.md"))
        let beginning = try #require(article.firstRange(of: "```ini\n[Service]\nType=notify\n"))
        let lines = article[beginning.lowerBound...].split(separator: "\n").dropFirst(2).prefix { $0 != "```" }
        #expect(lines.contains("WatchdogSignal=SIGKILL"))
        for line in lines {
            let parts = line.split(separator: "=", maxSplits: 1).map(String.init)
            #expect(parts.count == 2 && unit[parts[0]]?.contains(parts[1]) == true, "\(line)")
        }
    }

    /// The children of a file that can't be started, each for another reason that a boot may bring: what they need isn't there, or isn't yet.
    private static let missing = [
        "executable": "program: { command: [/nonexistent/program] }",
        "search": "program: { command: [no-such-program] }",
        "directory": "program: { command: [sleep, '1000'], directory: /nonexistent/directory }",
        "variables": "program: { command: [sleep, '1000'], environment_files: [/nonexistent/variables] }",
        "interpreter": "program: { command: [DIRECTORY/script] }",
        "worker": "worker: { executable: /nonexistent/worker, coordinator: MiddleCoordinator }",
        "worker-directory": "worker: { executable: FIXTURE, coordinator: MiddleCoordinator, directory: /nonexistent/directory }",
        "socket": "program: { command: [sleep, '1000'], sockets: [{ name: a, listen: /nonexistent/socket }] }",
    ]

    @Test("What isn't there keeps its own child down and no other, whatever it is; the daemon is ready all the same")
    func missingFiles() async throws {
        let directory = try TemporaryDirectory()
        try Files.write("#!/nonexistent/shell\n", to: directory.file("script"), mode: 0o700)
        chmod(directory.file("script"), 0o700)
        let children = Self.missing.sorted { $0.key < $1.key }.map { "  - { name: \($0), \($1) }" }.joined(separator: "\n")
        let tree = """
            children:
              - { name: first, program: { command: [sleep, '1000'] } }
            \(children)
              - { name: log, program: { command: [sh, -c, "echo line; exec sleep 1000"] }, logging: { file: /proc/none/log } }
              - { name: last, program: { command: [sleep, '1000'] } }
            """.replacing("DIRECTORY", with: directory.path)
        let log = Transcript()
        try await RunningDaemon.with(tree, standardError: log.destination) { daemon in
            try await daemon.eventually("the daemon is ready") { log.text.contains("ready: each child has been started") }
            let states = Dictionary(uniqueKeysWithValues: try await daemon.tree().children.map { ($0.key, $0.state) })
            for name in ["first", "log", "last"] { #expect(states[name] == "active") }
            for name in Self.missing.keys { #expect(states[name] != nil && states[name] != "active", "\(name)") }
            let status = try await daemon.control("status", "/first", "/last")
            #expect(status.exitCode == 0, "\(status)")
        }
    }
}
