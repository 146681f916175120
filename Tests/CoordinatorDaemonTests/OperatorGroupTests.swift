import Control
import Glibc
import Processes
import TestSupport
import Testing

@Suite("The group of the operators", .timeLimit(minutes: 2), .enabled(if: geteuid() == 0, "only root can be other users"))
struct OperatorGroupTests {
    private static let group = 54_321
    private static let tree = "children: [{ name: sleeper, program: { command: [sleep, '1000'] } }]\n"

    /// Runs a command of coordinatorctl as another user.
    private static func control(
        _ daemon: RunningDaemon,
        _ executable: String,
        _ identity: [String],
        _ command: [String] = ["status", "/sleeper"]
    ) async throws -> BuiltProgram.Ended {
        let command = ["--reuid=54322"] + identity + [executable, "--runtime-dir", "\(daemon.directory)/run"] + command
        return try await BuiltProgram(path: "/usr/bin/setpriv").run(command)
    }

    /// An operator's command, the groups as whose member it's given, and its exit code.
    private struct Attempt: Sendable {
        let groups: [Int]
        let command: [String]
        let code: Int32

        init(_ groups: Int..., command: String, _ code: Int32) {
            (self.groups, self.command, self.code) = (groups, command.split(separator: " ").map(String.init), code)
        }
    }

    @Test("does what its role allows, the highest of several, and reads nothing that it couldn't read itself")
    func roles() async throws {
        let files = try TemporaryDirectory()
        let executable = try await Self.copy(in: files)
        let secret = "sesame-\(getpid())"
        let (shown, hidden, link) = (files.file("shown.yaml"), files.file("hidden.yaml"), files.file("link.yaml"))
        try Files.write(Self.tree, to: shown)
        try Files.write("\(secret): 1\n", to: hidden)
        chmod(shown, 0o644)
        chmod(hidden, 0o600)
        symlink(hidden, link)
        let (observers, operators, administrators, others) = (54_331, 54_332, 54_333, 54_334)
        let groups = "[{ group: \(observers), role: observe }, { group: \(operators) }, { group: \(administrators), role: administer }]"
        try await RunningDaemon.with("\(Self.tree)operators: \(groups)\n") { daemon in
            chmod(daemon.directory, 0o711)
            func make(_ attempts: [Attempt]) async throws {
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for attempt in attempts {
                        group.addTask {
                            let groups = attempt.groups.map(String.init).joined(separator: ",")
                            let ended = try await Self.control(
                                daemon,
                                executable,
                                ["--regid=54322", "--groups=\(groups)"],
                                attempt.command
                            )
                            #expect(ended.exitCode == attempt.code, "\(attempt): \(ended)")
                            #expect(!"\(ended)".contains(secret), "\(attempt)")
                        }
                    }
                    try await group.waitForAll()
                }
            }
            try await daemon.eventually("it's up") { try await daemon.node("/sleeper").state == "active" }
            try await make([
                Attempt(others, command: "ps", 77), Attempt(observers, command: "ps", 0), Attempt(observers, command: "events", 0),
                Attempt(observers, command: "config diff", 0), Attempt(observers, command: "signal /sleeper CONT", 77),
                Attempt(observers, others, command: "config diff \(shown)", 77), Attempt(operators, command: "signal /sleeper CONT", 0),
                Attempt(observers, operators, command: "signal /sleeper CONT", 0), Attempt(operators, command: "config apply", 77),
                Attempt(operators, command: "config diff \(hidden)", 77), Attempt(operators, command: "upgrade --dry-run", 77),
                Attempt(operators, command: "shutdown", 77), Attempt(administrators, command: "config apply \(shown)", 0),
                Attempt(administrators, command: "config diff \(hidden)", 77), Attempt(administrators, command: "config apply \(link)", 77),
                Attempt(administrators, command: "upgrade --dry-run", 0),
            ])
            // The daemon's own file, with a problem that quotes it.
            try daemon.rewrite("\(secret): 1\n")
            chmod("\(daemon.directory)/tree.yaml", 0o600)
            try await make([
                Attempt(observers, command: "config diff", 78), Attempt(administrators, command: "config apply", 78),
                Attempt(administrators, command: "upgrade --dry-run", 78), Attempt(observers, command: "events --json", 0),
            ])
            #expect(try await daemon.control("config", "apply").errors.contains(secret))
            func events(_ word: String) async throws -> [Substring] {
                let events = try await daemon.control("events", "--json").output
                #expect(!events.contains(secret))
                return events.split(separator: "\n").filter { $0.contains(word) && $0.contains(#""uid":54322"#) }
            }
            let refusals = try await events("needs the role")
            #expect(refusals.count == 6, "\(refusals)")
            // What runs a program as the daemon is told of, whatever else it changes.
            #expect(try await events(#""upgrade","#).count == 3)
            // Who is refused again and again leaves room for others.
            try await make(Array(repeating: Attempt(observers, command: "shutdown", 77), count: 12))
            #expect(try await events("needs the role").count == 10)
            #expect(Files.mode(of: "\(daemon.directory)/run") == 0o711)
        }
    }

    /// A copy of coordinatorctl that every user can reach.
    private static func copy(in directory: TemporaryDirectory) async throws -> String {
        chmod(directory.path, 0o711)
        let copy = directory.file("coordinatorctl")
        try #require(try await BuiltProgram(path: "/bin/cp").run([BuiltProgram("coordinatorctl").path, copy]).exitCode == 0)
        return copy
    }

    @Test("operates the daemon, as its first group or as one of the others, and no one else does")
    func members() async throws {
        let files = try TemporaryDirectory()
        let executable = try await Self.copy(in: files)
        try await RunningDaemon.with("\(Self.tree)operators: { group: \(Self.group) }\n") { daemon in
            chmod(daemon.directory, 0o711)
            try await daemon.eventually("it's up") { try await daemon.node("/sleeper").state == "active" }
            for identity in [["--regid=\(Self.group)", "--clear-groups"], ["--regid=54322", "--groups=\(Self.group)"]] {
                let ended = try await Self.control(daemon, executable, identity)
                #expect(ended.exitCode == 0, "\(identity): \(ended)")
            }
            let stranger = try await Self.control(daemon, executable, ["--regid=54322", "--clear-groups"])
            #expect(stranger.exitCode == 77, "\(stranger)")
            #expect(Files.mode(of: "\(daemon.directory)/run") == 0o710 && Files.mode(of: "\(daemon.directory)/run/control.sock") == 0o660)
            // What else is in the directory is not the group's.
            let list = ["--reuid=54322", "--regid=\(Self.group)", "--clear-groups", "ls", "\(daemon.directory)/run"]
            let listing = try await BuiltProgram(path: "/usr/bin/setpriv").run(list)
            #expect(listing.exitCode != 0)
            // A socket that is made anew is the group's too.
            unlink("\(daemon.directory)/run/control.sock")
            try await daemon.eventually("the socket is there again, and the group's") {
                try await Self.control(daemon, executable, ["--regid=\(Self.group)", "--clear-groups"]).exitCode == 0
            }
        }
    }

    @Test("is no one by default")
    func none() async throws {
        let files = try TemporaryDirectory()
        let executable = try await Self.copy(in: files)
        try await RunningDaemon.with(Self.tree) { daemon in
            chmod(daemon.directory, 0o711)
            for identity in [["--regid=\(Self.group)", "--clear-groups"], ["--regid=0", "--clear-groups"]] {
                let ended = try await Self.control(daemon, executable, identity)
                #expect(ended.exitCode == 77, "\(identity)")
            }
        }
    }

    @Test("that the system doesn't have is an error at the key's place")
    func unknown() async throws {
        let files = try TemporaryDirectory()
        try Files.write("\(Self.tree)operators: { group: no-such-group }\n", to: files.file("tree.yaml"))
        let ended = try await RunningDaemon.coordinatord.run(["--config", files.file("tree.yaml"), "--runtime-dir", files.file("run")])
        #expect(ended.exitCode == 78)
        #expect(ended.errors.contains("There is no group \"no-such-group\""), "\(ended)")
        let checked = try await RunningDaemon.coordinatord.run(["--check-config", files.file("tree.yaml")])
        #expect(checked.exitCode == 78)
        #expect(checked.errors.contains("tree.yaml:2:21: There is no group \"no-such-group\""), "\(checked)")
    }
}
