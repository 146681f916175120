import ConcurrencySupport
import Control
import CoordinatorsCluster
import Glibc
import Processes
import TestSupport
import Testing
import WireProtocol

/// Real daemons that pass operators' commands on to one another.
@Suite("Links of daemons", .sharedEtcd, .timeLimit(.minutes(5))) struct LinkTests {
    private static let ledger = """
          - name: ledger
            placement: cluster
            worker: { executable: FIXTURE, coordinator: LedgerCoordinator, configuration: { file: DIRECTORY/ledger } }
        """
    static let root = """
          - { name: root, placement: cluster, worker: { executable: FIXTURE, coordinator: RootCoordinator, configuration: { children: [a] } } }
        """

    private struct Place: Decodable, Sendable {
        var pid: Int32
        var fence: UInt64?
    }

    func others(_ name: String?) -> [String] { RunningCluster.names.filter { $0 != name } }

    @Test func anyNodeTakesCommandsAboutAnyPlacedChild() async throws {
        try await RunningCluster.with(Self.root, areLinked: true) { cluster in
            let owner = try await cluster.activeOwner(of: "/root")
            let elsewhere = try #require(others(owner).first)
            func status(_ path: String, from name: String) async throws -> TreeNode {
                try await cluster.answer(of: .status(path: path), from: name)
            }
            let there = try await status("/root", from: owner)
            let here = try await status("/root", from: elsewhere)
            #expect(here.pid == there.pid && here.isElsewhere == true && there.isElsewhere == nil)
            let ask = ControlOperation.ask(path: "/root/a", message: "Fixture.WhereAmI", payload: [:], timeout: .seconds(50))
            let answer: AskResult = try await cluster.answer(of: ask, from: elsewhere)
            let place = try ControlJSON.decode(Place.self, from: answer.reply)
            #expect(try await place.fence == cluster.place(of: "/root", from: owner).epoch)
            #expect(place.pid == there.pid)
            let trace = try await cluster.control(elsewhere, "ask", "--trace", "/root/a", "Fixture.Echo", #"{"text":"hello"}"#)
            #expect(trace.exitCode == 0 && trace.output.contains("hello") && trace.errors.contains("└ /root  responds"), "\(trace)")
            #expect(try await cluster.control(elsewhere, "send", "/root/a", "Fixture.Note", #"{"number":1}"#).exitCode == 0)
            // The subtree is drawn as its owner has it.
            let tree = try await cluster.control(elsewhere, "tree").output
            let pid = try #require(there.pid)
            #expect(tree.contains("active on \(owner)") && tree.contains("\(pid)"), "\(tree)")
            #expect(tree.split(separator: "\n").contains { $0.contains(" a ") && $0.contains("active") }, "\(tree)")
            // A change is made there, once, and its operator is known there.
            #expect(try await cluster.control(elsewhere, "restart", "/root").exitCode == 0)
            let next = try await status("/root", from: owner)
            #expect(next.incarnation == there.incarnation + 1 && next.pid != there.pid)
            #expect(try await cluster.control(elsewhere, "pause", "/root/a").exitCode == 0)
            #expect(try await status("/root/a", from: owner).state == "paused")
            #expect(try await cluster.control(elsewhere, "resume", "/root/a").exitCode == 0)
            #expect(try await status("/root/a", from: elsewhere).state == "active")
            let events = try await cluster.control(owner, "events", "--json").output
            let line = try #require(events.split(separator: "\n").first { $0.contains(#""operation":"restart""#) })
            #expect(
                line.contains(#""node":"\#(elsewhere)""#) && line.contains(#""command":"coordinatorctl""#)
                    && line.contains(#""uid":\#(geteuid())"#)
            )
            // Errors come back as they are.
            let missing = try await cluster.control(elsewhere, "status", "/root/nobody")
            #expect(missing.exitCode == 4, "\(missing)")
            let unhandled = try await cluster.control(elsewhere, "ask", "/root", "Nobody.Answers", "{}")
            #expect(unhandled.exitCode == 1 && unhandled.errors.contains("Nobody.Answers"), "\(unhandled)")
            #expect(try await cluster.control(elsewhere, "kill", "/root").exitCode == 0)
            try await cluster.eventually("it's restarted") { try await status("/root", from: elsewhere).incarnation > next.incarnation }
            // A stop is for all nodes, and a start tells of the child where it comes up.
            #expect(try await cluster.control(elsewhere, "stop", "/root").exitCode == 0)
            let started = try await cluster.control(elsewhere, "start", "/root")
            #expect(started.exitCode == 0 && started.output.hasPrefix("/root: active (pid "), "\(started)")
        }
    }

    /// Of a child with instances, those on other nodes too are replaced, one after the other.
    @Test func aRollingRestartReachesAllNodes() async throws {
        let web = """
              - name: web
                instances: 3
                placement: { apart: web }
                worker: { executable: FIXTURE, coordinator: RootCoordinator }
            """
        try await RunningCluster.with(web, areLinked: true) { cluster in
            let paths = (1...3).map { "/web-\($0)" }
            for path in paths { _ = try await cluster.activeOwner(of: path) }
            func processes() async throws -> [Int32] {
                var processes: [Int32] = []
                for path in paths {
                    let status: TreeNode = try await cluster.answer(of: .status(path: path), from: "b")
                    processes.append(try #require(status.pid))
                }
                return processes
            }
            let former = try await processes()
            #expect(Set(former).count == 3)
            let restart = try await cluster.control("a", "restart", "--rolling", "/web")
            #expect(restart.exitCode == 0, "\(restart)")
            for path in paths { #expect(restart.output.contains(path), "\(restart)") }
            #expect(Set(try await processes()).isDisjoint(with: former))
        }
    }

    @Test func logsComeFromTheOwner() async throws {
        let program = "{ command: [/bin/sh, -c, 'echo first line of NAME; while sleep 0.1; do echo another line of NAME; done'] }"
        try await RunningCluster.with("  - { name: talker, placement: cluster, program: \(program) }", areLinked: true) { cluster in
            let owner = try await cluster.activeOwner(of: "/talker")
            for name in RunningCluster.names {
                try await cluster.eventually("\(name) has the lines") {
                    try await cluster.control(name, "logs", "/talker").output.contains("first line of \(owner)")
                }
            }
            let elsewhere = try #require(others(owner).first)
            let client = try await ControlClient.connect(
                runtimeDirectory: RuntimeDirectory(path: cluster.directory.file("\(elsewhere)/run"))
            )
            let items = try await client.items(of: .logs(LogQuery(paths: ["/talker"], lines: 0, follows: true)))
            for _ in 0..<3 {
                guard case .items(let lines) = try await items.next() else { throw Ended() }
                #expect("\(lines)".contains("another line of \(owner)"))
            }
            client.close()
        }
    }

    struct Ended: Error {}

    /// Asks that go on until they are told not to, and what has become of each.
    private final class Asking: Sendable {
        let isOver = Lock(false)
        let outcomes = Lock<[String: ControlError?]>([:])
    }

    /// Entries are asked for through all nodes while the ledger moves: each is made once, or ends with an error.
    @Test func aMovingSubtreeDoublesNothing() async throws {
        try await RunningCluster.with(Self.ledger, areLinked: true) { cluster in
            var owner = try await cluster.activeOwner(of: "/ledger")
            let asking = Asking()
            try await withThrowingTaskGroup(of: Void.self) { group in
                defer { asking.isOver.withLock { $0 = true } }
                for (sender, name) in RunningCluster.names.enumerated() {
                    group.addTask {
                        let directory = RuntimeDirectory(path: cluster.directory.file("\(name)/run"))
                        let client = try await ControlClient.connect(runtimeDirectory: directory)
                        var number: Int64 = 0
                        while !asking.isOver.withLock({ $0 }) {
                            let payload: JSONValue = ["sender": .integer(Int64(sender)), "number": .integer(number), "milliseconds": 0]
                            let ask = ControlOperation.ask(
                                path: "/ledger",
                                message: "Ledger.Enter",
                                payload: payload,
                                timeout: .seconds(10)
                            )
                            var failure: ControlError?
                            do throws(ControlError) { _ = try await client.call(ask) } catch { failure = error }
                            asking.outcomes.withLock { $0["\(sender) \(number)"] = .some(failure) }
                            number += 1
                        }
                    }
                }
                for _ in 0..<4 {
                    let former = owner
                    let target = try #require(others(owner).randomElement())
                    #expect(try await cluster.control("a", "move", "/ledger", target).exitCode == 0)
                    owner = try await cluster.activeOwner(of: "/ledger", besides: former)
                    let count = asking.outcomes.withLock { $0.count }
                    try await cluster.eventually("asks go on") { asking.outcomes.withLock { $0.count } > count + 30 }
                }
                asking.isOver.withLock { $0 = true }
                try await group.waitForAll()
            }
            let lines = (Files.text(of: cluster.directory.file("ledger")) ?? "").split(separator: "\n")
            let entries = lines.map { $0.split(separator: " ").suffix(2).joined(separator: " ") }
            #expect(Set(entries).count == entries.count, "an entry was made twice")
            let asked = asking.outcomes.withLock { $0 }
            let failures = asked.compactMap(\.value)
            for (entry, failure) in asked where failure == nil {
                #expect(entries.contains(entry), "\(entry) was answered and isn't there")
            }
            print(
                "\(asked.count) asks through three nodes while the subtree moved four times: \(failures.count) failed: \(Set(failures.map(\.message)))"
            )
            #expect(failures.allSatisfy { $0.code != .notHere })
            #expect(failures.count <= 24, "each move ends the asks that are open, of three operators")
        }
    }

    @Test func aRequestUnderAnotherEpochIsRefused() async throws {
        try await RunningCluster.with(Self.ledger, areLinked: true) { cluster in
            let owner = try await cluster.activeOwner(of: "/ledger")
            let epoch = try #require(try await cluster.place(of: "/ledger", from: "a").epoch)
            try await Guest.with(cluster) { guest in
                func entry(_ number: Int64, _ epoch: UInt64, at name: String) async throws -> NodeLinks.Failure? {
                    let payload: JSONValue = ["sender": 9, "number": .integer(number), "milliseconds": 0]
                    return try await guest.failure(
                        .ask(path: "/ledger", message: "Ledger.Enter", payload: payload, timeout: .seconds(50)),
                        epoch,
                        at: name
                    )
                }
                let known = epoch
                #expect(try await entry(1, epoch, at: owner) == nil)
                for (number, (epoch, name)) in [(epoch - 1, owner), (epoch + 1000, owner), (epoch, try #require(others(owner).first))]
                    .enumerated()
                {
                    guard case .answered(let error)? = try await entry(Int64(number) + 2, epoch, at: name) else {
                        Issue.record("an epoch that isn't the owner's was taken, or something else has failed")
                        continue
                    }
                    #expect(error.code == .notHere && error.epoch == known)
                }
                let lines = (Files.text(of: cluster.directory.file("ledger")) ?? "").split(separator: "\n")
                #expect(lines.count == 1)
                // What is neither about a subtree of the cluster nor a look at the node isn't for nodes to request.
                for operation in [
                    ControlOperation.shutdown(), .tree, .configurationApplication(file: nil), .drain(node: owner, isDraining: true),
                    .nodes, .status(path: "/"), .onNode("a", .ps), .logs(LogQuery(paths: ["/"])),
                ] {
                    guard case .answered(let error)? = try await guest.failure(operation, epoch, at: owner) else {
                        Issue.record("\(operation.name) was carried out")
                        continue
                    }
                    #expect(error.code == .notPermitted)
                }
            }
        }
    }

    /// Certificates that are replaced are read by SIGHUP, and by `config apply`; bad ones change nothing.
    @Test func newCertificatesAreUsedWithoutAStart() async throws {
        try await RunningCluster.with(Self.root, areLinked: true) { cluster in
            let certificates = try #require(cluster.certificates)
            let owner = try await cluster.activeOwner(of: "/root")
            let elsewhere = try #require(others(owner).first)
            let file = "\(certificates.directory)/\(owner)"
            #expect(try await cluster.control(elsewhere, "ps", "--node", owner).exitCode == 0)
            // Another one's key.
            let key = try certificates.text("\(owner).key")
            try Files.write(try certificates.text("\(elsewhere).key"), to: "\(file).key")
            try cluster.daemon(owner).send(.hangup)
            try await cluster.eventually("it says so") { cluster.log(of: owner).contains("the former ones stay in use") }
            #expect(!cluster.log(of: owner).contains("are in use\""))
            #expect(try await cluster.control(elsewhere, "events", "--node", owner).exitCode == 0)
            try Files.write(key, to: "\(file).key")
            // The others' authority is replaced on this node alone: it can't be a node of theirs any more.
            let strangers = try await Certificates(owner)
            for name in ["ca.crt", "\(owner).crt", "\(owner).key"] {
                try Files.write(try strangers.text(name), to: "\(certificates.directory)/\(name)")
            }
            #expect(try await cluster.control(owner, "config", "apply").exitCode == 0)
            try await cluster.eventually("it says so") { cluster.log(of: owner).contains("new certificates and secrets") }
            // The connection that there is stays; a stream has a new one.
            #expect(try await cluster.control(elsewhere, "ps", "--node", owner).exitCode == 0)
            let refused = try await cluster.control(elsewhere, "events", "--node", owner)
            #expect(refused.exitCode != 0, "\(refused)")
            // The others get the same authority, and certificates by it.
            for name in RunningCluster.names where name != owner {
                let directory = certificates.directory
                for ending in ["crt", "key"] { unlink("\(directory)/\(name).\(ending)") }
            }
            try Files.write(try strangers.text("ca.key"), to: "\(certificates.directory)/ca.key")
            let made = try await BuiltProgram(path: Files.packageRoot + "/Deploy/certificates").run(
                [certificates.directory] + others(owner)
            )
            #expect(made.exitCode == 0, "\(made)")
            for name in others(owner) { #expect(try await cluster.control(name, "config", "apply").exitCode == 0) }
            let again = try await cluster.control(elsewhere, "events", "--node", owner)
            #expect(again.exitCode == 0, "\(again)")
        }
    }

    /// A new token is read by SIGHUP; a node that still has the former one gets nothing new.
    @Test func aNewTokenIsUsedWithoutAStart() async throws {
        try await RunningCluster.with(Self.root, areLinked: true) { cluster in
            try Files.write("another secret of this test\n", to: cluster.directory.file("token"))
            try cluster.daemon("a").send(.hangup)
            try await cluster.eventually("it says so") { cluster.log(of: "a").contains("new certificates and secrets") }
            let refused = try await cluster.control("b", "events", "--node", "a")
            #expect(refused.exitCode != 0, "\(refused)")
            let others = try await cluster.control("b", "events", "--node", "c")
            #expect(others.exitCode == 0, "\(others)")
            for name in ["b", "c"] { try cluster.daemon(name).send(.hangup) }
            for (from, to) in [("b", "a"), ("a", "c"), ("c", "b")] {
                try await cluster.eventually("\(from) looks at \(to)") {
                    try await cluster.control(from, "events", "--node", to).exitCode == 0
                }
            }
        }
    }

    @Test func anOpenAskEndsWithItsOwnersDaemon() async throws {
        try await RunningCluster.with(Self.root, areLinked: true) { cluster in
            var owner = try await cluster.activeOwner(of: "/root")
            // Killed, and stopped, which only pings can tell.
            for (signal, limit) in [(Signal.kill, Duration.seconds(2)), (.stop, .seconds(8))] {
                let elsewhere = try #require(others(owner).first)
                async let ended = cluster.control(elsewhere, "ask", "/root", "Fixture.Wait", "{}", "--timeout", "50s")
                try await cluster.eventually("the ask is being handled") {
                    let status: TreeNode = try await cluster.answer(of: .status(path: "/root"), from: elsewhere)
                    return status.mailbox?.running ?? 0 > 0
                }
                let begin = MachineClock.now
                try cluster.daemon(owner).send(signal)
                let outcome = try await ended
                #expect(MachineClock.now - begin < .patient(limit), "\(signal)")
                #expect(
                    outcome.exitCode == 1 && outcome.errors.contains("peerLost") && outcome.errors.contains("unknown"),
                    "\(outcome)"
                )
                let former = owner
                try await cluster.activeOwner(of: "/root", besides: former, for: others(former))
                if signal == .stop { try cluster.daemon(former).send(.continue) } else { try await cluster.start(former) }
                try await cluster.eventually("the node is back") { try await cluster.nodes(from: former).membership == "member" }
                owner = try await cluster.activeOwner(of: "/root")
            }
        }
    }

    /// It's a node by the store's word, and has the cluster's certificates.
    @Test func aDaemonWithAnotherTokenGetsNothing() async throws {
        try await RunningCluster.with(Self.root, areLinked: true) { cluster in
            try Files.write("another secret of a test\n", to: cluster.directory.file("other"))
            _ = try await cluster.daemon("c").terminate(grace: .seconds(10))
            try cluster.configure("c", Self.root, token: cluster.directory.file("other"))
            try await cluster.start("c")
            try await cluster.eventually("it's a member") { try await cluster.nodes(from: "a").nodes.count == 3 }
            #expect(try await cluster.control("a", "move", "/root", "b").exitCode == 0)
            try await cluster.eventually("b has it") {
                let status: TreeNode = try await cluster.answer(of: .status(path: "/root"), from: "a")
                return status.state == "active" && status.clusterNode == "b"
            }
            try await cluster.eventually("c knows") { try await cluster.place(of: "/root", from: "c").node == "b" }
            let refused = try await cluster.control("c", "restart", "/root")
            #expect(refused.exitCode == 77 && refused.errors.contains("doesn't welcome this node"), "\(refused)")
            #expect(try await cluster.control("c", "tree").output.contains("on b"))
            #expect(try await cluster.control("a", "restart", "/root").exitCode == 0)
            #expect(cluster.log(of: "b").contains("a connection of a stranger was refused"))
            #expect(cluster.log(of: "b").contains("it has another token"))
            let others = ["a", "b", "c"].map { cluster.log(of: $0) }.joined()
            #expect(!others.contains(RunningCluster.token) && !others.contains("another secret"))
        }
    }

    @Test func aDaemonThatCantListenDoesntStart() async throws {
        try await RunningCluster.with("  []", areLinked: true) { cluster in
            let address = try #require(try await Guest.address(of: "a", in: cluster))
            let file = cluster.directory.file("b/tree.yaml")
            let text = try #require(Files.text(of: file)).replacing("127.0.0.1:0", with: address.description)
            try Files.write(text, to: cluster.directory.file("taken.yaml"))
            let ended = try await BuiltProgram("coordinatord").run(
                ["--config", cluster.directory.file("taken.yaml"), "--runtime-dir", cluster.directory.file("taken")]
            )
            #expect(ended.exitCode != 0 && ended.errors.contains(address.description), "\(ended)")
        }
    }
}
