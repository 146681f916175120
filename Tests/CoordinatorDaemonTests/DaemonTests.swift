import Control
import Glibc
import Processes
import TestSupport
import Testing
import WireProtocol

@testable import coordinatorctl

@Suite("coordinatord", .timeLimit(minutes: 3))
struct DaemonTests {
    static let tree = """
        children:
          - name: app
            worker: { executable: FIXTURE, coordinator: RootCoordinator, configuration: { children: [a, b], placement: worker } }
            stop_timeout: 5s
          - name: sleeper
            program: { command: [sleep, "1000"] }
        supervision: { max_restarts: 1000, period: 1s, backoff: { minimum: 1ms, maximum: 10ms } }
        orphan_grace: 1s
        """

    @Test("The tree lists paths, states, process IDs and incarnations")
    func tree() async throws {
        try await RunningDaemon.with(Self.tree) { daemon in
            try await daemon.everythingActive()
            let tree = try await daemon.tree()
            #expect(tree.kind == .root)
            #expect(tree.pid == daemon.process.identity.processID)
            #expect(tree.children.map(\.path) == ["/app", "/sleeper"])
            #expect(tree.children.map(\.kind) == [.coordinator, .program])
            #expect(tree.children[0].children.map(\.path) == ["/app/a", "/app/b"])
            #expect(tree.children[0].mailbox == TreeNode.Mailbox() && tree.children[1].mailbox == nil)
            #expect(tree.children[0].children.allSatisfy { $0.mailbox == TreeNode.Mailbox() })
            #expect(tree.children[0].children.allSatisfy { $0.state == "active" && $0.incarnation == 1 && $0.restarts == 0 })
            #expect(Set(try await daemon.processes()).count == 4)
            let printed = try await daemon.control("tree")
            #expect(printed.exitCode == 0)
            #expect(printed.output.contains("├─ app") && printed.output.contains("│  ├─ a"))
        }
    }

    @Test("SIGTERM stops the tree, and leaves no process and no socket")
    func sigterm() async throws {
        try await RunningDaemon.with(Self.tree) { daemon in
            try await daemon.everythingActive()
            let processes = try await daemon.processes()
            #expect(daemon.sockets.count == 3)
            try daemon.process.send(.terminate)
            #expect(await daemon.process.waitForExit() == .exited(code: 0))
            #expect(processes.filter(\.isAlive).isEmpty)
            #expect(daemon.sockets.isEmpty)
        }
    }

    /// What an operator may remove of a runtime directory in use.
    enum Removal: CaseIterable { case lock, files, directory }

    @Test("A daemon whose files were removed keeps its directory and its processes: a second one is refused", arguments: Removal.allCases)
    func removed(_ removal: Removal) async throws {
        try await RunningDaemon.with(Self.tree) { daemon in
            try await daemon.everythingActive()
            let processes = try await daemon.processes()
            let run = "\(daemon.directory)/run"
            switch removal {
            case .lock: #expect(unlink("\(run)/control.lock") == 0)
            case .files, .directory: for name in Files.names(in: run) { Files.remove("\(run)/\(name)") }
            }
            if removal == .directory { #expect(rmdir(run) == 0) }
            let second = try await RunningDaemon.coordinatord.run(["--config", "\(daemon.directory)/tree.yaml", "--runtime-dir", run])
            #expect(second.exitCode == 1)
            // The first may have made the directory anew before the second looked.
            let words = ["process \(daemon.process.identity.processID), lives in", "another daemon is running (pid"]
            #expect(words.contains { second.errors.contains($0) }, "\(second.errors)")
            #expect(removal == .directory || second.errors.contains(words[1]), "\(second.errors)")
            // The first listens anew when it sees that its files are gone.
            try await daemon.everythingActive()
            try await daemon.eventually("its processes are the same") { Set(try await daemon.processes()) == Set(processes) }
            #expect(processes.filter { !$0.isAlive }.isEmpty)
            try await daemon.eventually("the owner is named again") {
                Files.text(of: "\(run)/control.lock") == "\(daemon.process.identity.processID)\n"
            }
        }
    }

    @Test("A daemon without processes whose directory was removed ends when another daemon has taken its place")
    func replaced() async throws {
        let idle = "children:\n  - name: once\n    program: { command: [\"true\"] }\n    restart: never\n"
        try await RunningDaemon.with(idle) { daemon in
            try await daemon.eventually("its child has ended") { try await daemon.tree().children.allSatisfy { $0.pid == nil } }
            var others: [ChildProcess] = []
            do {
                // The first may make the directory anew before another does.
                repeat { others.append(try await daemon.replacement()) } while daemon.process.identity.isAlive
                #expect(await daemon.process.waitForExit() == .exited(code: 1))
                let last = others.last?.identity.processID
                try await daemon.eventually("the other one answers") { try await daemon.tree().pid == last }
            } catch {
                for other in others { _ = await other.terminate(grace: .patient(.seconds(10))) }
                throw error
            }
            for other in others { _ = await other.terminate(grace: .patient(.seconds(10))) }
        }
    }

    @Test("kill -9 of the daemon without a grace: all die with it, and the next daemon, started at once, starts over; nothing lives twice")
    func killedDaemon() async throws {
        let tree = Self.tree.replacing("orphan_grace: 1s", with: "orphan_grace: 0s")
            .replacing("\"1000\"]", with: "\"1000\"], on_daemon_loss: end")
        try await RunningDaemon.with(tree) { daemon in
            try await daemon.everythingActive()
            var processes = try await daemon.processes()
            try await daemon.kill(daemon.process)
            for _ in 0..<3 {
                let next = try await daemon.startNext()
                try await daemon.everythingActive()
                #expect(processes.filter(\.isAlive).isEmpty)
                // The stale sockets are gone: the control socket and those of the two processes that have workers.
                #expect(daemon.sockets.count == 3)
                processes = try await daemon.processes()
                try await daemon.kill(next)
            }
            try await daemon.eventually("all are gone") { processes.allSatisfy { !$0.isAlive } }
            let unreachable = try await daemon.control("tree")
            #expect(unreachable.exitCode == 69)
            #expect(unreachable.errors.contains("isn't reachable"))
            let last = try await daemon.startNext()
            try await daemon.everythingActive()
            _ = await last.terminate(grace: .patient(.seconds(10)))
            #expect(daemon.sockets.isEmpty)
            #expect(Files.names(in: "\(daemon.directory)/run").filter { $0 != "logs" } == ["control.lock"])
        }
    }

    @Test("kill -9 of each worker: its path lives again in a new process, and an ask through it answers")
    func killedWorkers() async throws {
        try await RunningDaemon.with(Self.tree) { daemon in
            try await daemon.everythingActive()
            for path in ["/app/a", "/app", "/app/b", "/app", "/app/a"] {
                let before = try await daemon.node(path)
                let descendants = before.children.compactMap(\.pid).compactMap { ProcessIdentity(processID: $0) }
                kill(try #require(before.pid), SIGKILL)
                let ask = ControlOperation.ask(path: path, message: "Fixture.WhereAmI", payload: [:], timeout: .seconds(50))
                try await daemon.eventually("\(path) answers in its next life") {
                    try await daemon.call(ask)["reply"]?["incarnation"] == .integer(Int64(before.incarnation) + 1)
                }
                #expect(descendants.filter(\.isAlive).isEmpty)
                let after = try await daemon.node(path)
                #expect(after.pid != before.pid)
                #expect(after.restarts == before.restarts + 1)
                try await daemon.everythingActive()
            }
        }
    }

    @Test("Operators stop, start, restart and kill at any depth; commands are never refused because another one runs")
    func operations() async throws {
        try await RunningDaemon.with(Self.tree) { daemon in
            try await daemon.everythingActive()
            #expect(try await daemon.control("stop", "/app/a").exitCode == 0)
            #expect(try await daemon.node("/app/a").state == "inactive")
            #expect(try await daemon.control("ask", "/app/a", "Fixture.WhereAmI").exitCode == 3)
            #expect(try await daemon.control("start", "/app/a").exitCode == 0)
            #expect(try await daemon.node("/app/a").incarnation == 2)
            #expect(try await daemon.control("restart", "/app/a").exitCode == 0)
            #expect(try await daemon.node("/app/a").incarnation == 3)
            #expect(try await daemon.control("kill", "/app/a").exitCode == 0)
            try await daemon.eventually("it's back") { try await daemon.node("/app/a").incarnation == 4 }
            #expect(try await daemon.control("stop", "/sleeper").exitCode == 0)
            #expect(try await daemon.control("stop", "/nowhere").exitCode == 4)
            #expect(try await daemon.control("stop", "nowhere").exitCode == 4)
            // All at once: whatever the order, each is carried out.
            try await withThrowingTaskGroup(of: Int32.self) { group in
                for round in 0..<24 {
                    let verb = ["restart", "stop", "start"][round % 3]
                    group.addTask { try await daemon.control(verb, "/app/b").exitCode }
                }
                for try await code in group { #expect(code == 0 || code == 3) }
            }
            #expect(try await daemon.control("restart", "/app/b").exitCode == 0)
            #expect(try await daemon.node("/app/b").state == "active")
        }
    }

    @Test("ask and send print replies and exit with their codes")
    func messages() async throws {
        try await RunningDaemon.with(Self.tree) { daemon in
            try await daemon.everythingActive()
            let echo = try await daemon.control("--json", "ask", "/app/a", "Fixture.Echo", #"{"text":"over there"}"#)
            #expect(echo.exitCode == 0)
            #expect(echo.output.contains("\"over there\""))
            let unhandled = try await daemon.control("ask", "/app/a", "Fixture.NobodyAnswersThis")
            #expect(unhandled.exitCode == 1)
            #expect(unhandled.errors.contains("nobody from /app/a up to / responds to Fixture.NobodyAnswersThis"))
            for (message, maybeExecuted) in [("Fixture.NobodyAnswersThis", false), ("Fixture.Refuse", true)] {
                let failed = try await daemon.control("--json", "ask", "/app/a", message, #"{"asCodable":true}"#)
                let error = try ControlJSON.parse(Array(failed.errors.utf8))
                #expect(error["error"]?["maybe_executed"] == .bool(maybeExecuted), "\(failed.errors)")
            }
            let wrong = try await daemon.control("ask", "/app/a", "Fixture.Echo", "{}")
            #expect(wrong.exitCode != 0)
            #expect(wrong.errors.contains("'text' is missing"))
            let late = try await daemon.control("ask", "/app/a", "Fixture.Wait", "--timeout", "100ms")
            #expect(late.exitCode == 75)
            #expect(try await daemon.control("ask", "/app/a", "Fixture.Echo", "{nonsense").exitCode == 64)
            #expect(try await daemon.control("send", "/app/a", "Fixture.Note", #"{"number":1}"#).exitCode == 0)
            #expect(try await daemon.control("send", "/app/a", "Fixture.NobodyAnswersThis").exitCode == 1)
        }
    }

    @Test("pause and resume exit with their codes, and messages to a paused coordinator wait")
    func pauses() async throws {
        try await RunningDaemon.with(Self.tree) { daemon in
            try await daemon.everythingActive()
            let pid = try await daemon.runningPID(of: "/app/a")
            // The second time nothing is left to do.
            for _ in 0..<2 {
                let paused = try await daemon.control("pause", "/app/a")
                #expect(paused.exitCode == 0)
                #expect(paused.output == "/app/a: paused (pid \(pid), life 1)\n")
            }
            #expect(try await daemon.control("tree").output.contains("├─ a     paused"))
            let list = try ControlJSON.decode(ProcessList.self, from: try await daemon.call(.ps))
            #expect(list.processes.first { $0.path == "/app/a" }?.state == "paused")
            #expect(list.processes.first { $0.path == "/app/b" }?.state == "active")
            #expect(try await daemon.control("status", "/app/a").exitCode == 0)
            #expect(try await daemon.control("ask", "/app/a", "Fixture.WhereAmI", "--timeout", "200ms").exitCode == 75)
            // It has no row for an echo, which passes it.
            #expect(try await daemon.control("ask", "/app/a", "Fixture.Echo", #"{"text":"past it"}"#).exitCode == 0)
            for _ in 0..<2 {
                let resumed = try await daemon.control("resume", "/app/a")
                #expect(resumed.exitCode == 0)
                #expect(resumed.output == "/app/a: active (pid \(pid), life 1)\n")
            }
            let answer = try await daemon.control("ask", "/app/a", "Fixture.WhereAmI")
            #expect(answer.exitCode == 0)
            #expect(answer.output.contains("\"pid\":\(pid)"))
            for verb in ["pause", "resume"] {
                #expect(try await daemon.control(verb, "/nowhere").exitCode == 4)
                #expect(try await daemon.control(verb, "/app/nowhere").exitCode == 4)
                #expect(try await daemon.control(verb, "nowhere").exitCode == 4)
                #expect(try await daemon.control(verb, "/").exitCode == 64)
            }
        }
    }

    @Test("A pause reaches descendants and programs, and a child that was paused by its own path stays paused")
    func pausedSubtree() async throws {
        try await RunningDaemon.with(Self.tree) { daemon in
            try await daemon.everythingActive()
            #expect(try await daemon.control("pause", "/app/a").exitCode == 0)
            #expect(try await daemon.control("pause", "/app").exitCode == 0)
            #expect(try await daemon.node("/app").children.map(\.state) == ["paused", "paused"])
            #expect(try await daemon.control("ask", "/app/b", "Fixture.WhereAmI", "--timeout", "200ms").exitCode == 75)
            let held = try await daemon.control("resume", "/app/a")
            #expect(held.exitCode == 0)
            #expect(held.output.hasPrefix("/app/a: paused "))
            #expect(try await daemon.control("pause", "/app/a").exitCode == 0)
            #expect(try await daemon.control("resume", "/app").exitCode == 0)
            #expect(try await daemon.node("/app").children.map(\.state) == ["paused", "active"])
            #expect(try await daemon.control("ask", "/app/b", "Fixture.WhereAmI").exitCode == 0)
            #expect(try await daemon.control("resume", "/app/a").exitCode == 0)
            try await daemon.everythingActive()
            #expect(try await daemon.control("pause", "/sleeper").exitCode == 0)
            #expect(try await daemon.node("/sleeper").state == "paused")
            #expect(try await daemon.control("resume", "/sleeper").exitCode == 0)
            try await daemon.everythingActive()
        }
    }

    @Test("dead-letters lists a message whose handler failed, also after the process has ended")
    func deadLetters() async throws {
        try await RunningDaemon.with(Self.tree) { daemon in
            try await daemon.everythingActive()
            let none = try await daemon.control("dead-letters")
            #expect(none.exitCode == 0)
            #expect(none.output == "no dead letters\n")
            #expect(try await daemon.control("--json", "dead-letters").output == "{\"count\":0,\"letters\":[]}\n")

            #expect(try await daemon.control("send", "/app/a", "Fixture.Refuse", #"{"asCodable":true}"#).exitCode == 0)
            let reason = #"the handler failed: Refusal(reason: "not today")"#
            let expected = DeadLetterList(
                count: 1,
                letters: [.init(name: "Fixture.Refuse", sender: "/app/a", target: "/app", reason: reason)]
            )
            try await daemon.eventually("the letter has come up") { try await daemon.deadLetters().count > 0 }
            #expect(try await daemon.deadLetters() == expected)
            let printed = try await daemon.control("dead-letters")
            #expect(printed.exitCode == 0)
            #expect(printed.output == expected.text)

            #expect(try await daemon.control("kill", "/app").exitCode == 0)
            try await daemon.eventually("it's back") { try await daemon.node("/app").incarnation == 2 }
            try await daemon.everythingActive()
            let json = try await daemon.control("dead-letters", "--json")
            #expect(json.exitCode == 0)
            let text = try ControlJSON.text(of: expected) + "\n"
            #expect(json.output == text)
        }
    }

    @Test("A bad file is refused with places and reasons, and a running daemon is untouched; a second daemon too")
    func badFile() async throws {
        try await RunningDaemon.with(Self.tree) { daemon in
            try await daemon.everythingActive()
            let before = try await daemon.processes()
            try Files.write("children:\n  - name: a/b\n    worker: { executable: x }\n", to: "\(daemon.directory)/bad.yaml")
            let bad = try await RunningDaemon.coordinatord.run([
                "--config", "\(daemon.directory)/bad.yaml", "--runtime-dir", "\(daemon.directory)/run",
            ])
            #expect(bad.exitCode == 78)
            #expect(bad.errors.contains("\(daemon.directory)/bad.yaml:2:11: "))
            let second = try await RunningDaemon.coordinatord.run([
                "--config", "\(daemon.directory)/tree.yaml", "--runtime-dir", "\(daemon.directory)/run",
            ])
            #expect(second.exitCode == 1)
            #expect(second.errors.contains("another daemon is running (pid \(daemon.process.identity.processID))"))
            #expect(try await daemon.processes() == before)
        }
    }

    @Test("A child that can't start is retried, and the others live")
    func brokenChild() async throws {
        let tree = """
            children:
              - name: broken
                worker: { executable: /nonexistent/worker, coordinator: Nothing }
              - name: unknown
                worker: { executable: FIXTURE, coordinator: NoSuchCoordinator }
              - name: misspelt
                worker: { executable: FIXTURE, coordinator: RootCoordinator, configuration: { childen: [a] } }
              - name: sleeper
                program: { command: [sleep, "1000"] }
            supervision: { max_restarts: 2, period: 60s, backoff: { minimum: 1ms, maximum: 10ms } }
            """
        try await RunningDaemon.with(tree) { daemon in
            try await daemon.eventually("the sleeper is active") { try await daemon.node("/sleeper").state == "active" }
            for path in ["/broken", "/unknown", "/misspelt"] {
                try await daemon.eventually("\(path) is given up") { try await daemon.node(path).state == "failed" }
            }
            #expect(try await daemon.node("/broken").lastExit?.contains("/nonexistent/worker") == true)
            #expect(try await daemon.node("/unknown").lastExit?.contains("hosts no coordinator 'NoSuchCoordinator'") == true)
            let misspelt = try await daemon.node("/misspelt").lastExit ?? ""
            #expect(misspelt.contains("has no 'childen'; it has children, isStuck, occupation, placement"), "\(misspelt)")
            #expect(try await daemon.node("/sleeper").restarts == 0)
        }
    }

    @Test("shutdown answers when all processes have ended")
    func shutdown() async throws {
        try await RunningDaemon.with(Self.tree) { daemon in
            try await daemon.everythingActive()
            let processes = try await daemon.processes()
            #expect(try await daemon.control("shutdown").exitCode == 0)
            #expect(processes.filter(\.isAlive).isEmpty)
            #expect(await daemon.process.waitForExit() == .exited(code: 0))
            #expect(daemon.sockets.isEmpty)
        }
    }
}

extension RunningDaemon {
    /// Removes the runtime directory, starts another daemon there, and returns it when one of the two has ended.
    fileprivate func replacement() async throws -> ChildProcess {
        let run = "\(directory)/run"
        for name in Files.names(in: run) { Files.remove("\(run)/\(name)") }
        rmdir(run)
        let other = try await startNext()
        do {
            try await eventually("one of two daemons has ended") { !other.identity.isAlive || !process.identity.isAlive }
        } catch {
            _ = await other.terminate(grace: .patient(.seconds(10)))
            throw error
        }
        return other
    }

    func everythingActive() async throws {
        try await eventually("everything is active") {
            let tree = try await tree()
            let app = tree.children.first { $0.path == "/app" }
            return app?.state == "active" && app?.children.count == 2 && app?.children.allSatisfy { $0.state == "active" } == true
                && tree.children.last?.state == "active"
        }
    }
}
