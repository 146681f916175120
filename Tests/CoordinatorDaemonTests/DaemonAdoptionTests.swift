import Control
import Glibc
import Processes
import TestSupport
import Testing
import WireProtocol

@Suite("A daemon that was killed, and the next one", .timeLimit(minutes: 5))
struct DaemonAdoptionTests {
    /// The two workers below `app` are deeper ones; `sleeper` is a plain program.
    private static let tree = """
        children:
          - name: app
            worker: { executable: FIXTURE, coordinator: RootCoordinator, configuration: { children: [a, b], placement: worker } }
            stop_timeout: 5s
          - name: other
            worker: { executable: FIXTURE, coordinator: MiddleCoordinator }
            restart: on_failure
          - name: sleeper
            program: { command: [sleep, "1000"] }
        supervision: { max_restarts: 1000, period: 1s, backoff: { minimum: 1ms, maximum: 10ms } }
        orphan_grace: 60s
        """

    @Test("adopts the workers: and the program: same processes, incarnations and state, deeper workers included")
    func adopted() async throws {
        try await RunningDaemon.with(Self.tree) { daemon in
            let before = try await daemon.active()
            #expect(try await daemon.add(5, to: "/app") == 5)
            var current = daemon.process
            for round in 1...3 {
                current = try await daemon.killAndReplace(current)
                let after = try await daemon.active()
                #expect(after.workers == before.workers)
                #expect(after.sleeper == before.sleeper)
                #expect(try await daemon.add(1, to: "/app") == 5 + round)
                #expect(daemon.sockets.count == 3)
            }
            try await daemon.endLeavingNothing(current)
        }
    }

    @Test("adopts lives that a rolling restart has begun, and their output goes on")
    func replaced() async throws {
        try await RunningDaemon.with(Self.tree) { daemon in
            var before = try await daemon.active()
            var current = daemon.process
            for round in 1...2 {
                for path in ["/app", "/other"] { #expect(try await daemon.control("restart", "--rolling", path).exitCode == 0) }
                #expect(try await daemon.add(5, to: "/app") == 5)
                let replaced = try await daemon.active()
                for path in ["/app", "/other"] {
                    #expect(replaced[path].identity != before[path].identity)
                    #expect(replaced[path].incarnation == round + 1)
                }
                for turn in 1...2 {
                    current = try await daemon.killAndReplace(current)
                    #expect(try await daemon.active().workers == replaced.workers)
                    #expect(try await daemon.add(1, to: "/app") == 5 + turn)
                }
                // What is below the worker writes where the worker writes.
                let script = "echo adopted in round \(round); exec sleep 1000"
                let program: JSONValue = ["key": "p", "command": ["sh", "-c", .string(script)]]
                try await daemon.call(.ask(path: "/app", message: "Fixture.StartProgram", payload: program, timeout: .seconds(50)))
                try await daemon.eventually("its output arrives") {
                    try await daemon.control("logs", "/app").output.contains("adopted in round \(round)")
                }
                before = replaced
            }
            try await daemon.endLeavingNothing(current)
        }
    }

    /// A message goes to the former life after the next one has begun, and before that takes the place.
    @Test("adopts the later of two lives: a message that the former one has taken is handled once, and its sender isn't told more")
    func betweenLives() async throws {
        let directory = try TemporaryDirectory()
        let tree = """
            children:
              - name: receiver
                worker: { executable: FIXTURE, coordinator: SuccessionReceiver, configuration: { directory: \(directory.path) } }
                receives: [UpgradeCompletion.]
                overlap: true
                stop_timeout: 60s
              - name: sender
                worker: { executable: FIXTURE, coordinator: SuccessionSender, configuration: { directory: \(directory.path) } }
            orphan_grace: 60s
            """
        func lines(_ name: String) -> [String] { (Files.text(of: directory.file(name)) ?? "").split(separator: "\n").map(String.init) }
        try await RunningDaemon.with(tree) { daemon in
            try await daemon.eventually("both are active") {
                try await daemon.tree().children.allSatisfy { $0.state == "active" }
            }
            let first = try await daemon.runningPID(of: "/receiver")
            try Files.write("", to: directory.file("hold"))
            try await withChild(daemon.controlSpecification(["restart", "--rolling", "/receiver"])) { _ in
                try await daemon.eventually("the next life has begun") { lines("born").count == 2 }
                try Files.write("", to: directory.file("send-1"))
                try await daemon.eventually("the former one handles the message") { lines("handled") == ["1 \(first)"] }
                Files.remove(directory.file("hold"))
                try await daemon.eventually("the next one takes the place") { try await daemon.node("/receiver").incarnation == 2 }
                _ = try await daemon.killAndReplace(daemon.process)
            }
            try await daemon.eventually("the next one is adopted") {
                let receiver = try await daemon.node("/receiver")
                return receiver.state == "active" && receiver.pid == Int32(lines("born")[1])
            }
            try Files.write("", to: directory.file("finish"))
            try await daemon.eventually("the sender learns the message's end") { lines("outcomes").count == 1 }
            #expect(lines("handled") == ["1 \(first)"] && lines("outcomes") == ["1 peerLost true"])
            // Later messages aren't in doubt.
            try Files.write("", to: directory.file("send-2"))
            try await daemon.eventually("the next message's end") { lines("outcomes").count == 2 }
            #expect(lines("handled").last == "2 \(lines("born")[1])" && lines("outcomes").last == "2 true")
        }
    }

    @Test("starts what died in the gap once, as the next incarnation")
    func diesInTheGap() async throws {
        try await RunningDaemon.with(Self.tree) { daemon in
            let before = try await daemon.active()
            try await daemon.kill(daemon.process)
            for path in ["/app", "/other"] { try before[path].identity.send(.kill) }
            try await daemon.eventually("the deeper ones die with it") { before.workers.allSatisfy { !$0.value.identity.isAlive } }
            _ = try await daemon.startNext()
            let after = try await daemon.active()
            for path in ["/app", "/other"] {
                #expect(after[path].identity != before[path].identity)
                #expect(after[path].incarnation == before[path].incarnation + 1)
            }
        }
    }

    @Test("ends a worker whose configuration has changed before its path lives again, and one that the file doesn't list any more")
    func changed() async throws {
        let log = Transcript()
        try await RunningDaemon.with(Self.tree) { daemon in
            let before = try await daemon.active()
            try await daemon.kill(daemon.process)
            try daemon.rewrite(Self.tree.replacing("  - name: other\n", with: "  - name: another\n").replacing("[a, b]", with: "[b, a]"))
            let next = try await daemon.startNext(standardError: log.destination)
            try await daemon.eventually("the new one is active") { try await daemon.node("/another").state == "active" }
            try await daemon.eventually("the changed one is active") { try await daemon.node("/app").children.count == 2 }
            #expect(try await daemon.node("/app").incarnation == before["/app"].incarnation + 1)
            try await daemon.eventually("the former ones are gone") { before.workers.allSatisfy { !$0.value.identity.isAlive } }
            _ = await next.terminate(grace: .patient(.seconds(20)))
            for reason in ["something else is started at its path", "nothing starts it any more"] {
                #expect(log.text.contains(reason), "\(log.text)")
            }
        }
    }

    @Test("restarts an adopted worker that crashes, and not one that ends by itself when its restart type says so")
    func endsLater() async throws {
        try await RunningDaemon.with(Self.tree) { daemon in
            let before = try await daemon.active()
            _ = try await daemon.killAndReplace(daemon.process)
            #expect(try await daemon.active().workers == before.workers)
            try before["/app"].identity.send(.kill)
            try await daemon.eventually("it's restarted once") {
                let app = try await daemon.node("/app")
                return app.state == "active" && app.incarnation == 2 && app.restarts == 1 && app.children.count == 2
            }
            // The exit status is the worker's parent's alone: the reason comes by the worker's own report.
            try await daemon.call(
                .ask(path: "/other", message: "Fixture.Do", payload: ["action": ["finish": ["_0": "x"]]], timeout: .seconds(50))
            )
            try await daemon.eventually("it has ended") { !before["/other"].identity.isAlive }
            try await daemon.eventually("it isn't restarted") {
                try await !daemon.tree().children.contains { $0.path == "/other" && $0.state == "active" }
            }
        }
    }

    @Test("that is killed in its turn, in the middle of the take-over, leaves the workers to the one after it")
    func killedDuringTakeOver() async throws {
        try await RunningDaemon.with(Self.tree) { daemon in
            let before = try await daemon.active()
            var current = daemon.process
            for milliseconds in [0, 5, 20, 40, 60, 80, 120, 160, 200, 300] {
                current = try await daemon.killAndReplace(current)
                try await realTime(.milliseconds(milliseconds), because: "the kill comes anywhere in the take-over, which tells of no step")
            }
            #expect(try await daemon.active().workers == before.workers)
            _ = await current.terminate(grace: .patient(.seconds(20)))
            #expect(before.workers.allSatisfy { !$0.value.identity.isAlive })
        }
    }

    @Test("that comes when the grace is over finds nothing, and starts over")
    func tooLate() async throws {
        try await RunningDaemon.with(Self.tree.replacing("60s", with: "300ms")) { daemon in
            let before = try await daemon.active()
            try await daemon.kill(daemon.process)
            try await daemon.eventually("they end by themselves") { before.workers.allSatisfy { !$0.value.identity.isAlive } }
            _ = try await daemon.startNext()
            let after = try await daemon.active()
            #expect(after["/app"].incarnation == 2)
        }
    }

    @Test("that is told to stop during the take-over leaves nothing", arguments: [0, 30, 100])
    func stoppedDuringTakeOver(milliseconds: Int) async throws {
        try await RunningDaemon.with(Self.tree) { daemon in
            let before = try await daemon.active()
            let next = try await daemon.killAndReplace(daemon.process)
            // It has written this after it has begun to receive signals.
            try await daemon.eventually("it handles signals") {
                Files.text(of: "\(daemon.run)/control.lock") == "\(next.identity.processID)\n"
            }
            try await realTime(.milliseconds(milliseconds), because: "the signal comes anywhere in the take-over, which tells of no step")
            try next.send(.terminate)
            _ = await next.waitForExit()
            #expect(before.workers.allSatisfy { !$0.value.identity.isAlive })
            #expect(Files.names(in: daemon.run).filter { $0 != "logs" } == ["control.lock"])
        }
    }

    @Test("ends a worker that doesn't dial, before its path lives again")
    func silent() async throws {
        try await RunningDaemon.with(Self.tree) { daemon in
            let before = try await daemon.active()
            try await daemon.kill(daemon.process)
            try await stopProcess(before["/other"].identity)
            _ = try await daemon.startNext()
            try await daemon.eventually("the roll call is over") { try await daemon.node("/app").state == "active" }
            let after = try await daemon.active()
            #expect(after["/app"] == before["/app"])
            #expect(after["/other"].incarnation == 2 && !before["/other"].identity.isAlive)
        }
    }

    @Test("is refused as long as the first one is only stopped, which goes on afterwards with all its workers")
    func stopped() async throws {
        try await RunningDaemon.with(Self.tree) { daemon in
            let before = try await daemon.active()
            try await stopProcess(daemon.process)
            let second = try await RunningDaemon.coordinatord.run([
                "--config", "\(daemon.directory)/tree.yaml", "--runtime-dir", daemon.run,
            ])
            #expect(second.exitCode == 1)
            try daemon.process.send(.continue)
            #expect(try await daemon.active().workers == before.workers)
        }
    }

    @Test("whose directory was removed knows of nothing to adopt: the workers are ended by their mark")
    func directoryRemoved() async throws {
        let log = Transcript()
        try await RunningDaemon.with(Self.tree) { daemon in
            let before = try await daemon.active()
            try await daemon.kill(daemon.process)
            Files.remove(daemon.run)
            _ = try await daemon.startNext(standardError: log.destination)
            let after = try await daemon.active()
            let end = log.text.split(separator: "\n").first { $0.contains("what a former runtime has left was ended") }
            #expect(end?.contains("former=\(daemon.process.identity.processID) ") == true, "\(log.text)")
            #expect(before.workers.allSatisfy { !$0.value.identity.isAlive })
            #expect(after["/app"].incarnation == 1)
        }
    }

    @Test("adopts workers that have started others meanwhile, and ends those with them")
    func startsInTheGap() async throws {
        try await RunningDaemon.with(Self.tree) { daemon in
            let before = try await daemon.active()
            try before["/app/a"].identity.send(.kill)
            // Perhaps the next life of `a` begins before the daemon's end, perhaps after it.
            _ = try await daemon.killAndReplace(daemon.process)
            let after = try await daemon.active()
            #expect(after["/app"] == before["/app"])
            #expect(after["/app/a"].incarnation == before["/app/a"].incarnation + 1)
            try after["/app"].identity.send(.kill)
            try await daemon.eventually("nothing of it is left") { !after["/app/a"].identity.isAlive && !after["/app/b"].identity.isAlive }
            _ = try await daemon.active()
        }
    }
}

/// What lives in the tree of these tests.
private struct Lives {
    struct Life: Equatable {
        let identity: ProcessIdentity
        let incarnation: Int
    }

    var workers: [String: Life] = [:]
    var sleeper: ProcessIdentity?

    subscript(path: String) -> Life { workers[path] ?? Life(identity: ProcessIdentity(processID: 0, startTime: 0), incarnation: 0) }
}

extension RunningDaemon {
    /// Waits until all is active, and returns it.
    fileprivate func active() async throws -> Lives {
        var lives = Lives()
        try await eventually("all is active") {
            lives = Lives()
            for path in ["/app", "/app/a", "/app/b", "/other"] {
                let node = try await node(path)
                guard node.state == "active", let pid = node.pid, let identity = ProcessIdentity(processID: pid) else { return false }
                lives.workers[path] = Lives.Life(identity: identity, incarnation: Int(node.incarnation))
            }
            let sleeper = try await node("/sleeper")
            lives.sleeper = sleeper.pid.flatMap { ProcessIdentity(processID: $0) }
            return sleeper.state == "active" && lives.sleeper != nil
        }
        return lives
    }
}
