import Control
import Glibc
import Processes
import TestSupport
import Testing

/// Files of children and of the daemon that don't answer, each at every place that has one: none delays the supervision of the others.
@Suite("Files that hang", .timeLimit(minutes: 3))
struct FileSystemTests {
    /// A file of a child.
    enum Place: String, CaseIterable {
        case executable, interpreter, directory, variables, variablesOfWorker, directoryOfWorker, searchPath, otherUser, readiness, health
        case pipe, device

        /// The settings of a child with this file; `HUNG` is a directory that hangs, `HERE` one that doesn't.
        private var settings: String {
            switch self {
            case .executable: "program: { command: [HUNG/program], start_timeout: 1s }"
            case .interpreter: "program: { command: [HERE/script], start_timeout: 1s }"
            case .directory: "program: { command: [sleep, '1000'], directory: HUNG/directory, start_timeout: 1s }"
            case .variables: "program: { command: [sleep, '1000'], environment_files: [HUNG/variables], start_timeout: 1s }"
            case .variablesOfWorker: "worker: { executable: FIXTURE, coordinator: MiddleCoordinator, environment_files: [HUNG/variables] }"
            case .directoryOfWorker: "worker: { executable: FIXTURE, coordinator: MiddleCoordinator, directory: HUNG/directory }"
            case .searchPath: "program: { command: [none, '1000'], environment: { PATH: 'HUNG/bin:/usr/bin' }, start_timeout: 1s }"
            case .otherUser: "program: { command: [HUNG/program], user: nobody, start_timeout: 1s }"
            case .readiness: "program: { command: [sleep, '1000'], ready: { command: [HUNG/ready], timeout: 1s }, start_timeout: 300s }"
            case .health:
                """
                program: { command: [sleep, '1000'], health: { command: [HUNG/check], interval: 100ms, timeout: 1s, retries: 1, \
                on_failure: report } }
                """
            case .pipe: "program: { command: [sleep, '1000'], environment_files: [HERE/pipe], start_timeout: 1s }"
            case .device: "program: { command: [sleep, '1000'], environment_files: [/dev/zero], start_timeout: 1s }"
            }
        }

        /// What the child's state says.
        var told: [String] {
            switch self {
            case .readiness: ["starting"]
            case .health: ["unhealthy", "hangs"]
            case .pipe, .device: ["regular file"]
            default: ["hangs", "since"]
            }
        }

        /// Whether a process hangs.
        var hangs: Bool { self != .pipe && self != .device }

        static func tree(_ hung: String, _ here: String) -> String {
            let children = allCases.map { "  - name: \($0)\n    \($0.settings)" }.joined(separator: "\n")
            return """
                children:
                \(children)
                  - name: web
                    program: { command: [sleep, "1000"] }
                supervision: { max_restarts: 100000, period: 1s, backoff: { minimum: 100ms, maximum: 100ms } }
                """.replacing("HUNG", with: hung).replacing("HERE", with: here)
        }
    }

    /// A file of the daemon, which an operator names.
    static let commands = [
        ["config", "diff"], ["config", "apply"],
    ]

    /// Files that the daemon has open itself, on threads of their own, which end when the file system goes.
    @Test(
        "of output, sockets and telemetry delay neither their neighbours nor an operator",
        .enabled(if: HangingFileSystem.isAvailable, "only root can mount a file system; needs /dev/fuse")
    )
    func ownFiles() async throws {
        var hung: HangingFileSystem? = try HangingFileSystem()
        let path = try #require(hung?.path)
        let tree = """
            children:
              - name: log
                program: { command: [sh, -c, "echo line; exec sleep 1000"] }
                logging: { file: \(path)/log }
              - name: socket
                program: { command: [sleep, "1000"], sockets: [{ name: web, listen: \(path)/socket }], start_timeout: 1s }
              - name: web
                program: { command: [sleep, "1000"] }
            observability: { traces: { file: \(path)/traces, sample: 1 }, metrics: { file: \(path)/metrics, interval: 100ms } }
            supervision: { max_restarts: 100000, period: 1s, backoff: { minimum: 100ms, maximum: 100ms } }
            """
        try await RunningDaemon.with(tree) { daemon in
            try await daemon.eventually("the socket's start has failed, and the log's child runs") {
                let socket = try await daemon.node("/socket")
                let text = [socket.lastExit, socket.statusText].compactMap(\.self).joined()
                return try await daemon.node("/log").state == "active" && text.contains("hangs")
            }
            // Reading the log hangs as long as the operator waits, and nobody else waits for it.
            async let logs = daemon.control("logs", "/log")
            try await Self.restartAnother(of: daemon)
            // The kernel answers all that waits with an error.
            hung = nil
            _ = try await logs
            let end = try await Self.elapsed {
                try daemon.process.send(.terminate)
                _ = await daemon.process.waitForExit()
            }
            #expect(end < .patient(.seconds(5)))
        }
    }

    @Test("that are imported don't keep the import from its end", .enabled(if: HangingFileSystem.isAvailable, "needs /dev/fuse"))
    func imports() async throws {
        let hung = try HangingFileSystem()
        let command = ProcessSpecification(executable: RunningDaemon.coordinatord.path, arguments: ["--import", "\(hung.path)/units"])
        try await withChild(command) { child in
            try await eventuallyWithoutError("the file is being read", sourceLocation: #_sourceLocation) { !child.identity.unborn.isEmpty }
            try child.send(.terminate)
            let end = await Self.elapsed { _ = await child.waitForExit() }
            #expect(end < .patient(.seconds(10)))
        }
        withExtendedLifetime(hung) {}
    }

    /// Kills the child that has nothing to do with the file system, which is restarted at once.
    @discardableResult
    private static func restartAnother(of daemon: RunningDaemon) async throws -> Duration {
        var restart = Duration.zero
        try await expectPromptly(within: .patient(.seconds(2))) {
            let web = try await daemon.runningPID(of: "/web")
            restart = try await elapsed {
                kill(web, SIGKILL)
                try await daemon.eventually("the other child is restarted") {
                    let node = try await daemon.node("/web")
                    return node.state == "active" && node.pid != web
                }
            }
            return restart
        }
        return restart
    }

    private static func elapsed(_ body: () async throws -> Void) async rethrows -> Duration {
        let start = MachineClock.now
        try await body()
        return .now - start
    }

    @Test(
        "delay no other child, no operator and no end, whatever the files are for",
        .enabled(if: HangingFileSystem.isAvailable, "only root can mount a file system; needs /dev/fuse")
    )
    func files() async throws {
        let (hung, here) = (try HangingFileSystem(), try TemporaryDirectory())
        try #require(mkfifo(here.file("pipe"), 0o600) == 0)
        try Files.write("#!\(hung.path)/shell\n", to: here.file("script"))
        chmod(here.file("script"), 0o755)
        chmod(here.path, 0o755)
        try await RunningDaemon.with(Place.tree(hung.path, here.path)) { daemon in
            for place in Place.allCases {
                try await daemon.eventually("\(place): its state says \(place.told)") {
                    let node = try await daemon.node("/\(place)")
                    let state = [node.state, node.lastExit, node.statusText, node.health?.problem].compactMap(\.self).joined(
                        separator: ", "
                    )
                    guard place.told.allSatisfy(state.contains) else { return false }
                    print("\(place): \(state)")
                    return true
                }
            }
            try await daemon.eventually("one whose start hangs is tried again") {
                try await daemon.node("/directory").incarnation > 2
            }
            // What hangs are children of the daemon that haven't become their programs, or read a file.
            // One that reads a file that answers is gone in a moment.
            try await daemon.eventually("there is no second attempt beside one that hangs") {
                daemon.process.identity.unborn.count <= Place.allCases.count(where: \.hangs)
            }

            try await daemon.eventually("the metrics tell what hangs") {
                let hangs = try ControlJSON.decode(TreeMetrics.self, from: try await daemon.call(.metrics)).fileSystemHangs ?? []
                return hangs.contains { $0.contains("/directory") } && !hangs.contains { $0.contains("/web") }
            }

            let restart = try await Self.restartAnother(of: daemon)
            for command in Self.commands {
                let refused = try await daemon.control(command + [here.file("pipe")])
                #expect(refused.exitCode != 0 && refused.errors.contains("regular file"), "\(command): \(refused)")
            }
            // The daemon's own file is read again, and the files that it names are looked at.
            try await expectPromptly(within: .patient(.seconds(2))) {
                try daemon.process.send(.hangup)
                return try await Self.elapsed { _ = try await daemon.tree() }
            }
            let end = try await Self.elapsed {
                try daemon.process.send(.terminate)
                _ = await daemon.process.waitForExit()
            }
            #expect(end < .patient(.seconds(5)))
            print("restart after \(restart), end after \(end)")
        }
        withExtendedLifetime((hung, here)) {}
    }
}

extension ProcessIdentity {
    /// The children that haven't become their program yet: they have this process's executable.
    fileprivate var unborn: [String] {
        func executable(_ process: String) -> String {
            var buffer = [CChar](repeating: 0, count: Int(PATH_MAX))
            let length = max(readlink("/proc/\(process)/exe", &buffer, buffer.count), 0)
            return String(decoding: buffer[..<length].map { UInt8(bitPattern: $0) }, as: UTF8.self)
        }
        let children = Files.names(in: "/proc/\(processID)/task").compactMap { Files.text(of: "/proc/\(processID)/task/\($0)/children") }
        return children.flatMap { $0.split(separator: " ").map(String.init) }.filter { executable($0) == executable("\(processID)") }
    }
}
