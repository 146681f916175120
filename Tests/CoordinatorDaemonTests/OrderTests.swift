import Control
import Processes
import TestSupport
import Testing

@Suite("The order of the daemon's children: what waits, what runs once, and what goes side by side", .timeLimit(minutes: 3))
struct OrderTests {
    /// Runs a daemon with a file in which `DIRECTORY` stands for a directory of the test.
    private static func run(
        _ tree: String,
        _ body: (RunningDaemon, TemporaryDirectory) async throws -> Void
    ) async throws {
        let directory = try TemporaryDirectory()
        try await RunningDaemon.with(tree.replacing("DIRECTORY", with: directory.path)) { try await body($0, directory) }
    }

    /// A program, or one that runs once, of a shell in the directory.
    private static func shell(_ script: String, _ rest: String = "") -> String {
        "{ command: [sh, -c, \"\(script)\"], directory: DIRECTORY\(rest) }"
    }

    private static let sleeper = "program: { command: [sleep, '1000'] }"

    /// On SIGTERM it tells its name, and ends.
    private static func told(_ name: String) -> String {
        "program: \(shell("trap 'echo \(name) >> ends; exit 0' TERM; echo > ready-\(name); while :; do sleep 0.02; done"))"
    }

    @Test("Whatever nothing orders starts and ends side by side: siblings, instances, and those in groups")
    func sideBySide() async throws {
        // Each goes on only when all others have come as far.
        let all = "while [ $(wc -l < FILE) -lt 8 ]; do sleep 0.02; done"
        let meet = { (file: String) in "echo >> \(file); \(all.replacing("FILE", with: file))" }
        let trap = "trap '\(meet("stops")); echo >> ends; exit 0' TERM"
        let program = "program: \(Self.shell("\(trap); echo >> traps; while :; do sleep 0.02; done"))"
        let once = "oneshot: \(Self.shell(meet("starts")))"
        let tree = """
            children:
              - { name: a, \(program), stop_timeout: 30s }
              - { name: b, \(program), stop_timeout: 30s }
              - { name: c, \(program), stop_timeout: 30s, instances: 3 }
              - { name: g, children: [{ name: d, \(program), stop_timeout: 30s, instances: 2 }, { name: e, \(program), stop_timeout: 30s }] }
              - { name: once, \(once), instances: 4 }
              - { name: h, children: [{ name: once, \(once), instances: 3 }, { name: other, \(once) }] }
            """
        try await Self.run(tree) { daemon, directory in
            try await daemon.eventually("all have begun") {
                let states = try await daemon.states()
                return Files.text(of: directory.file("traps"))?.count == 8 && states["/h/other"] == "inactive"
            }
            #expect(Files.text(of: directory.file("starts"))?.count == 8)
            try daemon.process.send(.terminate)
            #expect(await daemon.process.waitForExit() == .exited(code: 0))
            #expect(Files.text(of: directory.file("ends"))?.count == 8)
        }
    }

    @Test("A child that runs once is awaited by others, which don't start when it fails; an operator's start runs it again")
    func oneshot() async throws {
        let tree = """
            children:
              - { name: shop, \(Self.told("shop")), after: [migration] }
              - { name: migration, oneshot: \(Self.shell("echo $STEP >> runs; test -e ready-db && echo migrated >> ends")), requires: { db: ready } }
              - { name: db, program: \(Self.shell(
                    "trap 'echo db >> ends; exit 0' TERM; sleep 0.2; echo > ready-db; while :; do sleep 0.02; done",
                    ", ready: { command: [test, -e, ready-db], interval: 20ms }"
                )) }
              - { name: held, \(Self.sleeper), requires: [bad] }
              - { name: ordered, \(Self.sleeper), after: [bad] }
              - { name: bad, oneshot: \(Self.shell("test -e good || exit 3")) }
              - name: again
                oneshot: \(Self.shell("echo >> tries; test $(wc -l < tries) -ge 3"))
                restart: on_failure
                restart_limits: { backoff: { minimum: 1ms, maximum: 5ms } }
              - { name: late, oneshot: \(Self.shell("exec sleep 1000", ", start_timeout: 1s")), autostart: false }
              - { name: patient, \(Self.sleeper), requires: { again: completed } }
            """
        try await Self.run(tree) { daemon, directory in
            let states = [
                "/shop": "active", "/migration": "inactive", "/db": "active", "/held": "waiting", "/ordered": "waiting", "/bad": "failed",
                "/again": "inactive", "/late": "inactive", "/patient": "active",
            ]
            try await daemon.eventually("all has begun") { try await daemon.states() == states }
            func runs() -> String? { Files.text(of: directory.file("runs")) }
            #expect(Files.text(of: directory.file("ends")) == "migrated\n" && Files.text(of: directory.file("tries"))?.count == 3)
            #expect(try await daemon.node("/held").waitsFor == ["/bad"])
            #expect(try await daemon.node("/held").lastExit == "not started: it waits for /bad, which hasn't completed")
            #expect(try await daemon.node("/bad").lastExit == "exited with code 3")
            let refused = try await daemon.control("start", "/held")
            #expect(refused.exitCode == 1 && refused.errors.contains("/held waits for /bad, which can't be started"), "\(refused)")
            #expect(try await daemon.control("start", "/late").exitCode == 1)
            #expect(try await daemon.node("/late").lastExit == "was not ready in time")

            try Files.write("", to: directory.file("good"))
            let good = try await daemon.control("start", "/bad")
            #expect(good.exitCode == 0, "\(good)")
            for path in ["/held", "/ordered"] { #expect(try await daemon.states()[path] == "active") }

            // What hasn't changed doesn't run again, and what has completed takes nothing down with it.
            let before = try await daemon.pids()
            #expect(try await daemon.control("config", "apply").exitCode == 0)
            #expect(try await daemon.control("stop", "/migration").exitCode == 0)
            _ = try await daemon.upgrade()
            #expect(try await daemon.pids() == before && runs() == "\n")
            let rest = "}, requires: { db: ready"
            daemon.rewrite(changing: rest, to: ", environment: { STEP: two } \(rest)")
            #expect(try await daemon.control("config", "apply").exitCode == 0)
            try await daemon.eventually("the changed one has run") { runs() == "\ntwo\n" }
            #expect(try await daemon.control("start", "/migration").exitCode == 0)
            #expect(try await daemon.pids() == before && runs() == "\ntwo\ntwo\n")

            // The order of two goes through one that has ended.
            try await daemon.eventually("the signal is trapped") { Files.text(of: directory.file("ready-shop")) != nil }
            try daemon.process.send(.terminate)
            #expect(await daemon.process.waitForExit() == .exited(code: 0))
            #expect(Files.text(of: directory.file("ends"))?.hasSuffix("shop\ndb\n") == true)
            let next = try await daemon.startNext()
            try await daemon.eventually("it runs at each start of a daemon") { runs() == "\ntwo\ntwo\ntwo\n" }
            try await daemon.endLeavingNothing(next)
        }
    }

    @Test("The end of a start that fails has the same words wherever it's told: by the command, and by the daemon after an upgrade")
    func failedStart() async throws {
        try await Self.run("children: []") { daemon, _ in
            try daemon.rewrite("children: [{ name: bad, oneshot: { command: ['false'] } }]")
            let applied = try await daemon.control("config", "apply")
            #expect(applied.exitCode == 1 && applied.output.contains("+ /bad: failed: exited with code 1\n"), "\(applied)")
            for _ in 1...2 {
                let node = try await daemon.node("/bad")
                #expect(node.lastExit == "exited with code 1" && node.lastExitCode == 1)
                _ = try await daemon.upgrade()
            }
        }
    }

    @Test("What an operator is stopping doesn't come back with what it requires, if that is stopped meanwhile")
    func stoppedTogether() async throws {
        let tree = """
            children:
              - name: server
                program: \(Self.shell(
                    "trap 'echo > asked; while [ ! -e go ]; do sleep 0.02; done; exit 0' TERM; echo > ready; while :; do sleep 0.02; done"
                ))
                requires: [db]
              - { name: db, \(Self.sleeper) }
            """
        try await Self.run(tree) { daemon, directory in
            try await daemon.eventually("the server waits for its end") { Files.text(of: directory.file("ready")) != nil }
            async let server = daemon.control("stop", "/server")
            try await daemon.eventually("the server is asked to end") { Files.text(of: directory.file("asked")) != nil }
            let errors = Transcript()
            let stop = daemon.controlSpecification(["stop", "/db"], standardError: errors.destination)
            try await withChild(stop) { database in
                try await daemon.eventually("the stop of the database is under way") { errors.text.contains("waiting for") }
                try Files.write("", to: directory.file("go"))
                #expect(await database.waitForExit() == .exited(code: 0))
            }
            #expect(try await server.exitCode == 0)
            #expect(try await daemon.states() == ["/server": "inactive", "/db": "inactive"])
            #expect(try await daemon.control("start", "/db").exitCode == 0)
            #expect(try await daemon.states() == ["/server": "inactive", "/db": "active"])
        }
    }

    @Test("A child waits until another one is healthy, also by way of several lives")
    func healthy() async throws {
        let tree = """
            children:
              - { name: web, \(Self.sleeper), requires: { api: healthy } }
              - name: api
                program: \(Self.shell("exec sleep 1000", ", health: { command: [test, -e, healthy], interval: 30ms, retries: 2 }"))
                restart_limits: { max_restarts: unlimited, backoff: { minimum: 1ms, maximum: 5ms } }
            """
        try await Self.run(tree) { daemon, directory in
            try await daemon.eventually("it's restarted") { try await daemon.node("/api").incarnation > 2 }
            #expect(try await daemon.states()["/web"] == "waiting")
            try Files.write("", to: directory.file("healthy"))
            try await daemon.eventually("it's healthy") { try await daemon.states()["/web"] == "active" }
            #expect(try await daemon.node("/api").state == "active")
        }
    }

    @Test("Children wait for others in any group, are stopped with them, and end before them")
    func acrossGroups() async throws {
        let tree = """
            children:
              - name: web
                children:
                  - { name: app, \(Self.told("app")), requires: [/infra/db] }
                  - { name: log, \(Self.told("log")), after: { /infra/inner/setup: completed } }
                  - { name: lost, \(Self.sleeper), requires: [/off/x] }
              - name: infra
                children:
                  - name: inner
                    children: [{ name: setup, oneshot: \(Self.shell("while [ ! -e go ]; do sleep 0.02; done")) }]
                  - { name: db, \(Self.told("db")), after: [/infra/inner/setup], instances: 2 }
              - { name: off, autostart: false, children: [{ name: x, \(Self.sleeper) }] }
            """
        try await Self.run(tree) { daemon, directory in
            try await daemon.eventually("they wait") {
                let states = try await daemon.states()
                return states["/web/app"] == "waiting" && states["/infra/db-1"] == "waiting" && states["/web/lost"] == "waiting"
                    && states["/web/log"] == "waiting"
            }
            // A wait that nothing ends doesn't hold a shutdown up.
            let log = try await daemon.control("stop", "/web/log")
            #expect(log.exitCode == 0)
            try Files.write("", to: directory.file("go"))
            try await daemon.eventually("all runs") { try await daemon.states()["/web/app"] == "active" }
            func trapped() async throws {
                try await daemon.eventually("the signal is trapped") {
                    Files.text(of: directory.file("ready-app")) != nil && Files.text(of: directory.file("ready-db")) != nil
                }
            }
            try await trapped()
            #expect(try await daemon.control("stop", "/infra/db-2").exitCode == 0)
            #expect(Files.text(of: directory.file("ends")) == "app\ndb\n")
            #expect(try await daemon.node("/web/app").waitsFor == ["/infra/db-2"])
            for name in ["app", "db"] { Files.remove(directory.file("ready-\(name)")) }
            #expect(try await daemon.control("start", "/web/app").exitCode == 0)
            #expect(try await daemon.states()["/infra/db-2"] == "active")
            try await trapped()
            // A change of one restarts the other, which ends before it and starts after it.
            for name in ["app", "db"] { Files.remove(directory.file("ready-\(name)")) }
            daemon.rewrite(changing: "echo > ready-db", to: "echo >> ready-db")
            let changed = try await daemon.control("config", "apply")
            #expect(changed.exitCode == 0 && changed.output.contains("(restart, because it requires /infra/db-2)"), "\(changed)")
            #expect(Files.text(of: directory.file("ends")) == "app\ndb\napp\ndb\ndb\n")
            try await daemon.eventually("the signals are trapped") {
                Files.text(of: directory.file("ready-app")) != nil && Files.text(of: directory.file("ready-db")) == "\n\n"
            }
            let begun = try await daemon.control("events", "--json").output.split(separator: "\n")
                .map { try ControlJSON.decode(ControlEvent.self, from: try ControlJSON.parse(Array($0.utf8))) }
                .filter { [.started, .restarted].contains($0.kind) }.compactMap(\.path)
            #expect(Set(begun.suffix(3)) == ["/infra/db-1", "/infra/db-2", "/web/app"] && begun.last == "/web/app", "\(begun)")
            try daemon.process.send(.terminate)
            #expect(await daemon.process.waitForExit() == .exited(code: 0))
            #expect(Files.text(of: directory.file("ends")) == "app\ndb\napp\ndb\ndb\napp\ndb\ndb\n")
        }
    }

    @Test("What is started once others let it is shown to wait, with those that it waits for: before the start, and after a stop of these")
    func awaited() async throws {
        let tree = """
            children:
              - { name: slow, program: { command: [sleep, '1000'], directory: DIRECTORY, start_timeout: 60s, ready: { command: [test, -e, go], interval: 20ms } } }
              - { name: needs, \(Self.sleeper), requires: [slow] }
              - { name: then, \(Self.sleeper), after: [needs, slow] }
              - name: group
                requires: [slow]
                children: [{ name: a, \(Self.sleeper) }, { name: b, \(Self.sleeper), requires: [a] }, { name: off, \(Self.sleeper), autostart: false }]
              - { name: off, \(Self.sleeper), autostart: false }
            """
        try await Self.run(tree) { daemon, directory in
            func awaited() async throws -> [String: [String]] {
                func awaited(_ node: TreeNode) -> [(String, [String])] {
                    (node.state == "waiting" ? [(node.path, node.waitsFor ?? [])] : []) + node.children.flatMap(awaited)
                }
                return Dictionary(uniqueKeysWithValues: awaited(try await daemon.tree()))
            }
            let stopped = ["/needs": ["/slow"], "/group": ["/slow"], "/group/a": ["/group"], "/group/b": ["/group/a"]]
            let first = stopped.merging(["/then": ["/needs", "/slow"]]) { $1 }
            try await daemon.eventually("they wait") { try await awaited() == first }
            for (path, others) in first {
                let node = try await daemon.node(path)
                #expect(node.state == "waiting" && node.waitsFor == others, "\(path)")
            }
            for path in ["/off", "/group/off"] { #expect(try await daemon.node(path).state == "inactive") }
            let text = try await daemon.control("status", "/then")
            #expect(text.output.contains("waiting for /needs and 1 more") && text.output.contains("waits for:  /needs, /slow"), "\(text)")
            try Files.write("", to: directory.file("go"))
            try await daemon.eventually("none does") {
                let isStarted = try await daemon.node("/group/b").state == "active"
                return try await awaited().isEmpty && isStarted
            }
            #expect(try await daemon.control("stop", "/slow").exitCode == 0)
            #expect(try await awaited() == stopped)
            #expect(try await daemon.control("stop", "/needs", "/group").exitCode == 0)
            #expect(try await awaited().isEmpty)
        }
    }

    @Test("A child waits for another one whatever the depths of the two, and whichever is listed first")
    func acrossDepths() async throws {
        let depths = 1...4
        /// Groups in one another, each with the same children.
        func tower(_ name: String, _ children: String) -> String {
            depths.reversed().reduce("") { inner, depth in
                let rest = inner.isEmpty ? "" : ", \(inner)"
                return "{ name: \(name)\(depth), children: [\(children)\(rest)] }"
            }
        }
        let all = depths.map { depth in depths.filter { $0 <= depth }.map { "/b\($0)" }.joined() + "/setup" }
        let waiting = all.enumerated().map { "{ name: w\($0), \(Self.sleeper), after: [\($1)] }" }.joined(separator: ", ")
        let setup = "{ name: setup, oneshot: \(Self.shell("while [ ! -e go ]; do sleep 0.02; done")) }"
        let towers = [tower("a", waiting), tower("b", setup), tower("c", waiting)]
        try await Self.run("children: [\(towers.joined(separator: ", "))]") { daemon, directory in
            func states() async throws -> [String] {
                try await daemon.states().filter { $0.key.contains("/w") }.map(\.value)
            }
            let count = 2 * depths.count * depths.count
            try await daemon.eventually("all wait") {
                try await states() == Array(repeating: "waiting", count: count)
            }
            try Files.write("", to: directory.file("go"))
            try await daemon.eventually("all run") { try await states() == Array(repeating: "active", count: count) }
        }
    }

    @Test("A worker that a killed daemon leaves is adopted though what it waits for runs again")
    func adoption() async throws {
        let tree = """
            children:
              - { name: worker, worker: { executable: FIXTURE, coordinator: RootCoordinator }, requires: [slow] }
              - { name: slow, oneshot: \(Self.shell("echo >> runs; test $(wc -l < runs) -lt 2 || exec sleep 1000")) }
            """
        try await Self.run(tree) { daemon, _ in
            try await daemon.eventually("it's ready") { try await daemon.node("/worker").state == "active" }
            let pid = try await daemon.node("/worker").pid
            try await daemon.kill(daemon.process)
            // The next daemon doesn't know that it has completed.
            Files.remove("\(daemon.run)/children.json")
            _ = try await daemon.startNext()
            try await daemon.eventually("it's adopted") { try await daemon.node("/worker").state == "active" }
            #expect(try await daemon.node("/worker").pid == pid)
            #expect(try await daemon.node("/slow").state == "starting")
        }
    }

    @Test("A shutdown ends the waits of children, whatever they wait for")
    func shutdownWhileWaiting() async throws {
        let tree = """
            children:
              - { name: a, children: [{ name: never, oneshot: { command: [sleep, '1000'] } }] }
              - { name: b, children: [{ name: waits, \(Self.sleeper), after: [/a/never] }] }
              - { name: c, \(Self.sleeper), after: { d: healthy } }
              - { name: d, program: { command: [sleep, '1000'], health: { command: ['false'], interval: 20ms, on_failure: report } } }
            """
        try await Self.run(tree) { daemon, _ in
            try await daemon.eventually("they wait") {
                let states = try await daemon.states()
                return states["/b/waits"] == "waiting" && states["/c"] == "waiting" && states["/d"] == "unhealthy"
            }
            try await daemon.endLeavingNothing(daemon.process)
        }
    }

    @Test("A child of a group that is given up leaves its siblings alone; a strategy couples them")
    func isolation() async throws {
        func group(_ key: String, _ strategy: String) -> String {
            """
              - name: \(key)
                supervision: { \(strategy)max_restarts: 1, period: 60s, backoff: { minimum: 1ms, maximum: 1ms } }
                restart_limits: { max_restarts: 0 }
                children:
                  - { name: calm, \(Self.sleeper) }
                  - { name: looper, program: { command: [sh, -c, "exit 1"] } }

            """
        }
        let tree = "children:\n" + group("apart", "") + group("coupled", "strategy: one_for_all, ")
        try await Self.run(tree) { daemon, _ in
            let states = [
                "/apart": "active", "/apart/calm": "active", "/apart/looper": "failed", "/coupled": "failed", "/coupled/calm": "inactive",
            ]
            try await daemon.eventually("a looper and a group are given up, and the siblings of the one run") {
                try await daemon.states().filter { states[$0.key] != nil } == states
            }
            for path in ["/apart", "/apart/calm"] { #expect(try await daemon.node(path).incarnation == 1) }
            #expect(try await daemon.control("status", "/apart/looper").exitCode != 0)
            // The group takes a strategy over that is applied.
            daemon.rewrite(changing: "{ max_restarts: 1", to: "{ strategy: rest_for_one, max_restarts: 1")
            #expect(try await daemon.control("config", "apply").exitCode == 0)
            _ = try await daemon.control("start", "/apart/looper")
            try await daemon.eventually("it ends the group") { try await daemon.node("/apart").state == "failed" }
        }
    }
}

extension RunningDaemon {
    /// Replaces a part of the configuration that the next daemon reads.
    fileprivate func rewrite(changing former: String, to next: String) {
        let text = Files.text(of: "\(directory)/tree.yaml") ?? ""
        #expect(text.contains(former))
        #expect(throws: Never.self) { try rewrite(text.replacing(former, with: next)) }
    }
}
