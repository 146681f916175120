import ConcurrencySupport
import Control
import Glibc
import Processes
import TestSupport
import Testing
import WireProtocol

@Suite("Rolling restarts by operators", .timeLimit(minutes: 10))
struct RollingRestartTests {
    /// The number of rounds under load, of three replacements each.
    private static let rounds = TestSupport.rounds(short: 1, all: 2, long: 34)

    private static let tree = """
        children:
          - { name: web, worker: { executable: DIRECTORY/worker, coordinator: RootCoordinator }, instances: 3 }
          - { name: other, program: { command: [sleep, "1000"] }, requires: [web] }
        """

    /// Runs a daemon whose workers' program the body can replace.
    private static func run(
        _ tree: String = tree,
        _ start: String = "exec \(BuiltProgram("FixtureWorker").path)",
        _ body: (RunningDaemon, _ become: (String) throws -> Void) async throws -> Void
    ) async throws {
        let directory = try TemporaryDirectory()
        let program = directory.file("worker")
        func become(_ script: String) throws {
            // Another file, since one that runs can't be written.
            try Files.write("#!/bin/sh\n\(script)\n", to: "\(program).new", mode: 0o700)
            try #require(rename("\(program).new", program) == 0)
        }
        try become(start)
        try await RunningDaemon.with(tree.replacing("DIRECTORY", with: directory.path)) { daemon in
            try await daemon.allActive()
            try await body(daemon) { try become($0.replacing("START", with: start)) }
        }
    }

    @Test("Of the asks of many callers none fails while all instances are replaced, one at a time")
    func load() async throws {
        try await Self.run { daemon, _ in
            let other = try await daemon.node("/other").pid
            let load = Load()
            let replaced = try await withThrowingTaskGroup(of: Void.self) { group in
                for caller in 0..<6 {
                    group.addTask {
                        let client = try await daemon.connect()
                        defer { client.close() }
                        while !load.isOver.withLock({ $0 }) {
                            do {
                                _ = try await client.call(Self.work(at: "/web-\(caller % 3 + 1)", milliseconds: 40 * caller))
                                load.asks.withLock { $0 += 1 }
                            } catch {
                                load.failures.withLock { $0.append("\(error)") }
                            }
                        }
                    }
                }
                group.addTask {
                    while !load.isOver.withLock({ $0 }) {
                        let away = try await daemon.states().filter { $0.key.hasPrefix("/web-") && $0.value != "active" }
                        if away.count > 1 { load.failures.withLock { $0.append("\(away)") } }
                    }
                }
                defer { load.isOver.withLock { $0 = true } }
                var replaced = 0
                for round in 1...Self.rounds {
                    let before = try await daemon.allPIDs()
                    let ended = try await daemon.control("restart", "--rolling", "/web")
                    // On a machine that is busy the command says that it waits.
                    let errors = ended.errors.split(separator: "\n").filter { !$0.hasPrefix("coordinatorctl: waiting for ") }
                    #expect(ended.exitCode == 0 && errors == [], "\(ended)")
                    let lines = ended.output.split(separator: "\n")
                    #expect(lines.count == 3)
                    for (number, line) in lines.enumerated() {
                        #expect(line.hasPrefix("/web-\(number + 1): active (pid ") && line.hasSuffix(", life \(round + 1))"), "\(line)")
                    }
                    let after = try await daemon.allPIDs()
                    #expect((1...3).allSatisfy { after["/web-\($0)"] != before["/web-\($0)"] })
                    replaced += lines.count
                }
                return replaced
            }
            print("\(replaced) replacements, \(load.asks.withLock { $0 }) asks, \(load.failures.withLock { $0.count }) failed")
            #expect(load.failures.withLock { $0 } == [])
            #expect(load.asks.withLock { $0 } > replaced)
            // What requires the instances isn't stopped for it.
            #expect(try await daemon.node("/other").pid == other)
        }
    }

    /// An ask that takes some time of the coordinator at a path.
    private static func work(at path: String, milliseconds: Int) -> ControlOperation {
        let payload: [String: Int64] = ["every": 1, "milliseconds": Int64(milliseconds)]
        let timeout = max(Duration.seconds(30), .milliseconds(milliseconds))
        return .ask(path: path, message: "Fixture.Stall", payload: .object(payload.mapValues { .integer($0) }), timeout: timeout)
    }

    @Test("A new process that ends before it's given its life changes nothing, and ends the command")
    func goesBack() async throws {
        try await Self.run { daemon, become in
            let before = try await daemon.allPIDs()
            try become("exit 7")
            let ended = try await daemon.control("restart", "--rolling", "/web")
            let complaint = "the new process for /web-1 has ended while it waited for its life: exited with code 7"
            #expect(ended.exitCode == 1 && ended.output == "")
            #expect(ended.errors.hasPrefix("coordinatorctl: /web-1 was not replaced: \(complaint)"), "\(ended)")
            #expect(ended.errors.hasSuffix("; not touched: /web-2, /web-3\n"), "\(ended)")
            #expect(try await daemon.allPIDs() == before)
            #expect(Set(try await daemon.states().values) == ["active"])
            let json = try await daemon.control("--json", "restart", "--rolling", "/web-2")
            #expect(
                json.exitCode == 1 && json.output.hasPrefix(#"{"results":[{"error":{"code":"failed","#)
                    && json.output.contains(#""message":"/web-2 was not replaced: "#)
            )
            try become("START")
            #expect(try await daemon.control("restart", "--rolling", "/web").exitCode == 0)
        }
    }

    @Test("The command halts at the instance that can't be replaced: those before it have new lives, those after it aren't touched")
    func halts() async throws {
        try await Self.run { daemon, become in
            // The third could be replaced; only the second can't.
            let directory = try TemporaryDirectory()
            let before = try await daemon.allPIDs()
            try become("echo >> \(directory.file("n")); [ $(wc -l < \(directory.file("n"))) -eq 2 ] && exit 7; START")
            let ended = try await daemon.control("restart", "--rolling", "/web")
            #expect(ended.exitCode == 1 && ended.output.hasPrefix("/web-1: active (pid "), "\(ended)")
            #expect(ended.errors.contains("/web-2 was not replaced") && ended.errors.hasSuffix("; not touched: /web-3\n"), "\(ended)")
            let after = try await daemon.allPIDs()
            #expect(after["/web-1"] != before["/web-1"] && after["/web-2"] == before["/web-2"] && after["/web-3"] == before["/web-3"])
            // Programs are told all at the end, and it halts there too.
            unlink(directory.file("n"))
            let json = try await daemon.control("--json", "restart", "--rolling", "/web")
            let results = try ControlJSON.parse(Array(json.output.utf8))["results"]?.arrayValue ?? []
            #expect(json.exitCode == 1 && results.map { $0["path"]?.stringValue } == ["/web-1", "/web-2"], "\(json)")
            #expect(try await daemon.allPIDs()["/web-3"] == before["/web-3"])
        }
    }

    @Test("A new life whose `start` throws halts the command: those after it aren't touched, and supervision goes on with it")
    func startThrows() async throws {
        let tree = """
            children:
              - name: web
                worker: { executable: DIRECTORY/worker, coordinator: BrokenCoordinator, configuration: { how: variable } }
                instances: 3
            supervision: { max_restarts: 1000, period: 1s, backoff: { minimum: 1ms, maximum: 10ms } }
            """
        try await Self.run(tree) { daemon, become in
            let before = try await daemon.allPIDs()
            // Only the second instance's new life is broken: its process is the second that begins.
            let directory = try TemporaryDirectory()
            let count = "echo >> \(directory.file("n")); [ $(wc -l < \(directory.file("n"))) -ge 2 ] && export FIXTURE_BROKEN=1"
            try become("\(count); START")
            let ended = try await daemon.control("restart", "--rolling", "/web")
            #expect(ended.exitCode == 1 && ended.output.hasPrefix("/web-1: active (pid "), "\(ended)")
            #expect(ended.errors.contains("/web-2") && ended.errors.contains("Fixture.Refusal"), "\(ended)")
            #expect(ended.errors.hasSuffix("; not touched: /web-3\n"), "\(ended)")
            let after = try await daemon.allPIDs()
            #expect(after["/web-1"] != before["/web-1"] && after["/web-3"] == before["/web-3"])
            // The former life had ended when the next one failed: supervision tries again, until the program is a good one.
            #expect(after["/web-2"] != before["/web-2"])
            try become("START")
            try await daemon.eventually("it's back") { try await daemon.states()["/web-2"] == "active" }
            #expect(try await daemon.control("restart", "--rolling", "/web").exitCode == 0)
        }
    }

    @Test("Lives that overlap: the next one answers beside the former one, and is adopted by the next daemon once that is gone")
    func overlap() async throws {
        let tree = """
            children:
              - { name: web, worker: { executable: DIRECTORY/worker, coordinator: RootCoordinator }, overlap: true }
            orphan_grace: 60s
            """
        try await Self.run(tree) { daemon, become in
            let first = try await daemon.node("/web").pid ?? 0
            // Longer than two starts take on a busy machine.
            let long = Task { try await daemon.call(Self.work(at: "/web", milliseconds: 12_000)) }
            try await daemon.eventually("it has begun") { try await daemon.node("/web").mailbox?.running == 1 }
            let rolling = Task { try await daemon.control("restart", "--rolling", "/web") }
            try await daemon.eventually("the next life has the place") { try await daemon.node("/web").incarnation == 2 }
            let second = try await daemon.node("/web").pid ?? 0
            #expect(try await daemon.pid(of: "/web") == second && second != first && kill(first, 0) == 0)
            // One that fails beside the former life, which still has the path's lock, is followed by another.
            #expect(kill(second, SIGKILL) == 0)
            try await daemon.eventually("it's followed") {
                let node = try await daemon.node("/web")
                return node.incarnation == 3 && node.state == "active"
            }
            #expect(kill(first, 0) == 0)
            _ = try await long.value
            #expect(try await rolling.value.exitCode == 0)
            #expect(kill(first, 0) != 0)

            try become("exit 7")
            let third = try await daemon.node("/web").pid ?? 0
            #expect(try await daemon.control("restart", "--rolling", "/web").exitCode == 1)
            #expect(try await daemon.pid(of: "/web") == third)
            try become("START")
            #expect(try await daemon.control("restart", "--rolling", "/web").exitCode == 0)
            let last = try await daemon.node("/web")
            _ = try await daemon.killAndReplace(daemon.process)
            try await daemon.eventually("it's adopted") { try await daemon.node("/web").state == "active" }
            let adopted = try await daemon.node("/web")
            #expect(adopted.pid == last.pid && adopted.incarnation == last.incarnation)
        }
    }

    @Test("A daemon that is killed while two lives overlap is followed by one that goes on with the new life, and ends the former one")
    func overlapInTheGap() async throws {
        let tree = """
            children:
              - name: web
                worker: { executable: DIRECTORY/worker, coordinator: RootCoordinator }
                overlap: true
                restart: on_failure
                # Longer than a busy machine needs until the daemon is killed, which would end the former life itself then.
                stop_timeout: 300s
            orphan_grace: 60s
            """
        try await Self.run(tree) { daemon, _ in
            let first = try await daemon.identity(of: "/web")
            let long = Task { try? await daemon.call(Self.work(at: "/web", milliseconds: 300_000)) }
            try await daemon.eventually("it has begun") { try await daemon.node("/web").mailbox?.running == 1 }
            let rolling = Task { try await daemon.control("restart", "--rolling", "/web") }
            try await daemon.eventually("the next life has the place") { try await daemon.node("/web").incarnation == 2 }
            let second = try await daemon.identity(of: "/web")
            #expect(second != first && first.isAlive)
            #expect(try await daemon.add(5, to: "/web") == 5)
            // It would end by itself with the ask that is lost.
            try await stopProcess(first)
            try await daemon.kill(daemon.process)
            #expect(first.isAlive && second.isAlive)
            _ = await (long.value, try rolling.value)

            var next = try await daemon.startNext()
            for sum in 6...8 {
                try await daemon.eventually("the new life is adopted") { try await daemon.node("/web").state == "active" }
                let adopted = try await daemon.node("/web")
                #expect(try await daemon.identity(of: "/web") == second && adopted.incarnation == 2 && adopted.restarts == 0)
                // Whatever was told to it is there, and the path lives once.
                #expect(try await daemon.add(1, to: "/web") == sum)
                #expect(!first.isAlive)
                next = try await daemon.killAndReplace(next)
            }
            // The numbers go on, and the lock is that of the path.
            try await daemon.eventually("it's adopted") { try await daemon.node("/web").state == "active" }
            try second.send(.kill)
            try await daemon.eventually("it's followed") {
                let node = try await daemon.node("/web")
                return node.incarnation == 3 && node.state == "active"
            }
            #expect(try await daemon.control("restart", "--rolling", "/web").exitCode == 0)
            try await daemon.endLeavingNothing(next)
        }
    }

    @Test("Programs are replaced one after the other, each when the one before is ready; one that doesn't become ready halts the command")
    func programs() async throws {
        let tree = """
            children:
              - name: group
                children:
                  - name: job
                    program: { command: [DIRECTORY/worker], ready: { fd: 3 }, start_timeout: 3s }
                    instances: 2
            """
        try await Self.run(tree, "sleep 0.3; echo >&3; exec sleep 1000") { daemon, become in
            let before = try await daemon.allPIDs()
            let ended = try await daemon.control("restart", "--rolling", "/group")
            #expect(ended.exitCode == 0 && ended.output.split(separator: "\n").count == 2, "\(ended)")
            let between = try await daemon.allPIDs()
            #expect(before.allSatisfy { between[$0.key] != $0.value })

            try become("exec sleep 1000")
            let failed = try await daemon.control("restart", "--rolling", "/group/job")
            #expect(failed.exitCode == 1, "\(failed)")
            #expect(failed.errors.contains("/group/job-1 was not ready in time") && failed.errors.contains("not touched: /group/job-2"))
            #expect(try await daemon.allPIDs()["/group/job-2"] == between["/group/job-2"])
            // Its life had ended before; supervision goes on with it.
            try become("START")
            try await daemon.eventually("it's ready") { try await daemon.states()["/group/job-1"] == "active" }
        }
    }

    @Test("A group stands for what runs in it, and a path below a worker for itself")
    func groups() async throws {
        let tree = """
            children:
              - name: group
                children:
                  - { name: second, program: { command: [sleep, "1000"] }, after: [first] }
                  - { name: first, program: { command: [sleep, "1000"] } }
                  - { name: off, program: { command: [sleep, "1000"] }, autostart: false }
                  - name: inner
                    children:
                      - name: app
                        worker:
                          executable: FIXTURE
                          coordinator: RootCoordinator
                          configuration: { children: [a, b], placement: worker }
            """
        try await RunningDaemon.with(tree) { daemon in
            try await daemon.eventually("all runs") { try await daemon.states().values.count { $0 == "active" } == 7 }
            let before = try await daemon.allPIDs()
            let ended = try await daemon.control("restart", "--rolling", "/group")
            #expect(ended.exitCode == 0, "\(ended)")
            #expect(
                ended.output.split(separator: "\n").map { $0.prefix { $0 != ":" } } == [
                    "/group/first", "/group/second", "/group/inner/app",
                ]
            )
            try await daemon.eventually("all runs again") { try await daemon.states().values.count { $0 == "active" } == 7 }
            let after = try await daemon.allPIDs()
            #expect(before.allSatisfy { after[$0.key] != $0.value }, "\(before), \(after)")
            #expect(try await daemon.control("restart", "--rolling", "/group/inner/app/a").exitCode == 0)
            let last = try await daemon.allPIDs()
            #expect(last.filter { after[$0.key] != $0.value }.keys.sorted() == ["/group/inner/app/a"])
            #expect(try await daemon.node("/group").incarnation == 1)

            let off = try await daemon.control("restart", "--rolling", "/group/off")
            #expect(off.exitCode == 3 || off.exitCode == 4, "\(off)")
            #expect(try await daemon.control("restart", "--rolling", "/nothing").exitCode == 4)
        }
    }
}

extension RunningDaemon {
    /// Asks a coordinator for its process.
    fileprivate func pid(of path: String) async throws -> Int32? {
        let answer = try await call(.ask(path: path, message: "Fixture.WhereAmI", payload: [:], timeout: .seconds(50)))
        guard case .integer(let pid)? = answer["reply"]?["pid"] else { return nil }
        return Int32(pid)
    }

    /// Returns the process of a child.
    fileprivate func identity(of path: String) async throws -> ProcessIdentity {
        try #require(try await node(path).pid.flatMap { ProcessIdentity(processID: $0) })
    }

    /// Waits until there is a child, and each is active.
    func allActive() async throws {
        try await eventually("all is active") { Set(try await states().values) == ["active"] }
    }

    /// Returns the process IDs of all children that run, by path.
    func allPIDs() async throws -> [String: Int32] {
        func pids(_ node: TreeNode) -> [(String, Int32)] {
            (node.pid.map { node.kind == .root || node.placement == .inProcess ? [] : [(node.path, $0)] } ?? [])
                + node.children.flatMap(pids)
        }
        return Dictionary(pids(try await tree())) { first, _ in first }
    }

    func connect() async throws -> ControlClient {
        try await ControlClient.connect(runtimeDirectory: RuntimeDirectory(path: "\(directory)/run"))
    }
}

/// The outcomes of asks that are made until a test is over.
private final class Load: Sendable {
    let asks = Lock(0)
    let failures = Lock<[String]>([])
    let isOver = Lock(false)
}
