import ConcurrencySupport
import Control
import CoordinatorsCluster
import Glibc
import Processes
import TestSupport
import Testing

/// Three real daemons that are nodes of a cluster on the suite's etcd, and the log that their children append to.
///
/// A child of these tests writes its epoch, its node and its process, again and again: a store without a gate, which shows who would have
/// written.
final class RunningCluster: Sendable {
    static let names = ["a", "b", "c"]
    private static let coordinatord = BuiltProgram("coordinatord")
    private static let coordinatorctl = BuiltProgram("coordinatorctl")

    let cluster = "nodes-\(UInt32.random(in: .min ... .max))"
    let directory: TemporaryDirectory
    let endpoints: [String]
    /// The certificates of nodes that listen for one another; nil: they don't.
    let certificates: Certificates?
    private let daemons = Lock<[String: ChildProcess]>([:])
    /// What each daemon has logged: errors only, or of nodes that listen notices too, unless the test wants more.
    private let said = Lock<[String: String]>([:])

    /// The secret of nodes that listen for one another.
    static let token = "a secret of this test"

    private let logLevel: String
    /// The clocks of all daemons; nil: the machine's.
    private let clocks: SteppedClocks?

    private init(_ endpoints: [String], _ certificates: Certificates?, _ logLevel: String?, _ clocks: SteppedClocks?) throws {
        (self.endpoints, self.certificates, self.clocks) = (endpoints, certificates, clocks)
        self.logLevel = logLevel ?? (certificates == nil ? "error" : "notice")
        directory = try TemporaryDirectory()
        try Files.write(Self.token + "\n", to: directory.file("token"))
    }

    /// Runs three daemons as long as the body.
    ///
    /// - Parameters:
    ///   - children: The children of each, in which `FIXTURE` stands for the tests' worker, `APPENDER` for a command that appends to the
    ///     log, and `NODE` for the node's name.
    ///   - settings: Further lines of `cluster`.
    ///   - areLinked: Whether the nodes listen for one another.
    static func with(
        _ children: String,
        settings: String = "",
        areLinked: Bool = false,
        endpoints: [String]? = nil,
        logLevel: String? = nil,
        clocks: SteppedClocks? = nil,
        _ body: (RunningCluster) async throws -> Void
    ) async throws {
        // One more, for a node that a test is.
        let certificates = areLinked ? try await Certificates("a", "b", "c", "guest") : nil
        let cluster = try RunningCluster(endpoints ?? EtcdMembers.shared.endpoints, certificates, logLevel, clocks)
        try Files.write(cluster.appender, to: cluster.directory.file("append.sh"))
        do {
            for name in names {
                try cluster.configure(name, children, settings)
                try await cluster.start(name)
            }
            try await cluster.waitForAllNodes()
            try await body(cluster)
        } catch {
            await cluster.end()
            for (name, text) in cluster.said.withLock({ $0 }) { print("\(name): \(text)") }
            throw error
        }
        await cluster.end()
    }

    private var log: String { directory.file("append.log") }

    private var appender: String {
        "while :; do echo \"$COORDINATOR_FENCE $NODE $$\" >> \(log); sleep 0.02; done"
    }

    /// Writes the configuration of a node.
    ///
    /// - Parameter token: The file with the token; nil: that of all nodes.
    func configure(_ name: String, _ children: String, _ settings: String = "", token: String? = nil) throws {
        mkdir(directory.file(name), 0o700)
        let links = certificates.map { certificates in
            let files =
                ["authority: \(certificates.directory)/ca.crt"]
                + ["certificate: \(certificates.directory)/\(name).crt", "key: \(certificates.directory)/\(name).key"]
            return
                "  listen: 127.0.0.1:0\n  token_file: \(token ?? directory.file("token"))\n  link_tls: { \(files.joined(separator: ", ")) }"
        }
        let text = """
            cluster:
              name: \(cluster)
              node: \(name)
              endpoints: [\(endpoints.joined(separator: ", "))]
            \(settings.contains("  ttl: ") ? "" : "  ttl: 3s")
            \(settings)
            \(links ?? "")
            children:
            \(children)
            """
        let appender = "{ command: [/bin/sh, \(directory.file("append.sh"))], environment: { NODE: \(name) } }"
        try Files.write(
            text.replacing("APPENDER", with: appender).replacing("FIXTURE", with: BuiltProgram("FixtureWorker").path)
                .replacing("DIRECTORY", with: directory.path).replacing("NAME", with: name),
            to: directory.file("\(name)/tree.yaml")
        )
    }

    /// Starts the daemon of a node.
    func start(_ name: String) async throws {
        let command = (clocks?.wrapper ?? []) + [Self.coordinatord.path]
        let process = try await ProcessSpawner.shared.spawn(
            ProcessSpecification(
                executable: command[0],
                arguments: command.dropFirst() + [
                    "--config", directory.file("\(name)/tree.yaml"), "--runtime-dir", directory.file("\(name)/run"), "--log-level",
                    logLevel,
                ],
                standardOutput: .null,
                standardError: .captured { [self] bytes in
                    said.withLock { $0[name, default: ""] += String(decoding: bytes, as: UTF8.self) }
                }
            )
        )
        daemons.withLock { $0[name] = process }
    }

    /// What the daemon of a node has logged.
    func log(of name: String) -> String { said.withLock { $0[name] ?? "" } }

    func daemon(_ name: String) throws -> ChildProcess { try #require(daemons.withLock { $0[name] }) }

    /// Kills the daemon of a node, as `kill -9` does.
    func kill(_ name: String) async throws {
        try daemon(name).send(.kill)
        _ = try await daemon(name).waitForExit()
    }

    private func end() async {
        for process in daemons.withLock({ Array($0.values) }) {
            try? process.send(.continue)
            _ = await process.terminate(grace: .patient(.seconds(10)))
        }
    }

    @discardableResult
    func control(_ name: String, _ arguments: String...) async throws -> BuiltProgram.Ended { try await control(name, arguments) }

    /// Runs a command, again as its operator would when the store of an overloaded machine hasn't taken the change in time.
    func control(_ name: String, _ arguments: [String]) async throws -> BuiltProgram.Ended {
        var ended: BuiltProgram.Ended
        var tries = 0
        repeat {
            ended = try await Self.coordinatorctl.run(["--runtime-dir", directory.file("\(name)/run")] + arguments)
            tries += 1
        } while tries < 6 && ended.exitCode != 0 && ended.errors.contains("etcd hasn't answered in time")
        return ended
    }

    /// Returns how a command is started that goes on until it's ended.
    func controlSpecification(
        _ name: String,
        _ arguments: [String],
        _ output: OutputDestination,
        _ errors: OutputDestination
    ) -> ProcessSpecification {
        ProcessSpecification(
            executable: Self.coordinatorctl.path,
            arguments: ["--runtime-dir", directory.file("\(name)/run")] + arguments,
            standardOutput: output,
            standardError: errors
        )
    }

    func answer<Answer: Decodable & Sendable>(of operation: ControlOperation, from name: String) async throws -> Answer {
        let client = try await ControlClient.connect(runtimeDirectory: RuntimeDirectory(path: directory.file("\(name)/run")))
        defer { client.close() }
        return try ControlJSON.decode(Answer.self, from: try await client.call(operation))
    }

    func nodes(from name: String) async throws -> NodeList { try await answer(of: .nodes, from: name) }

    /// Waits until each node knows all nodes.
    func waitForAllNodes() async throws {
        for name in Self.names {
            try await eventually("\(name) knows all nodes") { try await nodes(from: name).nodes.count == 3 }
        }
    }

    /// Returns where a subtree is, as one node knows it.
    func place(of path: String, from name: String) async throws -> SubtreeLocation {
        try await answer(of: .location(path: path), from: name)
    }

    /// Waits until a node that isn't one of these owns a path and writes for it, and returns the node.
    @discardableResult
    func owner(of path: String = "/clock", besides others: String..., from name: String) async throws -> SubtreeLocation {
        var place = SubtreeLocation(path: path)
        try await eventually("a node besides \(others) owns \(path)") {
            place = try await self.place(of: path, from: name)
            guard let node = place.node, let epoch = place.epoch, !others.contains(node) else { return false }
            return lines.contains { $0.epoch == epoch && $0.node == node }
        }
        return place
    }

    /// Waits until a path is active on one and the same node for all of these nodes, and returns that node.
    ///
    /// - Parameters:
    ///   - former: The node that it has left; nil: none.
    ///   - names: The nodes that are asked.
    @discardableResult
    func activeOwner(of path: String, besides former: String? = nil, for names: [String] = names) async throws -> String {
        var owner: String?
        try await eventually("\(path) is active on another node than \(former ?? "none")") {
            owner = try await place(of: path, from: names[0]).node
            guard let owner, owner != former else { return false }
            for name in names {
                let status: TreeNode = try await answer(of: .status(path: path), from: name)
                guard status.state == "active", status.clusterNode == owner else { return false }
            }
            return true
        }
        return try #require(owner)
    }

    /// A line of the log.
    struct Line: Hashable {
        var epoch: UInt64
        var node: String
        var pid: Int32
    }

    /// The log so far.
    var lines: [Line] {
        (Files.text(of: log) ?? "").split(separator: "\n").compactMap { line in
            let words = line.split(separator: " ")
            guard words.count == 3, let epoch = UInt64(words[0]), let pid = Int32(words[2]) else { return nil }
            return Line(epoch: epoch, node: String(words[1]), pid: pid)
        }
    }

    /// Returns what a receiver with a gate would have refused, and checks that each epoch has one writer.
    func refusals(sourceLocation: SourceLocation = #_sourceLocation) -> [Line] {
        var (highest, writers): (UInt64, [UInt64: String]) = (0, [:])
        return lines.filter { line in
            #expect(writers[line.epoch] ?? line.node == line.node, "two nodes have one epoch", sourceLocation: sourceLocation)
            writers[line.epoch] = line.node
            defer { highest = max(highest, line.epoch) }
            return line.epoch < highest
        }
    }

    func eventually(
        _ what: @autoclosure () -> String,
        sourceLocation: SourceLocation = #_sourceLocation,
        _ condition: () async throws -> Bool
    ) async throws {
        try await eventuallyWithoutError(what(), sourceLocation: sourceLocation, condition)
    }
}
