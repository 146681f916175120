import ConcurrencySupport
import Control
import Glibc
import Processes
import TestSupport
import Testing
import WireProtocol

/// Strangers at every socket of a daemon and its workers, while good peers work.
@Suite("Hostile connections", .timeLimit(minutes: 5))
struct HostileInputTests {
    static let tree = """
        children:
          - name: app
            worker: { executable: FIXTURE, coordinator: RootCoordinator, configuration: { children: [a, b], placement: worker } }
          - name: late
            worker: { executable: FIXTURE, coordinator: RootCoordinator }
        supervision: { max_restarts: 1000, period: 1s, backoff: { minimum: 1ms, maximum: 10ms } }
        """

    /// The connections in all; each round makes one of each kind at each socket, of which there are three.
    private static let connections = rounds(short: 2_000, all: 10_000, long: 10_000)

    @Test(
        "Thousands of hostile connections of every kind: each is dropped without an answer, good peers are answered, nothing grows, and the log counts the forgeries"
    )
    func everyKind() async throws {
        let log = Transcript()
        try await RunningDaemon.with(Self.tree, standardError: log.destination) { daemon in
            try await daemon.everythingActive()
            let before = try await Standing(daemon)
            let seed = UInt64.random(in: .min ... .max)
            // Once, so that what is made for the first time is there.
            let first = try await Self.assail(daemon, rounds: 2, seed: seed)
            let processes = [daemon.process.identity.processID, try await daemon.runningPID(of: "/app")]
            try await daemon.eventually("the first ones are gone") { processes.allSatisfy { Usage($0).descriptors < 60 } }
            let usage = processes.map(Usage.init)

            let good = Task { try await Self.askAllTheTime(daemon) }
            let rounds = Self.connections / (HostileConnections.Kind.allCases.count * daemon.sockets.count) + 1
            let hostile = try await Self.assail(daemon, rounds: rounds, seed: seed &+ 1)
            good.cancel()
            let answers = try await good.value
            #expect(answers.count > Self.connections / 100)
            expectAnswered(answers, within: .seconds(2))

            #expect(hostile.leaks == [], "seed \(seed)")
            #expect(hostile.tolerated == [:], "seed \(seed)")
            #expect(try await Standing(daemon) == before)
            // What is kept until a time-out is gone by then.
            try await daemon.eventually("descriptors and sockets are back") {
                zip(processes, usage).allSatisfy { Usage($0).descriptors <= $1.descriptors }
            }
            // The sanitizer keeps hundreds of megabytes of what was freed.
            for (process, usage) in zip(processes, usage) {
                #expect(Sanitizer.isOn || Usage(process).peak - usage.peak < 96 << 20, "seed \(seed)")
            }

            // The log tells of the first stranger at once, and of those since then with the first one after ten seconds.
            try await realTime(.seconds(11), because: "the daemon's clock counts them")
            var last = HostileConnections(seed: seed)
            for socket in daemon.linkSockets { try last.assail(links: socket, isAwaited: false) }
            let forged = hostile.forgeries + first.forgeries + last.forgeries
            try await eventually("the log has counted all: \(forged) of \(Self.forgeries(in: log.text))") {
                Self.forgeries(in: log.text) == forged
            }
            #expect(try await daemon.control("restart", "/late").exitCode == 0)
            try await daemon.everythingActive()
        }
    }

    @Test("Two hundred silent and slow connections at each socket are dropped in time, and good peers are answered meanwhile")
    func silent() async throws {
        try await RunningDaemon.with(Self.tree) { daemon in
            try await daemon.everythingActive()
            let before = try await Standing(daemon)
            let good = Task { try await Self.askAllTheTime(daemon) }
            let sockets = daemon.sockets.map { "\(daemon.directory)/run/\($0)" }
            let silent = try sockets.map { try Crowd(at: $0, count: 100) }
            let slow = try sockets.flatMap { socket in try (0..<100).map { try RawSocket(socket, "\($0)") } }
            for byte in RawSocket.greeting.dropLast() {
                for peer in slow { peer.send([byte]) }
                try await realTime(.milliseconds(100), because: "a peer is slow")
            }
            // A worker that is started now gets in.
            #expect(try await daemon.control("restart", "/late").exitCode == 0)
            try await daemon.everythingActive()
            try await daemon.eventually("all are dropped") {
                silent.allSatisfy { $0.closedCount == 100 } && slow.allSatisfy(\.isClosed)
            }
            good.cancel()
            let answers = try await good.value
            #expect(answers.count > 100)
            expectAnswered(answers, within: .seconds(2))
            #expect(try await Standing(daemon).processID == before.processID)
        }
    }

    @Test("A second listener on a socket's path is refused, and the first one keeps its workers and takes new ones")
    func secondListener() async throws {
        try await RunningDaemon.with(Self.tree) { daemon in
            try await daemon.everythingActive()
            let before = try await Standing(daemon)
            for socket in daemon.sockets {
                for _ in 0..<10 { #expect(Self.bindError("\(daemon.directory)/run/\(socket)") == EADDRINUSE) }
            }
            #expect(try await Standing(daemon) == before)
            #expect(try await daemon.control("restart", "/late").exitCode == 0)
            try await daemon.everythingActive()
        }
    }

    /// Binds another socket to the path, after a connection that is closed at once, as a library does to see whether the path is in use.
    ///
    /// - Returns: The error of bind(2), or 0: then the socket's file is left.
    static func bindError(_ path: String) -> Int32 {
        _ = try? RawSocket(path)
        let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        defer { close(descriptor) }
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        // Unsafe: the path is a fixed array of the C structure.
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
        let result = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size)) }
        }
        return result == 0 ? 0 : errno
    }

    /// Makes the connections on a thread of its own, since they block.
    private static func assail(_ daemon: RunningDaemon, rounds: Int, seed: UInt64) async throws -> HostileConnections {
        let links = daemon.linkSockets
        let control = "\(daemon.directory)/run/control.sock"
        let end = OneShot<Result<HostileConnections, any Error>>()
        let isRunning = DetachedThread.run {
            end.settle(
                Result {
                    var hostile = HostileConnections(seed: seed)
                    for round in 0..<rounds {
                        for socket in links { try hostile.assail(links: socket, isAwaited: round.isMultiple(of: 4)) }
                        try hostile.assail(control: control)
                    }
                    return hostile
                }
            )
        }
        try #require(isRunning)
        return try await end.value.get()
    }

    /// Asks a coordinator two processes away again and again until the task is cancelled, and returns the times that it took.
    private static func askAllTheTime(_ daemon: RunningDaemon) async throws -> [Duration] {
        var times: [Duration] = []
        let client = try await ControlClient.connect(runtimeDirectory: RuntimeDirectory(path: "\(daemon.directory)/run"))
        defer { client.close() }
        while !Task.isCancelled {
            let began = MachineClock.now
            do {
                let reply = try await client.call(.ask(path: "/app/a", message: "Fixture.WhereAmI", payload: [:], timeout: .seconds(20)))
                #expect(reply["reply"]?["path"] == "/app/a")
            } catch {
                guard Task.isCancelled else { throw error }
            }
            times.append(MachineClock.now - began)
        }
        return times
    }

    /// The strangers that the log counts.
    private static func forgeries(in log: String) -> Int {
        log.split(separator: "\n").filter { $0.contains("a process that nobody expects was turned away") }.reduce(0) { sum, line in
            sum + (line.split(separator: " ").first { $0.hasPrefix("count=") }.flatMap { Int($0.dropFirst(6)) } ?? 0)
        }
    }

    /// The processes of the tree and their incarnations.
    private struct Standing: Equatable {
        let processID: Int32?
        let lives: [String]

        init(_ daemon: RunningDaemon) async throws {
            let tree = try await daemon.tree()
            processID = tree.pid
            func lives(_ node: TreeNode) -> [String] {
                ["\(node.path) \(node.pid ?? 0) \(node.incarnation) \(node.state)"] + node.children.flatMap(lives)
            }
            self.lives = lives(tree)
        }
    }
}

extension RunningDaemon {
    /// The sockets on which links arrive.
    var linkSockets: [String] { sockets.filter { $0 != "control.sock" }.map { "\(directory)/run/\($0)" } }
}
