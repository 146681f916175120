import ConcurrencySupport
import Control
import CoordinatorsCluster
import Glibc
import Processes
import TestSupport
import Testing
import WireProtocol

/// Real daemons as nodes of a cluster, on a real etcd, with harm to each part.
@Suite(.sharedEtcd, .timeLimit(.minutes(5))) struct NodeTests {
    private static let clock = "  - { name: clock, placement: cluster, program: APPENDER }"
    /// The key of the owner.
    private func ownerKey(_ cluster: RunningCluster) -> String { "/coordinators/\(cluster.cluster)/owners/clock" }

    /// Another node, which is asked about the owner.
    private func other(_ name: String) throws -> String { try #require(RunningCluster.names.first { $0 != name }) }

    @Test func aKilledDaemonsSubtreeComesUpElsewhere() async throws {
        let rounds = TestSupport.rounds(short: 1, all: 1, long: 20)
        var times: [Duration] = []
        try await RunningCluster.with(Self.clock) { cluster in
            for _ in 0..<rounds {
                let place = try await cluster.owner(from: "a")
                let node = try #require(place.node)
                let begin = ContinuousClock.now
                try await cluster.kill(node)
                let next = try await cluster.owner(besides: node, from: try other(node))
                times.append(ContinuousClock.now - begin)
                #expect(try #require(next.epoch) > place.epoch ?? 0)
                try await cluster.start(node)
                let others = try other(node)
                try await cluster.eventually("the node is back") { try await cluster.nodes(from: others).nodes.count == 3 }
                try await cluster.eventually("the daemon answers") { try await cluster.nodes(from: node).membership == "member" }
            }
            #expect(cluster.refusals().isEmpty)
        }
        times.sort()
        print("failover after kill -9, \(rounds) times: p50 \(times[times.count / 2]), worst \(times[times.count - 1])")
        #expect(times[times.count - 1] < .seconds(20))
    }

    /// A worker of an ordinary child lives on for the orphan grace; those of the cluster must not.
    @Test func aKilledDaemonsWorkersDieWithIt() async throws {
        let configuration = "{ children: [a], placement: worker }"
        let worker = "worker: { executable: FIXTURE, coordinator: RootCoordinator, configuration: \(configuration) }"
        let children = "  - { name: root, placement: cluster, \(worker) }\n  - { name: local, \(worker) }"
        try await RunningCluster.with(children) { cluster in
            var owner: SubtreeLocation?
            try await cluster.eventually("a node owns the worker") {
                owner = try await cluster.place(of: "/root", from: "a")
                guard let node = owner?.node else { return false }
                let below: TreeNode = try await cluster.answer(of: .status(path: "/root/a"), from: node)
                return below.state == "active"
            }
            let node = try #require(owner?.node)
            var places: [String: Place] = [:]
            for path in ["/root", "/root/a", "/local"] {
                let ask = ControlOperation.ask(path: path, message: "Fixture.WhereAmI", payload: [:], timeout: .seconds(50))
                let result: AskResult = try await cluster.answer(of: ask, from: node)
                places[path] = try ControlJSON.decode(Place.self, from: result.reply)
            }
            #expect(places["/root"]?.fence == owner?.epoch && places["/root/a"]?.fence == owner?.epoch)
            #expect(places["/local"]?.fence == nil)
            let pids = try places.mapValues { try #require(ProcessIdentity(processID: $0.pid)) }
            try await cluster.kill(node)
            for path in ["/root", "/root/a"] {
                try await cluster.eventually("the cluster's worker \(path) is gone") { pids[path]?.isAlive == false }
            }
            #expect(pids["/local"]?.isAlive == true, "an ordinary worker waits for the next daemon")
        }
    }

    private struct Place: Decodable, Sendable {
        var pid: Int32
        var fence: UInt64?
    }

    /// The daemon is stopped alone, so its child goes on: a gate refuses what it writes, and the daemon ends it before anything else.
    @Test func aStoppedDaemonFencesItself() async throws {
        try await RunningCluster.with(Self.clock) { cluster in
            let place = try await cluster.owner(from: "a")
            let node = try #require(place.node)
            try await stopProcess(cluster.daemon(node))
            let next = try await cluster.owner(besides: node, from: try other(node))
            try cluster.daemon(node).send(.continue)
            let old = try #require(cluster.lines.last { $0.epoch == place.epoch }).pid
            try await cluster.eventually("the old owner's process is gone") { Glibc.kill(old, 0) != 0 }
            try await cluster.eventually("the node is a member again") { try await cluster.nodes(from: node).membership == "member" }
            #expect(cluster.refusals().allSatisfy { $0.epoch == place.epoch })
            #expect(try await cluster.place(of: "/clock", from: node).epoch == next.epoch)
        }
    }

    /// What a machine's sleep does to its clocks, one after the other: only the one that counts it ends a lease, and that at once.
    @Test(.enabled(if: SteppedClocks.canBeBuilt, "needs a C compiler"))
    func aMachineThatHasSleptFencesAtOnce() async throws {
        let clocks = try await SteppedClocks()
        try await RunningCluster.with(Self.clock, settings: Self.longLease, logLevel: "notice", clocks: clocks) { cluster in
            // The first renewal, a third of the time to live later, is also when the child gets its node.
            for clock in [CLOCK_REALTIME, CLOCK_MONOTONIC] { try clocks.step(clock, by: 3_600) }
            let place = try await cluster.owner(from: "a")
            let node = try #require(place.node)
            #expect(!cluster.log(of: node).contains("has lost its lease"))
            let old = try #require(cluster.lines.last { $0.epoch == place.epoch }).pid
            let began = MachineClock.now
            try clocks.step(CLOCK_BOOTTIME, by: 3_600)
            try await cluster.eventually("the child has ended") { Glibc.kill(old, 0) != 0 }
            // The next renewal would be five seconds after the last.
            #expect(MachineClock.now - began < .patient(.seconds(2.5)))
            // The log is written after what it tells of has begun.
            try await cluster.eventually("the log has it") { cluster.log(of: node).contains("has lost its lease") }
            try await cluster.eventually("it runs under another lease") { cluster.lines.last.map { $0.epoch > place.epoch ?? 0 } == true }
            #expect(cluster.refusals().isEmpty)
        }
    }

    /// The JSON of the commands about nodes and places is what `Deploy/schema` says, without a member that it doesn't know.
    @Test(.enabled(if: SchemaCheck.python != nil, "COORDINATORS_TEST_PYTHON names a Python that has the package jsonschema"))
    func outputsFollowTheirSchemas() async throws {
        let settings = "  labels: { disk: ssd }\n  capacity: 5"
        let lost = "  - { name: lost, placement: { labels: { disk: tape } }, program: { command: [/bin/sleep, '9999'] } }"
        try await RunningCluster.with("\(Self.clock)\n\(lost)", settings: settings) { cluster in
            let node = try #require(try await cluster.owner(from: "a").node)
            let target = try other(node)
            for (schema, arguments) in [
                ("nodes", ["nodes"]), ("where", ["where", "/clock"]), ("where", ["where", "/lost"]),
                ("where", ["move", "/clock", target]), ("where", ["where", "/clock"]), ("nodes", ["drain", node]),
                ("nodes", ["nodes"]), ("nodes", ["uncordon", node]),
            ] {
                let ended = try await cluster.control("a", arguments + ["--json"])
                // A subtree that no node owns doesn't run; one that moves has no owner for a moment.
                let isOwned = schema == "nodes" || arguments[0] == "move" || ended.output.contains(#""node":"#)
                #expect(ended.exitCode == (isOwned ? 0 : 3) && (isOwned || arguments[0] == "where"), "\(arguments): \(ended)")
                #expect(try await SchemaCheck.problems(of: ended.output, schema) == "", "\(arguments): \(ended.output)")
                print("$ coordinatorctl \(arguments.joined(separator: " ")) --json\n\(ended.output)", terminator: "")
            }
            // What the schemas leave open was there.
            let list = try await cluster.nodes(from: "a")
            #expect(list.nodes.allSatisfy { $0.labels == ["disk": "ssd"] && $0.capacity == 5 })
            try await cluster.eventually("only /lost has no node") { try await cluster.nodes(from: "a").homeless == ["/lost"] }
            #expect(try await cluster.place(of: "/clock", from: "a").pinned == target)
        }
    }

    /// What the store has is input: no daemon ends by it, each names what it ignores, and what runs isn't touched.
    @Test func entriesThatCannotBeReadAreNamed() async throws {
        let heavy = #"{"labels":{},"moves":3,"weight":9223372036854775807}"#
        let entries = [
            "desired/1": heavy, "desired/2": heavy, "desired/3": heavy, "desired/4": #"{"labels":{},"moves":-1,"weight":1}"#,
            // What runs: neither what it wants nor where it is can be read any more.
            "desired/clock": "[", "assign/clock": "{}", "leader": "me",
            "nodes/ghost": #"{"address":"","capacity":-9223372036854775808,"isDraining":false,"labels":{},"name":"ghost","version":""}"#,
            "nodes/double": #"{"address":"","capacity":0,"isDraining":false,"labels":{},"name":"a","version":""}"#,
            "owners/2": #"{"address":"","incarnation":-1,"node":"a"}"#,
        ]
        // The leader writes its own entries anew.
        let ignored = entries.keys.filter { $0 != "assign/clock" }.sorted()
        try await RunningCluster.with(Self.clock, logLevel: "warning") { cluster in
            let place = try await cluster.owner(from: "a")
            for (key, value) in entries { try await put(key, value, cluster) }
            try await cluster.eventually("the leader has written what's its own") {
                try await EtcdMembers.shared.etcdctl("get", "--print-value-only", "/coordinators/\(cluster.cluster)/assign/clock") != "{}\n"
            }
            for name in RunningCluster.names {
                try await cluster.eventually("\(name) names what it ignores") { try await cluster.nodes(from: name).unreadable == ignored }
                let metrics: TreeMetrics = try await cluster.answer(of: .metrics, from: name)
                #expect(metrics.unreadableEntries == ignored.count)
                for key in entries.keys where key != "assign/clock" {
                    try await cluster.eventually("\(name) logs \(key)") { cluster.log(of: name).contains(key) }
                }
            }
            #expect(try await cluster.place(of: "/clock", from: "a").epoch == place.epoch, "it was moved or stopped")
            let text = try await cluster.control("a", "nodes").output
            #expect(text.contains("ignored, because they can't be read: \(ignored.joined(separator: " "))"), "\(text)")
        }
    }

    private func put(_ key: String, _ value: String, _ cluster: RunningCluster) async throws {
        try await EtcdMembers.shared.etcdctl("put", "/coordinators/\(cluster.cluster)/\(key)", value)
    }

    /// Of nodes whose hand-overs wait for no lease: a busy machine is told from one by the time that a hand-over takes.
    private static let longLease = "  ttl: 15s"

    @Test func drainsAndMovesHandOverAtOnce() async throws {
        let web = "  - { name: web, instances: 3, placement: { apart: web }, program: { command: [/bin/sleep, '9999'] } }"
        let children = "\(Self.clock)\n\(web)"
        try await RunningCluster.with(children, settings: Self.longLease) { cluster in
            let place = try await cluster.owner(from: "a")
            let node = try #require(place.node)
            // One node, one instance.
            try await cluster.eventually("each node has an instance") {
                try await cluster.nodes(from: "a").nodes.allSatisfy { $0.subtrees.count { $0.hasPrefix("/web-") } == 1 }
            }
            let instances = try await cluster.nodes(from: "a").nodes.compactMap { entry in
                entry.subtrees.first { $0.hasPrefix("/web-") }.map { (entry.name, $0) }
            }
            let web = Dictionary(uniqueKeysWithValues: instances)
            var begin = MachineClock.now
            let drained = try await cluster.control("b", "drain", node)
            // What can't leave is told at once, and there is nothing to wait for once all else has left.
            let stuck = "can't leave \(node): \(try #require(web[node])): "
            #expect(drained.exitCode == 0 && drained.output.contains(stuck), "\(drained)")
            let second = try await cluster.owner(besides: node, from: "b")
            #expect(MachineClock.now - begin < .seconds(10), "nothing waits for a lease")
            let waited = try await cluster.control("b", "drain", "--wait", node)
            #expect(waited.exitCode == 1 && waited.output.contains(stuck), "\(waited)")
            #expect(waited.errors.contains("\(node) isn't empty: \(web[node] ?? "") can't leave it"), "\(waited)")
            let refused = try await cluster.control("c", "move", "/clock", node)
            #expect(refused.exitCode == 1 && refused.errors.contains("\(node) drains"), "\(refused)")
            #expect(try await cluster.control("c", "uncordon", node).exitCode == 0)
            let crowded = try await cluster.control("c", "move", try #require(web[try other(node)]), node)
            #expect(crowded.exitCode == 1 && crowded.errors.contains("\(node) has \(web[node] ?? "")"), "\(crowded)")
            begin = .now
            #expect(try await cluster.control("c", "move", "/clock", node).exitCode == 0)
            let third = try await cluster.owner(besides: try #require(second.node), from: "c")
            #expect(third.node == node && third.pinned == node)
            #expect(MachineClock.now - begin < .seconds(10))
            // What isn't here is refused, and marked.
            let elsewhere = try #require(RunningCluster.names.first { $0 != node })
            let refusal = try await cluster.control(elsewhere, "restart", "/clock")
            #expect(refusal.exitCode == 3 && refusal.errors.contains("is on \(node)"))
            #expect(try await cluster.control(elsewhere, "tree").output.contains("on \(node)"))
            #expect(try await cluster.control("a", "move", "/clock", "nobody").exitCode == 4)
            #expect(cluster.refusals().isEmpty)
        }
    }

    /// What keeps a subtree from a node: what the node is, what it can run, and that it's gone.
    @Test func aMoveThatCannotBeSaysWhy() async throws {
        let lost = "  - { name: lost, placement: { labels: { disk: tape } }, program: { command: [/bin/sleep, '9999'] } }"
        let web = "  - { name: web, instances: 3, placement: { apart: web }, program: { command: [/bin/sleep, '9999'] } }"
        try await RunningCluster.with("\(Self.clock)\n\(lost)\n\(web)") { cluster in
            // A node whose file has no more than one of the children.
            _ = try await cluster.daemon("c").terminate(grace: .patient(.seconds(10)))
            try cluster.configure("c", web)
            try await cluster.start("c")
            try await cluster.eventually("all know c, which has an instance") {
                for name in RunningCluster.names {
                    let nodes = try await cluster.nodes(from: name).nodes
                    guard nodes.count == 3, nodes.contains(where: { $0.name == "c" && !$0.subtrees.isEmpty }) else { return false }
                }
                return true
            }
            for (path, reason) in [("/clock", "has no child /clock"), ("/lost", "c lacks the label disk=tape")] {
                let moved = try await cluster.control("a", "move", path, "c")
                #expect(moved.exitCode == 1 && moved.errors.contains("\(path) can't move to c: "), "\(moved)")
                #expect(moved.errors.contains(reason), "\(moved)")
            }
            try await cluster.owner(besides: "c", from: "a")
            try await cluster.eventually("the pin is as before") { try await cluster.place(of: "/clock", from: "a").pinned == nil }
            #expect(try await cluster.control("a", "where", "/clock").output.contains("failed on c ("))

            let instance = try #require(try await cluster.nodes(from: "a").nodes.first { $0.name == "c" }?.subtrees.first)
            try await cluster.kill("c")
            try await cluster.eventually("a knows that c is gone") { try await cluster.nodes(from: "a").nodes.count == 2 }
            let place = try await cluster.control("a", "where", instance)
            #expect(place.exitCode == 3 && place.output.contains("on no node; no node may have it: a has /web-"), "\(place)")
            #expect(!place.output.contains("moves to"), "\(place)")
            #expect(try await cluster.control("a", "nodes").output.contains("on no node: \(instance): a has /web-"))
            #expect(try await cluster.control("a", "move", instance, "c").exitCode == 4)
        }
    }

    /// One command, on any node, for all nodes: whatever becomes of them, the child stays stopped.
    @Test func aStoppedChildStaysStopped() async throws {
        try await RunningCluster.with(Self.clock) { cluster in
            let place = try await cluster.owner(from: "a")
            let node = try #require(place.node)
            let (others, etcd) = (try other(node), try EtcdMembers.shared)
            let old = try #require(cluster.lines.last { $0.epoch == place.epoch }).pid
            for asked in [others, node] {
                let stopped = try await cluster.control(asked, "stop", "/clock")
                #expect(stopped.exitCode == 0 && stopped.output.hasPrefix("/clock: inactive"), "\(stopped)")
            }
            #expect(Glibc.kill(old, 0) != 0, "it still runs")
            let key = "/coordinators/\(cluster.cluster)/desired/clock"
            #expect(try await etcd.etcdctl("get", "--print-value-only", key).contains(#""stopped":true"#))
            let count = cluster.lines.count
            // All daemons, so the leader too: who comes next finds the stop in the store.
            for name in RunningCluster.names {
                try await cluster.kill(name)
                try await cluster.start(name)
            }
            for name in RunningCluster.names {
                try await cluster.eventually("\(name) is a member, and knows a leader") {
                    let list = try await cluster.nodes(from: name)
                    return list.membership == "member" && list.nodes.count == 3 && list.nodes.contains(where: \.leads)
                }
                let told = try await cluster.control(name, "where", "/clock")
                #expect(told.exitCode == 3 && told.output.contains("on no node, stopped on all nodes"), "\(told)")
                #expect(try await cluster.control(name, "nodes").output.contains("stopped on all nodes: /clock"))
            }
            let refused = try await cluster.control("a", "restart", "/clock")
            #expect(refused.exitCode == 3 && refused.errors.contains("coordinatorctl start /clock"), "\(refused)")
            #expect(cluster.lines.count == count, "it has run")

            let started = try await cluster.control(others, "start", "/clock")
            #expect(started.exitCode == 0, "\(started)")
            let next = try await cluster.owner(from: "a")
            #expect(try #require(next.epoch) > place.epoch ?? 0 && next.isStopped == nil)
            #expect(try await !etcd.etcdctl("get", "--print-value-only", key).contains("stopped"))
            let leaving = try #require(next.node)
            try await cluster.eventually("a drain that can be carried out ends when it's done") {
                try await cluster.control("b", "drain", "--wait", leaving).exitCode == 0
            }
            #expect(try await cluster.nodes(from: "b").nodes.first { $0.name == next.node }?.subtrees == [])
            #expect(cluster.refusals().isEmpty)
        }
    }

    @Test func aDaemonThatEndsHandsOverAtOnce() async throws {
        try await RunningCluster.with(Self.clock, settings: Self.longLease) { cluster in
            let node = try #require(try await cluster.owner(from: "a").node)
            let begin = MachineClock.now
            _ = try await cluster.daemon(node).terminate(grace: .patient(.seconds(10)))
            try await cluster.owner(besides: node, from: try other(node))
            #expect(MachineClock.now - begin < .seconds(10), "nothing waits for a lease")
            #expect(cluster.refusals().isEmpty)
        }
    }

    @Test func foreignHandsAreSafe() async throws {
        try await RunningCluster.with(Self.clock) { cluster in
            var place = try await cluster.owner(from: "a")
            let etcd = try EtcdMembers.shared
            try await etcd.etcdctl("del", ownerKey(cluster))
            place = try await cluster.eventuallyAfter(place)
            let listing = try await etcd.etcdctl("get", ownerKey(cluster), "-w", "fields")
            let lease = try #require(
                listing.split(separator: "\n").first { $0.hasPrefix("\"Lease\"") }?.split(separator: " ").last.flatMap { Int64($0) }
            )
            try await etcd.etcdctl("lease", "revoke", String(lease, radix: 16))
            place = try await cluster.eventuallyAfter(place)
            // A competing claim of a node that doesn't exist: nothing runs until it's taken away.
            let epoch = try #require(place.epoch)
            try await etcd.etcdctl("put", ownerKey(cluster), #"{"address":"","incarnation":0,"node":"stranger"}"#)
            let old = try #require(cluster.lines.last { $0.epoch == epoch }).pid
            try await cluster.eventually("the owner has stopped") { Glibc.kill(old, 0) != 0 }
            try await etcd.etcdctl("del", ownerKey(cluster))
            _ = try await cluster.eventuallyAfter(place)
            for line in cluster.refusals() { Issue.record("written under an older epoch: \(line)") }
        }
    }

    @Test func aSubtreeThatFailsIsMovedOn() async throws {
        // It fails wherever a file says so.
        let program = "{ command: [/bin/sh, -c, 'test ! -e FAILING/fails-NAME && exec sleep 9999'] }"
        let limits = "restart_limits: { max_restarts: 2, period: 60s, backoff: { minimum: 10ms, maximum: 10ms } }"
        let failing = try TemporaryDirectory()
        let child = "  - { name: clock, placement: { moves: 1 }, \(limits), program: \(program) }"
        try await RunningCluster.with(child.replacing("FAILING", with: failing.path)) { cluster in
            func runs(besides former: String? = nil) async throws -> String {
                var node: String?
                try await cluster.eventually("it runs on another node than \(former ?? "none")") {
                    node = try await cluster.place(of: "/clock", from: "a").node
                    guard let node, node != former else { return false }
                    let status: TreeNode = try await cluster.answer(of: .status(path: "/clock"), from: node)
                    return status.state == "active"
                }
                return try #require(node)
            }
            let node = try await runs()
            try Files.write("", to: failing.file("fails-\(node)"))
            // By the time of the answer it may have failed here for good, which the command tells as a failure.
            _ = try await cluster.control(node, "kill", "/clock")
            let second = try await runs(besides: node)
            #expect(try await cluster.place(of: "/clock", from: "a").failedOn == [node])
            for name in RunningCluster.names { try Files.write("", to: failing.file("fails-\(name)")) }
            _ = try await cluster.control(second, "kill", "/clock")
            try await cluster.eventually("it's given up") { try await cluster.place(of: "/clock", from: "a").isGivenUp }
            for name in RunningCluster.names { unlink(failing.file("fails-\(name)")) }
            #expect(try await cluster.control("a", "move", "/clock", node).exitCode == 0)
            try await cluster.eventually("an operator has it tried again") {
                try await cluster.place(of: "/clock", from: "a").node == node
            }
        }
        withExtendedLifetime(failing) {}
    }
}

/// The same with an etcd that is stopped.
@Suite(.timeLimit(.minutes(5))) struct StoreLossTests {
    @Test("A store that never answers is warned of once, and tried again and again")
    func noStore() async throws {
        let directory = try TemporaryDirectory()
        let store = "http://127.0.0.1:\(try FreePort.find())"
        let text = "{ cluster: { name: none, node: a, endpoints: ['\(store)'], ttl: 3s }, children: [] }"
        try Files.write(text, to: directory.file("tree.yaml"))
        let said = Lock("")
        let daemon = ProcessSpecification(
            executable: BuiltProgram("coordinatord").path,
            arguments: ["--config", directory.file("tree.yaml"), "--runtime-dir", directory.file("run"), "--log-level", "debug"],
            standardOutput: .null,
            standardError: .captured { bytes in said.withLock { $0 += String(decoding: bytes, as: UTF8.self) } }
        )
        try await withChild(daemon) { _ in
            func tries() -> [Substring] { said.withLock { $0 }.split(separator: "\n").filter { $0.contains("can't join the cluster yet") } }
            try await eventually("it has tried three times") { tries().count >= 3 }
            #expect(tries().count { $0.contains(" warning ") } == 1)
            let list = try await BuiltProgram("coordinatorctl").run(["--runtime-dir", directory.file("run"), "nodes"])
            #expect(list.output.contains("Couldn't connect to server). What follows was seen last"), "\(list)")
        }
    }

    @Test func nodesFenceThemselvesAndComeBack() async throws {
        try await EtcdMembers.with(1) { etcd in
            try await RunningCluster.with(
                "  - { name: clock, placement: cluster, program: APPENDER }",
                endpoints: etcd.endpoints
            ) { cluster in
                let place = try await cluster.owner(from: "a")
                let old = try #require(cluster.lines.last).pid
                let begin = ContinuousClock.now
                try await stopProcess(etcd.members[0].process)
                try await cluster.eventually("the owner has stopped") { Glibc.kill(old, 0) != 0 }
                #expect(ContinuousClock.now - begin < .seconds(3.5), "before the store may give the subtree away")
                // What isn't known any more is said first, what was done with its reason, and by whose wish.
                let node = try #require(place.node)
                let list = try await cluster.control(node, "nodes")
                #expect(list.output.hasPrefix("this daemon isn't a member of the cluster at present (joining): "), "\(list)")
                #expect(list.output.contains("was ready"), "\(list)")
                let unknown = try await cluster.control(node, "where", "/clock")
                #expect(unknown.exitCode == 1 && unknown.output.contains("Seen last: on no node"), "\(unknown)")
                let found = try await cluster.control(node, "doctor").output
                #expect(found.contains("it has stopped /clock (on_store_loss: fence)"), "\(found)")
                try await cluster.eventually("the log says so") {
                    cluster.log(of: node).contains("stopped=/clock") && cluster.log(of: node).contains("on_store_loss: fence")
                }
                #expect(try await cluster.control(node, "stop", "/clock").exitCode == 1, "nobody holds the stop")
                try etcd.members[0].process.send(.continue)
                let next = try await cluster.eventuallyAfter(place)
                #expect(next.epoch ?? 0 > place.epoch ?? 0)
                try await cluster.eventually("doctor tells what was") {
                    let found = try await cluster.control(node, "doctor").output
                    return found.contains("the node has stopped /clock") && found.contains("was a member again after")
                }
                #expect(cluster.refusals().isEmpty)
            }
        }
    }

    @Test func frozenNodesGoOn() async throws {
        try await EtcdMembers.with(1) { etcd in
            try await RunningCluster.with(
                "  - { name: clock, placement: cluster, program: APPENDER }",
                settings: "  on_store_loss: freeze",
                endpoints: etcd.endpoints
            ) { cluster in
                let place = try await cluster.owner(from: "a")
                let node = try #require(place.node)
                try await stopProcess(etcd.members[0].process)
                try await cluster.eventually("the node is frozen") { try await cluster.nodes(from: node).membership == "frozen" }
                let count = cluster.lines.count
                try await cluster.eventually("the child goes on") { cluster.lines.count > count + 20 }
                try etcd.members[0].process.send(.continue)
                try await cluster.eventually("the node is a member") { try await cluster.nodes(from: node).membership == "member" }
                #expect(cluster.refusals().isEmpty)
            }
        }
    }
}

extension RunningCluster {
    /// Waits until the path has a later owner, which writes.
    fileprivate func eventuallyAfter(_ former: SubtreeLocation) async throws -> SubtreeLocation {
        var place = former
        try await eventually("a later owner") {
            place = try await self.place(of: former.path, from: "a")
            guard let epoch = place.epoch, epoch > former.epoch ?? 0 else { return false }
            return lines.contains { $0.epoch == epoch }
        }
        return place
    }
}
