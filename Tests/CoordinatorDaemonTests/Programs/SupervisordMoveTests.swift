import Control
import Glibc
import Processes
import TestSupport
import Testing

@Suite("A move from another supervisor", .timeLimit(minutes: 3))
struct SupervisordMoveTests {
    private static let supervisord = "/usr/bin/supervisord"

    /// Five programs: plain, with variables, in a group, in two instances, and one that may end.
    private static func file(_ directory: TemporaryDirectory) -> String {
        """
        [supervisord]
        logfile=\(directory.path)/supervisord.log
        pidfile=\(directory.path)/supervisord.pid
        environment=MOVE="\(directory.path)"
        [program:plain]
        command=/bin/sleep 1001
        priority=5
        [program:variables]
        command=/bin/sh -c "echo $MOVE $COLOUR; exec /bin/sleep 1002"
        environment=COLOUR="red, or so"
        stdout_logfile=\(directory.path)/variables.log
        redirect_stderr=true
        [program:member]
        command=/bin/sleep 1003
        directory=/usr
        [group:team]
        programs=member
        [program:two]
        command=/bin/sleep 1004%(process_num)d
        process_name=%(program_name)s-%(process_num)d
        numprocs=2
        [program:once]
        command=/bin/sh -c "touch %(here)s/once.$$; exit 0"
        startsecs=0
        autorestart=false
        """
    }

    /// Returns the commands and the directories of the processes that have the variable of this test, except a shell that still starts.
    private static func running(_ directory: TemporaryDirectory) -> [String] {
        Files.numbers(in: "/proc").compactMap { number in
            guard Files.text(of: "/proc/\(number)/environ")?.contains("MOVE=\(directory.path)\0") == true,
                let command = Files.text(of: "/proc/\(number)/cmdline")?.replacing("\0", with: " "), command.hasPrefix("/bin/sleep")
            else { return nil }
            var buffer = [CChar](repeating: 0, count: 4_096)
            let length = readlink("/proc/\(number)/cwd", &buffer, buffer.count)
            return command + String(decoding: buffer[..<max(0, length)].map { UInt8(bitPattern: $0) }, as: UTF8.self)
        }.sorted()
    }

    /// Expects that `supervisorctl`, led to a console beside the daemon, prints the programs that supervisord ran.
    private static func showsAll(_ daemon: RunningDaemon, _ directory: TemporaryDirectory) async throws {
        let (socket, file) = (directory.file("console.sock"), directory.file("supervisorctl.conf"))
        try Files.write("[supervisorctl]\nserverurl=unix://\(socket)\n", to: file)
        let console = ProcessSpecification(
            executable: BuiltProgram("coordinator-console").path,
            arguments: ["--listen", "unix:\(socket)", "--runtime-dir", "\(daemon.directory)/run", "--supervisord"],
            standardOutput: .null,
            standardError: .null
        )
        try await withChild(console) { _ in
            try await eventually("the console listens", sourceLocation: #_sourceLocation) { access(socket, F_OK) == 0 }
            let status = ["-c", file, "status"]
            let expected = ["once EXITED", "plain RUNNING", "team:member RUNNING", "two-1 RUNNING", "two-2 RUNNING", "variables RUNNING"]
            try await eventually("supervisorctl prints what runs", sourceLocation: #_sourceLocation) {
                let output = Transcript()
                let supervisorctl = ProcessSpecification(
                    executable: "/usr/bin/supervisorctl",
                    arguments: status,
                    standardOutput: output.destination,
                    standardError: output.destination
                )
                _ = try await withChild(supervisorctl) { await $0.waitForExit() }
                return output.text.split(separator: "\n").map { $0.split(separator: " ").prefix(2).joined(separator: " ") } == expected
            }
        }
    }

    @Test(
        "Five programs of a running supervisord run under the daemon after one command, as they did before",
        .enabled(if: access(supervisord, X_OK) == 0, "needs supervisor")
    )
    func move() async throws {
        let directory = try TemporaryDirectory()
        let file = directory.file("supervisord.conf")
        try Files.write(Self.file(directory), to: file)
        var before: [String] = []
        let specification = ProcessSpecification(
            executable: Self.supervisord,
            arguments: ["--nodaemon", "--configuration", file],
            workingDirectory: directory.path,
            standardOutput: .null,
            standardError: .null
        )
        try await withChild(specification) { supervisor in
            try await eventually("supervisord runs all five", sourceLocation: #_sourceLocation) {
                before = Self.running(directory)
                return before.count == 5 && directory.entries.contains { $0.hasPrefix("once.") }
            }
            _ = await supervisor.terminate(grace: .patient(.seconds(10)))
        }
        try await eventually("they have ended", sourceLocation: #_sourceLocation) { Self.running(directory).isEmpty }
        for name in directory.entries where name.hasPrefix("once.") { unlink(directory.file(name)) }
        unlink(directory.file("variables.log"))

        let imported = try await BuiltProgram("coordinatorctl").run(["import", file])
        #expect(imported.exitCode == 0)
        #expect(imported.errors.contains("\(file):16: [group:team]: its programs have the paths /team/NAME"), "\(imported.errors)")
        try await RunningDaemon.with(imported.output, wrapper: "env -C '\(directory.path)'") { daemon in
            try await daemon.eventually("the daemon runs all five") { Self.running(directory) == before }
            try await daemon.eventually("the one that ends has ended, as it should") {
                let once = try await daemon.node("/once")
                return once.pid == nil && ["inactive", "stopped"].contains(once.state)
            }
            #expect(directory.entries.count { $0.hasPrefix("once.") } == 1)
            #expect(try await daemon.tree().children.map(\.key) == ["plain", "variables", "two-1", "two-2", "once", "team"])
            try await daemon.eventually("the output is where it was") {
                Files.text(of: directory.file("variables.log"))?.contains("\(directory.path) red, or so") == true
            }
            try await Self.showsAll(daemon, directory)
        }
    }
}
