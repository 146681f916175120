import ConcurrencySupport
import Glibc
import Processes
import TestSupport
import Testing
import WireProtocol

@testable import Control

/// Commands of a user whose own daemon goes away, on a machine that has a daemon of the system too.
@Suite(
    "The daemon of a command",
    .timeLimit(minutes: 2),
    .enabled(if: geteuid() == 0 && access("/usr/bin/unshare", X_OK) == 0, "needs root and unshare(1)")
)
struct KeptDirectoryTests {
    /// The runtime directories of the two daemons, in one of which commands look for `/run`.
    private struct Machine {
        private let temporary: TemporaryDirectory
        let user: RuntimeDirectory
        let system: RuntimeDirectory

        init() throws {
            let directory = try TemporaryDirectory()
            for name in ["session", "run"] { try #require(mkdir(directory.file(name), 0o700) == 0) }
            temporary = directory
            user = RuntimeDirectory(path: directory.file("session/coordinator"))
            system = RuntimeDirectory(path: directory.file("run/coordinator"))
        }

        /// A command of the user.
        func command(_ arguments: [String], _ errors: Transcript) -> ProcessSpecification {
            let line = #"mount --bind "$0" /run && exec "$@""#
            return ProcessSpecification(
                executable: "/usr/bin/unshare",
                arguments: ["-m", "sh", "-c", line, temporary.file("run"), BuiltProgram("coordinatorctl").path] + arguments,
                environment: ["PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "XDG_RUNTIME_DIR": temporary.file("session")]
                    .merging(Sanitizer.environment) { given, _ in given },
                standardOutput: .null,
                standardError: errors.destination
            )
        }
    }

    /// A daemon whose streams have no items, and go on until they are cancelled.
    private static func quiet() -> FakeHandler {
        FakeHandler { _ in
            try? await untilCancelled()
            return .failure(ControlError(.cancelled, "cancelled"))
        }
    }

    @Test("A command that isn't told which daemon is meant finds the user's own one, else that of the system")
    func found() async throws {
        let machine = try Machine()
        let (user, system) = (FakeHandler(), FakeHandler())
        func ask() async throws -> Processes.ExitStatus {
            try await withChild(machine.command(["ps", "--json"], Transcript())) { await $0.waitForExit() }
        }
        try await withServer(system, at: machine.system) { _, _ in
            _ = try await ask()
            #expect(system.operations == [.ps])
            try await withServer(user, at: machine.user) { _, _ in _ = try await ask() }
        }
        #expect(user.operations == [.ps] && system.operations == [.ps])
    }

    @Test("A followed stream waits for its own daemon, and doesn't go on with that of the system")
    func stream() async throws {
        let machine = try Machine()
        let (user, next, system) = (Self.quiet(), Self.quiet(), Self.quiet())
        let isOver = OneShot<Void>()
        defer { isOver.settle() }
        try await withServer(system, at: machine.system) { _, _ in
            let first = Task { try await withServer(user, at: machine.user) { _, _ in await isOver.value } }
            try await eventually("the user's daemon is there") { access(machine.user.controlSocket, F_OK) == 0 }
            let errors = Transcript()
            try await withChild(machine.command(["events", "--follow"], errors)) { _ in
                try await eventually("it's asked") { user.operations.count == 1 }
                isOver.settle()
                try await first.value
                try await eventually("the command misses it") { errors.text.contains("the daemon is gone") }
                try await withServer(next, at: machine.user) { _, _ in
                    try await eventually("the next one is asked") { next.operations.count == 1 }
                }
            }
        }
        #expect(system.operations.isEmpty)
    }

    @Test("A rolling restart ends when its own daemon is gone, and restarts nothing of that of the system")
    func rolling() async throws {
        let machine = try Machine()
        let paths = try ControlJSON.value(of: PathList(paths: ["/a-1", "/a-2"]))
        let result = try ControlJSON.value(of: LifecycleResult(path: "/a-1", state: "active", pid: 7, incarnation: 2))
        let isReplaced = OneShot<Void>()
        defer { isReplaced.settle() }
        let user = FakeHandler { operation in
            if operation.name == "replacements" { return .success(paths) }
            await isReplaced.value
            return .success(result)
        }
        let system = FakeHandler { .success($0.name == "replacements" ? paths : result) }
        try await withServer(system, at: machine.system) { _, _ in
            try await withServer(user, at: machine.user, grace: .seconds(50)) { _, server in
                let errors = Transcript()
                try await withChild(machine.command(["restart", "--rolling", "/a"], errors)) { command in
                    try await eventually("the first is being replaced") { user.operations.contains(.replace(path: "/a-1")) }
                    server.close()
                    isReplaced.settle()
                    #expect(await command.waitForExit() == .exited(code: 69), "\(errors.text)")
                    #expect(errors.text.contains("/a-2 was not replaced: the daemon isn't reachable"), "\(errors.text)")
                }
            }
        }
        #expect(system.operations.isEmpty)
    }
}
