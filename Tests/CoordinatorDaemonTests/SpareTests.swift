import Control
import Glibc
import Processes
import TestSupport
import Testing

@Suite("The spares of a real daemon's workers", .timeLimit(minutes: 3))
struct SpareTests {
    private static func tree(_ spares: Int, executable: String = "FIXTURE") -> String {
        """
        children: [{ name: app, worker: { executable: \(executable), coordinator: RootCoordinator, spares: \(spares) } }]
        supervision: { max_restarts: 100, period: 60s, backoff: { minimum: 1ms, maximum: 10ms } }
        """
    }

    @Test("After kill -9 the next life is a process that was there before, and another one takes its place")
    func nextLife() async throws {
        try await RunningDaemon.with(Self.tree(1)) { daemon in
            for life in 1...3 {
                let spares = try await daemon.spares(1)
                #expect(try await daemon.processes().filter(spares.contains) == [], "`ps` shows the tree, and a spare isn't in it")
                let pid = try await daemon.runningPID(of: "/app")
                #expect(kill(pid, SIGKILL) == 0)
                try await daemon.eventually("life \(life + 1) is active") {
                    let node = try await daemon.node("/app")
                    return node.incarnation == UInt32(life + 1) && node.state == "active"
                }
                let next = try await daemon.runningPID(of: "/app")
                #expect(spares.map(\.processID) == [next])
                #expect(spares.allSatisfy { $0.isAlive })
            }
        }
    }

    @Test("`config apply` takes a changed number over without a restart, and a stop ends the spares")
    func changedNumber() async throws {
        try await RunningDaemon.with(Self.tree(0)) { daemon in
            try await daemon.eventually("it's up") { try await daemon.node("/app").state == "active" }
            let pid = try await daemon.node("/app").pid
            for (count, former) in [(2, 0), (1, 2), (0, 1), (1, 0)] {
                _ = try await daemon.spares(former)
                try daemon.rewrite(Self.tree(count))
                let applied = try await daemon.control("config", "apply")
                #expect(applied.exitCode == 0 && applied.output.hasPrefix("~ /app: worker.spares (no restart)\n"), "\(applied)")
                _ = try await daemon.spares(count)
                #expect(try await daemon.node("/app").pid == pid)
            }
            #expect(try await daemon.control("stop", "/app").exitCode == 0)
            // A child that doesn't run has none, also when the number changes.
            try daemon.rewrite(Self.tree(3))
            #expect(try await daemon.control("config", "apply").exitCode == 0)
            try await daemon.eventually("no process is left") { daemon.workers.isEmpty }
            #expect(try await daemon.control("start", "/app").exitCode == 0)
            _ = try await daemon.spares(3)
        }
    }

    @Test("A spare whose executable has been replaced isn't used: a restart runs the new one")
    func newExecutable() async throws {
        let directory = try TemporaryDirectory()
        let executable = directory.file("worker")
        func install(_ mark: String) throws {
            let script = "#!/bin/sh\necho \(mark) >> \(directory.file("starts"))\nexec \(BuiltProgram("FixtureWorker").path)\n"
            try Files.write(script, to: directory.file("next"), mode: 0o700)
            try #require(rename(directory.file("next"), executable) == 0)
        }
        try install("old")
        try await RunningDaemon.with(Self.tree(1, executable: executable)) { daemon in
            let former = try await daemon.spares(1)
            try install("new")
            #expect(try await daemon.control("restart", "/app").exitCode == 0)
            let pid = try await daemon.runningPID(of: "/app")
            #expect(!former.map(\.processID).contains(pid))
            let spares = try await daemon.spares(1)
            #expect(spares.isDisjoint(with: former))
            #expect(Files.text(of: directory.file("starts")) == "old\nold\nnew\nnew\n")
        }
    }

    @Test("After a rolling restart, an upgrade and another daemon the worker has as many spares as before, and no others are left")
    func afterChanges() async throws {
        try await RunningDaemon.with(Self.tree(2) + "\norphan_grace: 60s") { daemon in
            var former = try await daemon.spares(2)
            let first = try await daemon.runningPID(of: "/app")
            #expect(try await daemon.control("restart", "--rolling", "/app").exitCode == 0)
            let pid = try await daemon.runningPID(of: "/app")
            #expect(pid != first && !former.map(\.processID).contains(pid), "a replacement has a process of its own")
            former = try await daemon.spares(2)
            #expect(try await daemon.control("upgrade").exitCode == 0)
            #expect(try await daemon.node("/app").pid == pid)
            try await daemon.eventually("the former spares are gone") { former.allSatisfy { !$0.isAlive } }
            former = try await daemon.spares(2)

            let next = try await daemon.killAndReplace(daemon.process)
            try await daemon.eventually("the worker is adopted") { try await daemon.node("/app").state == "active" }
            #expect(try await daemon.node("/app").pid == pid)
            try await daemon.eventually("the former spares are gone") { former.allSatisfy { !$0.isAlive } }
            _ = try await daemon.spares(2, of: next.identity.processID)
            _ = await next.terminate(grace: .seconds(10))
            #expect(daemon.workers(of: next.identity.processID).isEmpty)
        }
    }
}

extension RunningDaemon {
    /// The processes of workers that the daemon has as its own children, spares among them.
    fileprivate var workers: Set<ProcessIdentity> { workers(of: process.identity.processID) }

    fileprivate func workers(of daemon: Int32) -> Set<ProcessIdentity> {
        let name = BuiltProgram("FixtureWorker").path
        let pids = Files.numbers(in: "/proc").map { Int32($0) }.filter { pid in
            Self.parent(of: pid) == daemon && Files.text(of: "/proc/\(pid)/cmdline")?.prefix { $0 != "\0" } == name[...]
        }
        return Set(pids.compactMap { ProcessIdentity(processID: $0) }.filter(\.isAlive))
    }

    /// Waits until `/app` is active and has so many spares, and returns them.
    ///
    /// - Parameter daemon: The process of the daemon; nil for the first one.
    fileprivate func spares(_ count: Int, of daemon: Int32? = nil) async throws -> Set<ProcessIdentity> {
        var spares: Set<ProcessIdentity> = []
        var seen = "nothing"
        do {
            try await eventually("/app has \(count) spares that wait") {
                let node = try await node("/app")
                spares = workers(of: daemon ?? process.identity.processID).filter { $0.processID != node.pid }
                seen = "\(node.state), process \(node.pid ?? 0), spares \(spares.map { "\($0.processID) \(Self.hasLink($0.processID))" })"
                return node.state == "active" && spares.count == count && spares.allSatisfy { Self.hasLink($0.processID) }
            }
        } catch {
            Issue.record("seen last: \(seen)")
            throw error
        }
        return spares
    }

    /// Whether a worker has dialled: it has a socket.
    private static func hasLink(_ pid: Int32) -> Bool {
        Files.numbers(in: "/proc/\(pid)/fd").contains { number in
            var buffer = [UInt8](repeating: 0, count: 64)
            let length = readlink("/proc/\(pid)/fd/\(number)", &buffer, buffer.count)
            return String(decoding: buffer.prefix(max(length, 0)), as: UTF8.self).hasPrefix("socket:")
        }
    }

    private static func parent(of pid: Int32) -> Int32? {
        let text = Files.text(of: "/proc/\(pid)/stat") ?? ""
        return text.split(separator: ")").last?.split(separator: " ").dropFirst().first.flatMap { Int32($0) }
    }
}
