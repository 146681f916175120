import Control
import Glibc
import Processes
import TestSupport
import Testing
import WireProtocol

@Suite(
    "A worker with a user of its own",
    .timeLimit(minutes: 3),
    .enabled(if: geteuid() == 0 && access("/usr/bin/setpriv", X_OK) == 0, "only root can become another user; needs /usr/bin/setpriv")
)
struct AnotherUserTests {
    /// The number of `nobody`.
    static let nobody: UInt32 = getpwnam("nobody").map { $0.pointee.pw_uid } ?? 65_534

    /// The worker has a worker below it, whose socket is in a directory of `nobody`.
    static let tree = """
        children:
          - name: app
            worker:
              executable: FIXTURE
              coordinator: RootCoordinator
              user: nobody
              environment: { TMPDIR: /tmp }
              configuration: { children: [a], placement: worker }
          - name: own
            worker: { executable: FIXTURE, coordinator: MiddleCoordinator }
        orphan_grace: 60s
        supervision: { max_restarts: 1000, period: 1s, backoff: { minimum: 1ms, maximum: 10ms } }
        """

    /// The user passes through the test's directory, which is root's.
    static let wrapper = #"sh -c 'chmod 711 "DIRECTORY" && exec "$0" "$@"'"#

    static func user(of process: Int32?) -> UInt32? {
        var status = stat()
        guard let process, stat("/proc/\(process)", &status) == 0 else { return nil }
        return status.st_uid
    }

    /// Kills the worker in its first life; returns when the tree is whole again.
    static func killOnce(_ daemon: RunningDaemon) async throws {
        try await daemon.call(.kill(path: "/app"))
        try await daemon.eventually("its next life runs as the same user") {
            let node = try await daemon.node("/app")
            return node.incarnation == 2 && node.state == "active" && user(of: node.pid) == nobody
        }
        try await daemon.allActive()
    }

    @Test("runs as that user with all below it, takes messages, and is restarted as the same")
    func runs() async throws {
        try await RunningDaemon.with(Self.tree, wrapper: Self.wrapper) { daemon in
            try await daemon.allActive()
            #expect(Self.user(of: try await daemon.node("/app").pid) == Self.nobody)
            #expect(Self.user(of: try await daemon.node("/app/a").pid) == Self.nobody)
            #expect(Self.user(of: try await daemon.node("/own").pid) == 0)
            let answer = try await daemon.control("ask", "/app", "Fixture.Add", #"{"amount":5}"#, "--json")
            #expect(answer.exitCode == 0 && answer.output.contains("\"reply\":5"), "\(answer)")
            try await Self.killOnce(daemon)
            let processes = try await daemon.processes()
            #expect(try await daemon.control("shutdown").exitCode == 0)
            _ = await daemon.process.waitForExit()
            #expect(processes.filter(\.isAlive).isEmpty)
        }
    }

    @Test("is refused when it shows the secret as another user")
    func impostor() async throws {
        let directory = try TemporaryDirectory()
        chmod(directory.path, 0o755)
        let script = directory.file("impostor")
        let worker = BuiltProgram("FixtureWorker").path
        try Files.write("#!/bin/sh\nexec setpriv --reuid \(Self.nobody) --clear-groups '\(worker)' \"$@\"\n", to: script)
        chmod(script, 0o755)
        let tree = Self.tree.replacing(
            "  - name: own\n",
            with: "  - name: impostor\n    worker: { executable: \(script), coordinator: MiddleCoordinator }\n  - name: own\n"
        )
        let log = Transcript()
        try await RunningDaemon.with(tree, standardError: log.destination, wrapper: Self.wrapper) { daemon in
            try await daemon.eventually("it is refused; the log: \(log.text.suffix(2_000))") {
                // It can't connect before the socket takes others; then it's the daemon that refuses it. The daemon sets the mode itself right
                // after the socket has its name.
                chmod("\(daemon.directory)/run/root.sock", 0o666)
                return log.text.contains("the peer runs as user \(Self.nobody), not 0")
            }
            #expect(try await daemon.node("/impostor").state != "active")
            try await daemon.eventually("the others run") {
                for path in ["/app", "/own"] where try await daemon.node(path).state != "active" { return false }
                return true
            }
        }
    }

    @Test(
        "isn't believed about processes that its user couldn't end: the daemon ends none of them for it",
        .enabled(if: access("/usr/bin/python3", X_OK) == 0, "needs /usr/bin/python3")
    )
    func falseReport() async throws {
        let directory = try TemporaryDirectory()
        chmod(directory.path, 0o755)
        let sleeper = ProcessSpecification(executable: "/bin/sleep", arguments: ["600"], environment: [:])
        try await withChild(sleeper) { sleeper in
            let script = directory.file("worker")
            let arguments = "report \(sleeper.identity.processID) \(sleeper.identity.startTime)"
            let program = "\(Files.packageRoot)/Tests/PythonPeer/misbehaving.py"
            try Files.write("#!/bin/sh\nexec /usr/bin/python3 '\(program)' \(arguments)\n", to: script)
            chmod(script, 0o755)
            func tree(user: String) -> String {
                """
                children:
                  - name: liar
                    restart: never
                    worker: { executable: \(script), coordinator: MiddleCoordinator\(user) }
                  - name: own
                    worker: { executable: FIXTURE, coordinator: MiddleCoordinator }
                orphan_grace: 0s
                """
            }
            func runLiar(user: String) async throws {
                try await RunningDaemon.with(tree(user: user), wrapper: Self.wrapper) { daemon in
                    try await daemon.eventually("it has lied and ended") {
                        let events = try await daemon.control("events")
                        return events.output.contains("/liar") && events.output.contains("exit")
                    }
                    try await daemon.eventually("the others run") { try await daemon.node("/own").state == "active" }
                    _ = try await daemon.control("shutdown")
                    _ = await daemon.process.waitForExit()
                }
            }
            try await runLiar(user: ", user: nobody")
            #expect(sleeper.identity.isAlive)
            // A worker of the daemon's own user is believed: the report is one that counts.
            try await runLiar(user: "")
            #expect(!sleeper.identity.isAlive)
        }
    }

    @Test(
        "can't stop the others: what it may not say closes its link, and operators see that",
        .enabled(if: access("/usr/bin/python3", X_OK) == 0, "needs /usr/bin/python3")
    )
    func overstepping() async throws {
        let directory = try TemporaryDirectory()
        chmod(directory.path, 0o755)
        var attempt: [UInt8] = []
        for (number, name) in ["/", "/evil", "coordinators.FinishPopped"].enumerated() {
            FrameEncoder.append(Frame(.defineName(DefineName(id: NameID(number + 1), text: name))), to: &attempt)
        }
        let ask = Ask(target: 1, sender: 2, message: 3, payload: Bytes(#"{"key":"own","incarnation":1}"#.utf8))
        FrameEncoder.append(Frame(.ask(ask), correlation: 1, codec: .json, flags: .direct), to: &attempt)
        let digits = attempt.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
        let (script, notes) = (directory.file("worker"), directory.file("notes"))
        let attempts = 40
        try Files.write(String(repeating: digits + "\n", count: attempts), to: directory.file("attempts"))
        try Files.write("", to: notes)
        let program = "\(Files.packageRoot)/Tests/PythonPeer/overstepping.py"
        try Files.write("#!/bin/sh\nexec /usr/bin/python3 '\(program)' '\(directory.file("attempts"))' '\(notes)'\n", to: script)
        for (file, mode) in [(script, 0o755), (notes, 0o666), (directory.file("attempts"), 0o644)] as [(String, mode_t)] {
            chmod(file, mode)
        }
        let tree = """
            children:
              - name: own
                worker: { executable: FIXTURE, coordinator: MiddleCoordinator }
              - name: evil
                worker: { executable: \(script), coordinator: MiddleCoordinator, user: nobody }
            """
        let log = Transcript()
        try await RunningDaemon.with(tree, standardError: log.destination, wrapper: Self.wrapper) { daemon in
            try await daemon.eventually("it has tried; the log: \(log.text.suffix(2_000))") {
                Files.text(of: notes) == String(repeating: "closed\n", count: attempts)
            }
            let process = try await daemon.runningPID(of: "/evil")
            try await daemon.eventually("there is an event") {
                let events = try await daemon.control("events", "--path", "/evil").output
                return events.split(separator: "\n").contains { line in
                    let words = ["violation", "/evil", "\(process)", "as user \(Self.nobody): coordinators.FinishPopped"]
                    return words.allSatisfy { line.contains($0) }
                }
            }
            // However often it tries, the log and the events keep room for others: the first ones are told of, and then their number.
            let events = try await daemon.control("events", "--path", "/evil").output
            #expect((1...10).contains(events.split(separator: "\n").count { $0.contains("violation") }))
            let own = try await daemon.node("/own")
            #expect(own.state == "active" && own.incarnation == 1)
            _ = try await daemon.control("shutdown")
            _ = await daemon.process.waitForExit()
            let lines = log.text.split(separator: "\n").filter { $0.contains("a worker's link was closed") }
            let counted = lines.compactMap { $0.firstMatch(of: /unlogged=(\d+)/).flatMap { Int($0.output.1) } }
            #expect((2...12).contains(lines.count) && lines.count + counted.reduce(0, +) == attempts, "\(lines)")
        }
    }
}
