import DaemonConfiguration
import Testing

@Suite("The plan from one configuration to another")
struct ConfigurationPlanTests {
    private static func plan(_ former: String, _ next: String) throws -> ConfigurationPlan {
        try ConfigurationPlan(
            from: DaemonConfiguration.parse(text: former, file: "f"),
            to: DaemonConfiguration.parse(text: next, file: "g")
        )
    }

    /// The changes as short texts: sign, path, keys and effect.
    private static func lines(_ former: String, _ next: String) throws -> [String] {
        let plan = try plan(former, next)
        let signs: [ConfigurationPlan.Change.Kind: String] = [.added: "+", .removed: "-", .changed: "~"]
        return plan.changes.map { change in
            let keys = change.keys.isEmpty ? "" : " \(change.keys.joined(separator: " "))"
            return "\(signs[change.kind] ?? "") \(change.path)\(keys) \(change.effect.rawValue)\(change.cause.map { " for \($0)" } ?? "")"
        } + plan.reordered.map { "order \($0)" }
    }

    private static let base = """
        children:
          - { name: a, program: { command: [cat] } }
          - { name: b, program: { command: [cat] }, requires: [a] }
          - name: g
            children:
              - { name: x, program: { command: [cat] }, instances: 2 }
              - { name: y, worker: { executable: /w, coordinator: W } }
        """

    @Test("A configuration and itself have no differences, however it is written")
    func same() throws {
        let plan = try Self.plan(Self.base, Self.base.replacing("[cat]", with: "[\"cat\"]") + "\nsupervision: { period: 60s }")
        #expect(plan.isEmpty)
        #expect(plan.unchanged == 6)
    }

    @Test(
        "Each edit leads to its changes, and to no others",
        arguments: [
            (
                "{ name: a, program: { command: [cat] } }", "{ name: a, program: { command: [cat] }, restart: on_failure }",
                ["~ /a restart take_over"]
            ),
            (
                "{ name: a, program: { command: [cat] } }",
                "{ name: a, program: { command: [cat] }, stop_timeout: 1s, restart_limits: { max_restarts: 1 } }",
                ["~ /a stop_timeout restart_limits take_over"]
            ),
            (
                "{ name: a, program: { command: [cat] } }", "{ name: a, program: { command: [cat, -] } }",
                ["~ /a program.command restart", "~ /b restart for /a"]
            ),
            (
                "{ name: a, program: { command: [cat] } }", "{ name: a, program: { command: [cat], environment: { A: b }, directory: / } }",
                ["~ /a program.environment program.directory restart", "~ /b restart for /a"]
            ),
            ("requires: [a]", "after: [a]", ["~ /b after requires take_over"]),
            ("instances: 2", "instances: 3", ["+ /g/x-3 start"]),
            ("instances: 2", "instances: 1", ["- /g/x-2 stop"]),
            ("instances: 2", "autostart: false", ["+ /g/x none", "- /g/x-1 stop", "- /g/x-2 stop"]),
            ("coordinator: W", "coordinator: V", ["~ /g/y worker.coordinator restart"]),
            ("coordinator: W", "coordinator: W, spares: 2", ["~ /g/y worker.spares take_over"]),
            ("coordinator: W", "coordinator: W, spares: 2, hang: restart", ["~ /g/y worker.hang worker.spares restart"]),
            ("name: g", "name: h", ["+ /h start", "+ /h/x-1 start", "+ /h/x-2 start", "+ /h/y start", "- /g stop"]),
            ("- name: g", "- name: g\n    supervision: { max_restarts: 1 }", ["~ /g supervision take_over"]),
            (
                "  - { name: b", "  - { name: c, program: { command: [cat] } }\n  - { name: b", ["+ /c start"]
            ),
            (
                "children:\n  - { name: a", "orphan_grace: 1s\nsupervision: { period: 1s }\nchildren:\n  - { name: a",
                [
                    "~ / supervision take_over", "~ / orphan_grace next_daemon",
                ]
            ),
        ] as [(String, String, [String])]
    )
    func edit(_ former: String, _ next: String, _ expected: [String]) throws {
        #expect(Self.base.contains(former))
        #expect(try Self.lines(Self.base, Self.base.replacing(former, with: next, maxReplacements: 1)) == expected)
    }

    @Test("What children receive is the root's, which goes on with it until the next daemon, whatever becomes of the children")
    func receives() throws {
        let worker = { (key: String, receives: String) in
            "{ name: \(key), worker: { executable: /w, coordinator: W }, receives: [\(receives)] }"
        }
        let former = "children: [\(worker("a", "A., B")), \(worker("b", "C"))]"
        #expect(try Self.lines(former, former.replacing("B", with: "D")) == ["~ / receives next_daemon"])
        #expect(try Self.lines(former, "children: [\(worker("a", "A., B"))]") == ["~ / receives next_daemon", "- /b stop"])
        #expect(try Self.lines(former, "children: [\(worker("a", "A., B, C")), \(worker("b", ""))]") == ["~ / receives next_daemon"])
        #expect(try Self.lines(former, "children: [\(worker("b", "C")), \(worker("a", "B, A."))]") == ["order /"])
        let changed = former.replacing("/w", with: "/v") + "\norphan_grace: 1s"
        #expect(
            try Self.lines(former, changed.replacing("C", with: "E")) == [
                "~ / orphan_grace receives next_daemon", "~ /a worker.executable restart",
                "~ /b worker.executable restart",
            ]
        )
        // What the daemon has begun with still differs.
        var running = try DaemonConfiguration.parse(text: former, file: "f")
        let next = try DaemonConfiguration.parse(text: former.replacing("C", with: "E"), file: "g")
        running.children = next.children
        #expect(ConfigurationPlan(from: running, to: next).changes.map(\.keys) == [["receives"]])
    }

    @Test("A child that is added and not started at once has its reason, and so has what is below it")
    func notStarted() throws {
        let former = "cluster: { name: c, endpoints: ['http://127.0.0.1:1'] }\nchildren:\n  - { name: a, program: { command: [cat] } }\n"
        let below = "children: [{ name: x, program: { command: [cat] } }, { name: y, program: { command: [cat] }, autostart: false }]"
        let next =
            former + """
                  - { name: p, placement: cluster, program: { command: [cat] } }
                  - { name: g, placement: cluster, \(below) }
                  - { name: h, autostart: false, \(below) }
                  - { name: s, schedule: { cron: "0 4 * * *" }, program: { command: [cat] } }
                  - { name: t, schedule: { cron: "0 4 * * *" }, autostart: false, program: { command: [cat] } }
                """
        #expect(
            try Self.lines(former, next) == [
                "+ /p placed", "+ /g placed", "+ /g/x placed", "+ /g/y none", "+ /h none", "+ /h/x none", "+ /h/y none", "+ /s scheduled",
                "+ /t none",
            ]
        )
    }

    @Test("What requires a child that is restarted is restarted too, in whatever group the two are, and by way of others")
    func acrossGroups() throws {
        let former = """
            children:
              - name: web
                children:
                  - { name: app, program: { command: [cat] }, requires: [/infra/db] }
                  - { name: proxy, program: { command: [cat] }, requires: [app] }
                  - { name: log, program: { command: [cat] }, after: [/infra/db] }
                  - { name: task, program: { command: [cat] }, requires: [/infra/setup] }
              - name: infra
                instances: 2
                children:
                  - { name: db, program: { command: [cat] }, instances: 2 }
                  - { name: cache, program: { command: [cat] } }
                  - { name: setup, oneshot: { command: [cat] } }
              - { name: watch, program: { command: [cat] }, requires: [/web] }
              - { name: first, program: { command: [cat] }, requires: [/infra-1/db-1] }
            """
        let db = "db, program: { command: [cat] }"
        let db2 = (1...2).flatMap { group in (1...2).map { "~ /infra-\(group)/db-\($0) program.command restart" } }
        #expect(
            try Self.lines(former, former.replacing(db, with: "db, program: { command: [cat, -] }"))
                == ["~ /web/app restart for /infra-2/db-2", "~ /web/proxy restart for /infra-2/db-2"] + db2
                + ["~ /first restart for /infra-1/db-1"]
        )
        #expect(try Self.lines(former, former.replacing(db, with: "db, restart: on_failure, program: { command: [cat] }")).count == 4)
        let setup = former.replacing("setup, oneshot: { command: [cat] }", with: "setup, oneshot: { command: [cat, -] }")
        #expect(try Self.lines(former, setup) == (1...2).map { "~ /infra-\($0)/setup oneshot.command restart" })
    }

    @Test("Another order is seen, and restarts nothing")
    func order() throws {
        let former = "children: [{ name: a, program: { command: [cat] } }, { name: b, program: { command: [cat] } }]"
        let next = "children: [{ name: b, program: { command: [cat] } }, { name: a, program: { command: [cat] } }]"
        #expect(try Self.lines(former, next) == ["order /"])
    }

    @Test("A child that its supervisor begins to start may run already, and is restarted then with what it requires")
    func beginning() throws {
        let former = """
            children:
              - { name: a, program: { command: [cat] } }
              - { name: b, program: { command: [cat] }, requires: [a], autostart: false }
              - { name: c, program: { command: [cat] }, requires: [a] }
            """
        let next = former.replacing("a, program: { command: [cat] }", with: "a, program: { command: [cat, -] }")
            .replacing("c, program: { command: [cat] }, requires: [a]", with: "c, program: { command: [cat] }, requires: [b]")
        #expect(try Self.lines(former, next) == ["~ /a program.command restart", "~ /b start for /a", "~ /c requires restart for /a"])
        let isReplaced = try Self.plan(former, next).changes.map(\.replacesProcess)
        #expect(isReplaced == [true, true, true])
    }

    @Test("A program that becomes a worker, or a group, is restarted")
    func kinds() throws {
        let program = "children: [{ name: a, program: { command: [cat] }, stop_timeout: infinity }]"
        let worker = "children: [{ name: a, worker: { executable: /w, coordinator: W } }]"
        let group = "children: [{ name: a, children: [{ name: b, program: { command: [cat] } }] }]"
        #expect(try Self.lines(program, worker) == ["~ /a worker program restart"])
        #expect(try Self.lines(worker, group) == ["~ /a worker children restart"])
        #expect(try Self.lines(group, program) == ["~ /a program children restart"])
    }
}
