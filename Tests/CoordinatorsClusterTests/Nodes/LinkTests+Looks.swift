import Control
import CoordinatorsCluster
import Glibc
import Processes
import TestSupport
import Testing
import WireProtocol

// What operators see of one node from another.
extension LinkTests {
    @Test func anyNodeLooksAtAnyOther() async throws {
        let local = "  - { name: local, program: { command: [/bin/sleep, 1000] } }\n"
        try await RunningCluster.with(Self.root + "\n" + local, areLinked: true) { cluster in
            let owner = try await cluster.activeOwner(of: "/root")
            let elsewhere = try #require(others(owner).first)
            func list(_ arguments: String...) async throws -> ProcessList {
                let ended = try await cluster.control(elsewhere, ["ps", "--json"] + arguments)
                try #require(ended.exitCode == 0, "\(ended)")
                if SchemaCheck.python != nil { #expect(try await SchemaCheck.problems(of: ended.output, "ps") == "") }
                return try ControlJSON.decode(ProcessList.self, from: try ControlJSON.parse(Array(ended.output.utf8)))
            }
            let there: TreeNode = try await cluster.answer(of: .status(path: "/root"), from: owner)
            // This node's own, and what is placed elsewhere; nothing else that is elsewhere.
            let all = try await list()
            let expected: Set = ["\(elsewhere) /local", "\(elsewhere) /", "\(owner) /root"]
            #expect(Set(all.processes.map { "\($0.node ?? "") \($0.path)" }) == expected)
            let placed = try #require(all.processes.first { $0.path == "/root" })
            #expect(placed.pid == there.pid && placed.isElsewhere == true && all.missing == nil)
            #expect(all.processes.allSatisfy { $0.path == "/root" || $0.isElsewhere == nil })
            let text = try await cluster.control(elsewhere, "ps").output
            let lines = text.split(separator: "\n")
            #expect(text.hasPrefix("NODE") && lines.contains { $0.hasPrefix(owner) && $0.contains("/root") }, "\(text)")
            let onOwner = try await list("--node", owner)
            #expect(Set(onOwner.processes.map(\.path)) == ["/", "/local", "/root"])
            #expect(onOwner.processes.allSatisfy { $0.node == owner && $0.isElsewhere == true })
            #expect(Set(try await list("--node", elsewhere).processes.map(\.path)) == ["/", "/local"])

            // Events have each node's own numbers, and say who has given the command there.
            #expect(try await cluster.control(owner, "restart", "/local").exitCode == 0)
            let events = try await cluster.control(elsewhere, "events", "--json", "--path", "/local", "--node", owner).output
            let ownersOwn = try await cluster.control(owner, "events", "--json", "--path", "/local").output
            #expect(events == ownersOwn)
            #expect(events.contains(#""operation":"restart""#))
            let own = try await cluster.control(elsewhere, "events", "--json", "--path", "/local").output
            #expect(!own.contains(#""operation":"restart""#))
            let directory = RuntimeDirectory(path: cluster.directory.file("\(elsewhere)/run"))
            let client = try await ControlClient.connect(runtimeDirectory: directory)
            let last = try ControlJSON.decode(
                ControlEvent.self,
                from: try ControlJSON.parse(Array(try #require(events.split(separator: "\n").last).utf8))
            )
            let query = EventQuery(after: last.number, boot: last.boot, path: "/local", follows: true)
            let items = try await client.items(of: .onNode(owner, .events(query)))
            #expect(try await cluster.control(owner, "restart", "/local").exitCode == 0)
            guard case .items(let next)? = try? await items.next() else { throw Ended() }
            let event = try ControlJSON.decode(ControlEvent.self, from: try #require(next.first))
            #expect(event.boot == last.boot)
            #expect(event.number > last.number)
            client.close()

            // The owner alone has the letter.
            #expect(try await cluster.control(owner, "send", "/root/a", "Fixture.Refuse", #"{"asCodable":true}"#).exitCode == 0)
            try await cluster.eventually("the letter is there") {
                try await cluster.control(elsewhere, "dead-letters", "--node", owner).output.contains("Fixture.Refuse")
            }
            let letters = try await cluster.control(elsewhere, "dead-letters").output
            #expect(!letters.contains("Fixture.Refuse"))
            #expect(try await cluster.control(elsewhere, "metrics", "--node", owner).exitCode == 0)
            let unknown = try await cluster.control(elsewhere, "ps", "--node", "nobody")
            #expect(unknown.exitCode == 4 && unknown.errors.contains("nobody"), "\(unknown)")
            #expect(try await cluster.control(elsewhere, "ps", "--node", "").exitCode == 64)
        }
    }

    /// What a node has measured is read from another one, and who has looked is in the log of the node.
    @Test func aLookFromAnotherNodeIsLogged() async throws {
        let tree = Self.root + "\nobservability: { metrics: {} }"
        try await RunningCluster.with(tree, areLinked: true, logLevel: "info") { cluster in
            let owner = try await cluster.activeOwner(of: "/root")
            let elsewhere = try #require(others(owner).first)
            let asked = try await cluster.control(owner, "ask", "/root", "Fixture.Echo", #"{"text":"x"}"#)
            #expect(asked.exitCode == 0, "\(asked)")
            try await cluster.eventually("the ask was measured there alone") {
                let (there, here) = (
                    try await cluster.control(elsewhere, "metrics", "--node", owner).output,
                    try await cluster.control(elsewhere, "metrics").output
                )
                return there.contains("Fixture.Echo") && !here.contains("Fixture.Echo")
            }
            try await cluster.eventually("the look is in the log") {
                cluster.log(of: owner).split(separator: "\n").contains { line in
                    line.contains("an operator on another node looks at this one") && line.contains("operation=metrics ")
                        && line.contains("operator.node=\(elsewhere) ") && line.contains("operator.uid=\(geteuid()) ")
                }
            }
        }
    }

    /// A stream of another node waits while that is away, says so, and goes on with its next daemon.
    @Test func aStreamWaitsForItsNode() async throws {
        let local = "  - { name: local, program: { command: [/bin/sleep, 1000] } }\n"
        try await RunningCluster.with(Self.root + "\n" + local, areLinked: true) { cluster in
            let (output, errors) = (Transcript(), Transcript())
            let arguments = ["events", "--follow", "--path", "/local", "--node", "b"]
            let follower = cluster.controlSpecification("a", arguments, output.destination, errors.destination)
            try await withChild(follower) { _ in
                try await cluster.eventually("it has shown something") {
                    _ = try await cluster.control("b", "restart", "/local")
                    return output.text.contains("/local")
                }
                try await cluster.kill("b")
                try await cluster.eventually("it says that the node is gone") { errors.text.contains("b is gone; waiting") }
                try await cluster.eventually("the node has left") { try await cluster.nodes(from: "a").nodes.count == 2 }
                let count = output.text.count
                try await cluster.start("b")
                try await cluster.eventually("it shows the next daemon's events") {
                    _ = try await cluster.control("b", "restart", "/local")
                    return output.text.count > count
                }
                try await cluster.eventually("it has said so once") {
                    errors.text == "coordinatorctl: b is gone; waiting until it's back\ncoordinatorctl: b answers again\n"
                }
            }
        }
    }

    @Test func aNodeThatDoesntAnswerIsNamedInTime() async throws {
        try await RunningCluster.with(Self.root, settings: "  ttl: 15s", areLinked: true) { cluster in
            let owner = try await cluster.activeOwner(of: "/root")
            let elsewhere = try #require(others(owner).first)
            #expect(try await cluster.control(elsewhere, "ps").output.contains("/root"))
            // The link is there, and nobody answers: its lease is there for some seconds still.
            try await stopProcess(cluster.daemon(owner))
            let begin = MachineClock.now
            let list: ProcessList = try await cluster.answer(of: .ps, from: elsewhere)
            #expect(MachineClock.now - begin < .patient(.seconds(3)))
            #expect(list.missing?.map(\.node) == [owner])
            #expect(list.processes.allSatisfy { $0.node == elsewhere } && !list.processes.isEmpty)
            try cluster.daemon(owner).send(.continue)
        }
    }
}
