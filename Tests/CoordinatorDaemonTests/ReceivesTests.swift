import Control
import Glibc
import Processes
import TestSupport
import Testing
import WireProtocol

@Suite("Messages that the daemon hands on to the child that receives them", .timeLimit(minutes: 5))
struct ReceivesTests {
    /// The child `app` answers what the others ask; `inner` is in a group.
    private static let tree = """
        children:
          - name: app
            worker: { executable: FIXTURE, coordinator: RootCoordinator }
            receives: [Fixture.Echo, Fixture.Add, Fixture.Note, Fixture.Count, Fixture.Wait, Fixture.Refuse, Fixture.Remaining]
          - { name: other, worker: { executable: FIXTURE, coordinator: MiddleCoordinator } }
          - name: group
            children: [{ name: inner, worker: { executable: FIXTURE, coordinator: MiddleCoordinator } }]
        supervision: { max_restarts: 1000, period: 1s, backoff: { minimum: 1ms, maximum: 10ms } }
        orphan_grace: 60s
        """

    @Test(
        "Asks, one-way messages, streams and errors cross, from every worker of the tree",
        arguments: ["/other", "/group/inner", "/other/deep"]
    )
    func crossing(path: String) async throws {
        try await RunningDaemon.with(Self.tree) { daemon in
            try await daemon.allActive()
            try await daemon.startDeep()
            try await daemon.expect("hello", of: ["echo": ["_0": "hello"]], at: path)
            // Each interceptor on the way adds 1 on the way up and 100 on the way down.
            let interceptors = path == "/other/deep" ? 2 : 1
            try await daemon.expect("\(5 + 101 * interceptors)", of: ["add": ["_0": 5]], at: path)
            try await daemon.expect("Refusal: not today", of: ["refuse": ["asCodable": true]], at: path)
            try await daemon.expect("RemoteError: ", of: ["refuse": ["asCodable": false]], at: path)
            try await daemon.expect("sent", of: ["sendNotes": ["_0": 200]], at: path)
            try await daemon.eventually("all notes have come") { try await daemon.notes() == Array(0..<200) }
            #expect(try await daemon.outcome(["count": ["_0": 300]], at: path) == (0..<300).map(String.init).joined(separator: " "))
        }
    }

    @Test("What no entry matches fails in the worker that has sent it, while the daemon is stopped too")
    func unmatched() async throws {
        try await RunningDaemon.with(Self.tree) { daemon in
            try await daemon.allActive()
            try await daemon.expect("unhandled: ", of: ["unhandled": [:]])
            try await daemon.expect("nobody", of: ["sendUnhandled": [:]])
            let file = "\(daemon.directory)/go"
            async let failures = daemon.outcome(["unhandledAfter": ["_0": .string(file)]], timeout: .seconds(60))
            // The worker has the order before the daemon is stopped.
            try await daemon.eventually("it has begun") { try await daemon.node("/other").mailbox?.running == 1 }
            let pid = daemon.process.identity.processID
            try await stopProcess(pid)
            defer { kill(pid, SIGCONT) }
            try Files.write("", to: file)
            try await daemon.eventually("all asks have failed") { access("\(file).done", F_OK) == 0 }
            kill(pid, SIGCONT)
            #expect(try await failures == "100")
        }
    }

    @Test("Only the child's own rows are searched, and the longest entry counts")
    func choice() async throws {
        let tree = """
            children:
              - { name: all, worker: { executable: FIXTURE, coordinator: RootCoordinator }, receives: [Fixture.] }
              - { name: echoes, worker: { executable: FIXTURE, coordinator: RootCoordinator }, receives: [Fixture.Echo] }
              - { name: other, worker: { executable: FIXTURE, coordinator: MiddleCoordinator } }
            """
        try await RunningDaemon.with(tree) { daemon in
            try await daemon.allActive()
            try await daemon.expect("a", of: ["echo": ["_0": "a"]])
            try await daemon.expect("sent", of: ["sendNotes": ["_0": 1]])
            try await daemon.eventually("it has come") { try await daemon.notes(of: "/all") == [0] }
            let echoes = { path in try await daemon.call(.ask(path: path, message: "Fixture.Echoes", payload: [:], timeout: .seconds(50))) }
            #expect(try await echoes("/all")["reply"] == 0)
            #expect(try await echoes("/echoes")["reply"] == 1)
            try await daemon.expect("unhandled: /all, a RootCoordinator, has no row for ", of: ["unhandled": [:]])
            try await daemon.expect("nobody", of: ["sendUnhandled": [:]])
            // Its own messages come back to it.
            let failure = await #expect(throws: ControlError.self) {
                try await daemon.call(.ask(path: "/all", message: "Fixture.NobodyAnswersThis", payload: [:], timeout: .seconds(50)))
            }
            #expect(failure?.message.contains("has no row for ") == true, "\(failure?.message ?? "")")
        }
    }

    @Test("An ask waits for the child's next life, ends with the life that has got it, and keeps its deadline")
    func lives() async throws {
        let tree = Self.tree.replacing("minimum: 1ms, maximum: 10ms", with: "minimum: 4s, maximum: 4s, jitter: 0")
        try await RunningDaemon.with(tree) { daemon in
            try await daemon.allActive()
            async let lost = daemon.outcome(["waitAbove": ["milliseconds": 60_000]], timeout: .seconds(60))
            try await daemon.eventually("it has begun") { try await daemon.node("/app").mailbox?.running == 1 }
            // The first restart in a row is immediate, the second one isn't.
            for incarnation in 1...2 {
                try await daemon.eventually("it runs") {
                    let node = try await daemon.node("/app")
                    return node.incarnation == incarnation && node.state == "active"
                }
                kill(try await daemon.runningPID(of: "/app"), SIGKILL)
            }
            let end = try await lost
            #expect(end.hasPrefix("failed: /app "), "\(end)")
            try await daemon.eventually("it waits for its next start") { try await daemon.node("/app").nextStartMilliseconds != nil }
            async let late = daemon.outcome(["echo": ["_0": "too late"]], timeout: .milliseconds(200))
            #expect(try await daemon.outcome(["echo": ["_0": "next"]]) == "next")
            #expect(try await late == "timedOut: /app is being restarted, later than the deadline")
            #expect(try await daemon.node("/app").incarnation == 3)
            try await daemon.expect("timedOut: ", of: ["waitAbove": ["milliseconds": 200]])
            #expect(Int(try await daemon.outcome(["remaining": [:]])).map { 1...20 ~= $0 } == true)
        }
    }

    @Test("Acknowledged messages are handled once each, though the child is killed")
    func acknowledged() async throws {
        let directory = try TemporaryDirectory()
        let file = directory.file("ledger")
        let tree = """
            children:
              - name: ledger
                worker: { executable: FIXTURE, coordinator: BesideCoordinator, configuration: { file: \(file) } }
                receives: [Ledger.EnterBeside]
              - { name: other, worker: { executable: FIXTURE, coordinator: LedgerCoordinator } }
            """
        try await RunningDaemon.with(tree) { daemon in
            try await daemon.allActive()
            let pid = try await daemon.runningPID(of: "/ledger")
            let push: JSONValue = ["sender": 1, "count": 2_000]
            async let asking = daemon.call(.ask(path: "/other", message: "Ledger.PushBeside", payload: push, timeout: .seconds(60)))
            func entries() -> [Int] {
                (Files.text(of: file) ?? "").split(separator: "\n").compactMap { Int($0.split(separator: " ")[4]) }
            }
            try await daemon.eventually("some have come") { entries().count > 100 }
            kill(pid, SIGKILL)
            guard case .array(let outcomes)? = try await asking["reply"] else { return #expect(Bool(false), "there are outcomes") }
            #expect(outcomes.count == 2_000)
            // Of the one that was under way nobody knows.
            let open = outcomes.indices.filter { outcomes[$0] != "true" }
            #expect(open.count <= 1, "\(open.map { outcomes[$0] })")
            let handled = entries()
            #expect(handled.filter { !open.contains($0) } == outcomes.indices.filter { !open.contains($0) })
            #expect(Set(handled).count == handled.count)
            #expect(try await daemon.node("/ledger").incarnation == 2)
        }
    }

    @Test("A child that doesn't run refuses the message and says so; one that is to start keeps it")
    func absent() async throws {
        let tree = """
            children:
              - name: app
                worker: { executable: FIXTURE, coordinator: RootCoordinator }
                receives: [Fixture.Echo]
                after: [gate]
              - name: idle
                worker: { executable: FIXTURE, coordinator: RootCoordinator }
                receives: [Fixture.Note]
                autostart: false
              - { name: other, worker: { executable: FIXTURE, coordinator: MiddleCoordinator } }
              - { name: gate, program: { command: [sh, -c, 'while ! [ -e GATE ]; do sleep 0.05; done; echo >&3; exec sleep 1000'], ready: { fd: 3 } } }
            """
        let directory = try TemporaryDirectory()
        try await RunningDaemon.with(tree.replacing("GATE", with: directory.file("open"))) { daemon in
            try await daemon.eventually("the asker runs") { try await daemon.node("/other").state == "active" }
            #expect(try await daemon.node("/app").state == "waiting")
            async let echo = daemon.outcome(["echo": ["_0": "early"]], timeout: .seconds(60))
            let refused = try await daemon.outcome(["sendNotes": ["_0": 1]])
            #expect(refused == "noSuchPath: /idle doesn't run here; `coordinatorctl status /idle` shows why")
            #expect(try await daemon.node("/app").state == "waiting")
            try Files.write("", to: directory.file("open"))
            #expect(try await echo == "early")
            #expect(try await daemon.control("start", "/idle").exitCode == 0)
            try await daemon.expect("sent", of: ["sendNotes": ["_0": 1]])
            for path in ["/idle", "/app"] { #expect(try await daemon.control("stop", path).exitCode == 0) }
            try await daemon.expect("notRunning: /idle has stopped", of: ["sendNotes": ["_0": 1]])
            try await daemon.expect("notRunning: /app has stopped", of: ["echo": ["_0": "late"]])
        }
    }

    @Test("A change is shown, and followed by an upgrade, which keeps the workers")
    func change() async throws {
        let new = "  - { name: new, worker: { executable: FIXTURE, coordinator: RootCoordinator }, receives: [Fixture.Echo] }\n"
        let moved = Self.tree.replacing("receives: [Fixture.Echo, ", with: "receives: [")
            .replacing("  - { name: other", with: "\(new)  - { name: other")
        let line = "~ /: receives (with an upgrade or the next start of the daemon)\n"
        try await RunningDaemon.with(Self.tree) { daemon in
            try await daemon.allActive()
            try await daemon.startDeep()
            let before = try await daemon.allPIDs()
            func echoes(at path: String) async throws -> JSONValue? {
                try await daemon.call(.ask(path: path, message: "Fixture.Echoes", payload: [:], timeout: .seconds(50)))["reply"]
            }
            try daemon.rewrite(moved)
            let applied = try await daemon.control("config", "apply")
            #expect(applied.exitCode == 0 && applied.output.withoutValues == "\(line)+ /new\n1 started, 4 unchanged\n")
            try await daemon.expect("as before", of: ["echo": ["_0": "as before"]])
            #expect(try await echoes(at: "/app") == 1)
            #expect(try await daemon.control("config", "diff").output.withoutValues == "\(line)5 unchanged\n")
            for path in ["/other", "/other/deep"] {
                try await daemon.expect("unhandled: ", of: ["unhandled": [:]], at: path)
            }

            #expect(try await daemon.control("upgrade").exitCode == 0)
            #expect(try await daemon.control("config", "diff").output == "nothing to change: 5 children are as the file says\n")
            try await daemon.expect("anew", of: ["echo": ["_0": "anew"]])
            #expect(try await echoes(at: "/app") == 1)
            #expect(try await echoes(at: "/new") == 1)

            // A name that no one has received so far is known to all workers, however deep.
            try daemon.rewrite(moved.replacing("[Fixture.Echo]", with: "[Fixture.Echo, Fixture.NobodyAnswersThis]"))
            #expect(try await daemon.control("config", "apply").output.withoutValues == "\(line)5 unchanged\n")
            #expect(try await daemon.control("upgrade").exitCode == 0)
            for path in ["/other", "/group/inner", "/other/deep"] {
                try await daemon.eventually("\(path) knows") {
                    try await daemon.outcome(["unhandled": [:]], at: path).hasPrefix("unhandled: /new, a RootCoordinator, has no row")
                }
            }
            let after = try await daemon.allPIDs()
            #expect(after.filter { $0.key != "/new" } == before)
        }
    }

    @Test("The check of a file lists the entries")
    func check() async throws {
        let directory = try TemporaryDirectory()
        let file = directory.file("tree.yaml")
        try Files.write("children: [{ name: a, worker: { executable: /bin/sh, coordinator: A }, receives: [A., B.Go] }]", to: file)
        let checked = try await RunningDaemon.coordinatord.run(["--check-config", file])
        #expect(checked.output.hasSuffix("\n  a: worker /bin/sh, restart always, stop_timeout infinity, receives A. B.Go\n"), "\(checked)")
    }
}

extension RunningDaemon {
    /// Starts a worker below the worker `other`.
    fileprivate func startDeep() async throws {
        #expect(try await outcome(["startGrandchild": ["_0": "deep", "inWorker": true]]) == "/other/deep")
    }

    /// Has a coordinator do something, and returns the answer, or the error.
    fileprivate func outcome(_ action: JSONValue, at path: String = "/other", timeout: Duration = .seconds(20)) async throws -> String {
        do {
            let answer = try await call(.ask(path: path, message: "Fixture.Do", payload: ["action": action], timeout: timeout))
            guard case .string(let text)? = answer["reply"] else { return "\(answer)" }
            return text
        } catch let error as ControlError {
            return "\(error.code): \(error.message)"
        }
    }

    /// Expects an answer, or an error, that begins with a text.
    fileprivate func expect(
        _ beginning: String,
        of action: JSONValue,
        at path: String = "/other",
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        let outcome = try await outcome(action, at: path)
        #expect(outcome.hasPrefix(beginning), "\(outcome)", sourceLocation: sourceLocation)
    }

    fileprivate func notes(of path: String = "/app") async throws -> [Int] {
        let answer = try await call(.ask(path: path, message: "Fixture.Notes", payload: [:], timeout: .seconds(50)))
        guard case .array(let numbers)? = answer["reply"] else { return [] }
        return numbers.compactMap { if case .integer(let number) = $0 { Int(number) } else { nil } }
    }
}

extension String {
    /// The lines that aren't indented.
    fileprivate var withoutValues: String { split(separator: "\n").filter { !$0.hasPrefix(" ") }.map { "\($0)\n" }.joined() }
}
