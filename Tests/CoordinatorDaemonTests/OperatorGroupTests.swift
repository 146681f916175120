import Control
import Glibc
import Processes
import TestSupport
import Testing

@Suite("The group of the operators", .timeLimit(minutes: 2), .enabled(if: geteuid() == 0, "only root can be other users"))
struct OperatorGroupTests {
    private static let group = 54_321
    private static let tree = "children: [{ key: sleeper, program: { command: [sleep, '1000'] } }]\n"

    /// Runs a command of coordinatorctl as another user.
    private static func control(_ daemon: RunningDaemon, _ executable: String, _ identity: [String]) async throws -> BuiltProgram.Ended {
        let command = ["--reuid=54322"] + identity + [executable, "--runtime-dir", "\(daemon.directory)/run", "status", "/sleeper"]
        return try await BuiltProgram(path: "/usr/bin/setpriv").run(command)
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
