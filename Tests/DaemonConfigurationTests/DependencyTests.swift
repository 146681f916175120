import DaemonConfiguration
import Supervision
import Testing

/// What children wait for: conditions, and paths of children in other groups.
@Suite struct DependencyTests {
    private static func children(_ text: String) throws -> [ConfiguredChild] {
        try DaemonConfiguration.parse(text: text, file: "f").children
    }

    private static let tree = """
        children:
          - name: web
            children:
              - { name: app, program: { command: [cat] }, requires: { /infra/db: healthy, /infra/job: completed }, after: [log] }
              - { name: log, program: { command: [cat] } }
          - name: infra
            children:
              - { name: db, program: { command: [cat], health: { tcp: 1 } }, instances: 2 }
              - { name: job, oneshot: { command: [cat] }, after: [/cache-1, db] }
          - { name: cache, program: { command: [cat] }, instances: 2 }
          - { name: last, program: { command: [cat] }, after: [/infra], requires: { cache: ready } }

        """

    @Test func namesHaveTheirConditionsAndGroupsAnOrder() throws {
        let children = try Self.children(Self.tree)
        guard case .group(let web) = children[0].content, case .group(let infra) = children[1].content else { return #expect(Bool(false)) }
        #expect(web.children[0].conditions == ["/infra/db": .healthy, "/infra/job": .completed])
        #expect(infra.children[0].possibleConditions == [.ready, .healthy] && infra.children[1].possibleConditions == [.completed])
        #expect(infra.children[1].isOneshot && infra.children[1].restart == .temporary)
        let all = SiblingDependencies(of: children.withInstances)
        #expect(all.stoppedAfter == ["web": ["infra"], "infra": ["cache-1"], "last": ["infra", "cache-1", "cache-2"]])
        #expect(all.longest { $0 == "web" ? .seconds(4) : .seconds(1) } == .seconds(6))
        #expect(SiblingDependencies(of: web.children, under: "/web").stoppedAfter == ["app": ["log"]])
        #expect(children.withInstances[4].conditions == ["cache": .ready, "cache-1": .ready, "cache-2": .ready])
        // What has completed takes nothing down, and isn't needed but to start.
        let group = SiblingDependencies(
            of: try Self.children(
                """
                children:
                  - { name: a, program: { command: [cat] }, requires: [b, c], after: [d] }
                  - { name: b, oneshot: { command: [cat] } }
                  - { name: c, program: { command: [cat] } }
                  - { name: d, oneshot: { command: [cat] }, autostart: false }
                """
            )
        )
        #expect(group.bound(to: "a") == ["c"] && group.requiring("b") == [] && group.requiring("c") == ["a"])
    }

    @Test func whatRunsOnceIsStartedForThoseThatWaitForIt() throws {
        let children = try Self.children(
            """
            children:
              - { name: a, program: { command: [cat] }, after: [d] }
              - { name: d, oneshot: { command: [cat] }, autostart: false }
            """
        )
        #expect(children.startedBySupervisor == ["a", "d"])
    }

    private static func child(_ rest: String) -> String { "  - { name: x, program: { command: [cat] }, \(rest) }\n" }

    static let rows = [
        (child("after: [/infra/bd]"), "53: `after` of `/x` names `/infra/bd`, which is the path of no child; did you mean `/infra/db`?"),
        (
            child("requires: { /web/log: healthy }"),
            "57: `requires` of `/x` waits for `/web/log` to be `healthy`, which has no `health` that could be checked; "
                + "expected `health` there, or `ready`"
        ),
        (
            child("requires: { last: completed }"),
            "57: `requires` of `x` waits for `last` to be `completed`, which doesn't run to its end; expected a `oneshot`, or `ready`"
        ),
        (
            child("after: { /infra/job: ready }"),
            "54: `after` of `/x` waits for `/infra/job` to be `ready`, which runs to its end; expected `completed`"
        ),
        (child("after: { last: running }"), "60: `last` in `after` is `running`; expected one of `ready`, `healthy`, `completed`"),
        (
            child("after: [/x]"),
            "53: `after` of `/x` names `/x`, which is the child itself, or a group that it is in; expected another child"
        ),
        (
            "  - { name: x, children: [{ name: y, program: { command: [cat] }, after: [/x] }] }\n",
            "75: `after` of `/x/y` names `/x`, which is the child itself, or a group that it is in; expected another child"
        ),
        (
            "  - { name: x, children: [{ name: y, oneshot: { command: [cat] }, after: [/z] }] }\n"
                + "  - { name: z, program: { command: [cat] }, after: [/x/y] }\n",
            "75: children, or some of those below them, would be started after one another in a circle: `/x` after `/z` after `/x`; "
                + "expected an order in which they can start and end"
        ),
        (
            "  - { name: x, oneshot: { command: [cat] }, restart: always }\n",
            "54: a oneshot runs to its end, and `restart` is `always`; expected `on_failure` or `never`, or a `program`"
        ),
        (
            "  - { name: x, children: [], on_exit: end_daemon }\n",
            "39: `on_exit` is for what has an exit code; expected it at the children of the group"
        ),
        ("  - { name: x, oneshot: { command: [cat], ready: notify } }\n", nil),
    ]

    @Test(arguments: rows) func senselessDependenciesAreRefusedWithTheirPlaces(rest: String, problem: String?) {
        let problems = ConfigurationProblemTests.problems(of: Self.tree + rest)
        #expect(problem.map { problems == ["f:12:\($0)"] } ?? (problems.first?.hasPrefix("f:12:43: unknown key") == true), "\(problems)")
    }
}
