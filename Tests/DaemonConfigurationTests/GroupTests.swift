import DaemonConfiguration
import Supervision
import Testing

@Suite("Groups, instances and dependencies in the configuration file")
struct GroupTests {
    private static func children(_ text: String) throws -> [ConfiguredChild] {
        try DaemonConfiguration.parse(text: text, file: "f").children
    }

    @Test("A child with children is a group with a supervision of its own")
    func group() throws {
        let children = try Self.children(
            """
            children:
              - name: web
                supervision: { strategy: rest_for_one, max_restarts: 2 }
                restart_limits: { max_restarts: unlimited }
                children:
                  - { name: cache, program: { command: [cat] } }
                  - name: inner
                    children: [{ name: leaf, program: { command: [cat] }, autostart: false }]
            """
        )
        let web = try #require(children.first)
        guard case .group(let group) = web.content, case .group(let inner)? = group.children.last?.content else {
            Issue.record("\(web.content)")
            return
        }
        var policy = SupervisionPolicy(.restForOne, intensity: 2)
        policy.limitsFailures = true
        #expect(group.supervision == policy)
        #expect(web.shutdown == .infinity && web.restartLimits?.intensity == .unlimited)
        #expect(group.children.map(\.key) == ["cache", "inner"])
        #expect(inner.supervision == SupervisionPolicy())
        #expect(inner.children.map(\.autostart) == [false])
    }

    @Test("Instances have numbered keys, and a dependency on their key is one on each of them")
    func instances() throws {
        let children = try Self.children(
            """
            children:
              - { name: a, program: { command: [cat] }, instances: 2, after: [b] }
              - { name: b, program: { command: [cat] }, instances: 0 }
              - { name: c, program: { command: [cat] }, requires: [a], after: [b] }
            """
        ).withInstances
        #expect(children.map(\.key) == ["a-1", "a-2", "c"])
        #expect(children.map(\.instances) == [nil, nil, nil])
        #expect(children[2].requires == ["a-1", "a-2"] && children[2].after == [])
    }

    @Test("The start order is the file's, except where a child is started after another")
    func order() throws {
        let children = try Self.children(
            """
            children:
              - { name: a, program: { command: [cat] }, after: [d] }
              - { name: b, program: { command: [cat] } }
              - { name: c, program: { command: [cat] }, autostart: false }
              - { name: d, program: { command: [cat] }, requires: [c] }
              - { name: e, program: { command: [cat] }, requires: [d], autostart: false }
            """
        )
        let dependencies = SiblingDependencies(of: children)
        #expect(dependencies.startOrder == ["c", "d", "a", "b", "e"])
        #expect(dependencies.bound(to: "e") == ["c", "d"])
        #expect(dependencies.requiring("c") == ["d", "e"])
        #expect(dependencies.before("a") == ["d"])
        #expect(children.startedBySupervisor == ["a", "b", "c", "d"])
    }

    @Test("A chain as long as a file can be is put into order")
    func longChain() {
        let content = ConfiguredChild.Content.program(ConfiguredProgram(command: ["cat"]))
        let children = (0..<10_000).map { ConfiguredChild(key: "k\($0)", content: content, after: $0 < 9_999 ? ["k\($0 + 1)"] : []) }
        #expect(SiblingDependencies(of: children).startOrder == children.map(\.key).reversed())
        #expect(SiblingDependencies(of: children).cycle == nil)
    }

    static let problems: [ConfigurationProblemTests.Row] = [
        .init(
            "a circle",
            """
            children:
              - { name: x, program: { command: [cat] } }
              - { name: a, program: { command: [cat] }, after: [x, b] }
              - { name: b, program: { command: [cat] }, requires: [c] }
              - { name: c, program: { command: [cat] }, after: [a] }
            """,
            "f:3:56: children would be started after one another in a circle: `a` after `b` after `c` after `a`; "
                + "expected an order in which they can start"
        ),
        .init(
            "a child after itself",
            "children:\n  - { name: a, program: { command: [cat] }, requires: [a] }\n",
            "f:2:56: children would be started after one another in a circle: `a` after `a`; expected an order in which they can start"
        ),
        .init(
            "a name that no sibling has",
            "children:\n  - { name: data, program: { command: [cat] } }\n  - { name: b, program: { command: [cat] }, after: [date] }\n",
            "f:3:53: `after` of `b` names `date`, which is the name of no sibling; did you mean `data`?"
        ),
        .init(
            "a name of an only child",
            "children:\n  - { name: a, program: { command: [cat] }, after: [b] }\n",
            "f:2:53: `after` of `a` names `b`, which is the name of no sibling; it has no sibling"
        ),
        .init(
            "a name that isn't a list",
            "children:\n  - { name: a, program: { command: [cat] }, after: b }\n",
            "f:2:52: `after` is `b`; expected a list of siblings' names, such as [database], or a mapping of them to conditions, "
                + "such as { migrate: completed }"
        ),
        .init(
            "keys of instances that are taken",
            """
            children:
              - { name: a, program: { command: [cat] }, instances: 2 }
              - { name: a-2, program: { command: [cat] } }
            """,
            "f:3:13: the name `a-2` is taken by the child at line 2; expected each child to have its own"
        ),
        .init(
            "a number of instances that is none",
            "children:\n  - { name: a, program: { command: [cat] }, instances: many }\n",
            "f:2:56: `instances` is `many`; expected a whole number from 0 to 1000"
        ),
        .init(
            "autostart that is neither",
            "children:\n  - { name: a, program: { command: [cat] }, autostart: no }\n",
            "f:2:56: `autostart` is `no`; expected true or false"
        ),
        .init(
            "a supervision without children",
            "children:\n  - { name: a, program: { command: [cat] }, supervision: { max_restarts: 1 } }\n",
            "f:2:58: `supervision` is for a child with `children`; expected `children` too, or `restart_limits`"
        ),
        .init(
            "a group with a program",
            "children:\n  - { name: a, program: { command: [cat] }, children: [{ name: b }] }\n",
            "f:2:5: a child has both `program` and `children`; expected one of them",
            "f:2:56: a child has neither `worker` nor `program`, and no `children`, and no `oneshot`; expected one of them"
        ),
        .init(
            "a problem in a group",
            "children:\n  - name: a\n    children:\n      - { name: b, programm: { command: [cat] } }\n",
            "f:4:20: unknown key `programm` in a child; did you mean `program`?"
        ),
    ]

    @Test("Each problem is reported with its position", arguments: problems)
    func problem(_ row: ConfigurationProblemTests.Row) {
        #expect(ConfigurationProblemTests.problems(of: row.text) == row.problems)
    }

    @Test("A path that is too long is a problem, however deep its groups are")
    func longPaths() {
        let key = String(repeating: "k", count: 200)
        let text = "children: " + String(repeating: "[{ name: \(key), children: ", count: 6) + "[]" + String(repeating: " }]", count: 6)
        let problems = ConfigurationProblemTests.problems(of: text)
        #expect(problems.count == 2)
        #expect(problems.allSatisfy { $0.contains("the child's path has more than 1000 bytes") })
    }
}
