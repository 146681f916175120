import Control
import Glibc
import TestSupport
import Testing

/// Edits at random, applied to a running daemon one after the other.
@Suite("Random edits of the configuration", .timeLimit(minutes: 10))
struct ConfigurationEditTests {
    private static func number(_ name: String) -> Int? { getenv(name).flatMap { Int(String(cString: $0)) } }

    @Test("What runs is what the file says, and what hasn't changed keeps its process")
    func edits() async throws {
        let count = rounds(short: 25, all: 100, long: 1_000)
        let seed = UInt64(Self.number("COORDINATORS_TEST_SEED") ?? 14)
        print("seed \(seed), \(count) edits")
        var configuration = RandomConfiguration(seed: seed)
        try await RunningDaemon.with(configuration.text) { daemon in
            var pids: [String: (pid: Int32, startedAt: Int)] = [:]
            try await daemon.eventually("it runs") { try await Self.difference(daemon, configuration) == nil }
            for edit in 0...count {
                if edit > 0 {
                    configuration.edit()
                    try daemon.rewrite(configuration.text)
                    let result = try await daemon.call(.configurationApplication(file: nil))
                    let changes = try ControlJSON.decode(ConfigurationChanges.self, from: result)
                    try #require(changes.failureCount == 0, "edit \(edit): \(changes)\n\(configuration.text)")
                }
                let difference = try await Self.difference(daemon, configuration)
                try #require(difference == nil, "edit \(edit): \(difference ?? "")\n\(configuration.text)")
                let now = try await Self.pids(daemon)
                for (path, expected) in configuration.running where expected.process != "group" {
                    let pid = try #require(now[path])
                    if let former = pids[path] {
                        let mustStay = former.startedAt == expected.startedAt
                        try #require((former.pid == pid) == mustStay, "edit \(edit), \(path)\n\(configuration.text)")
                    }
                    pids[path] = (pid, expected.startedAt)
                }
                pids = pids.filter { configuration.running[$0.key] != nil }
            }
            let rest = try await daemon.call(.configurationDifference(file: nil))
            #expect(try ControlJSON.decode(ConfigurationChanges.self, from: rest).changes == [])
        }
    }

    /// Returns what differs between the tree and the model; nil when nothing does.
    private static func difference(_ daemon: RunningDaemon, _ configuration: RandomConfiguration) async throws -> String? {
        let nodes = flat(try await daemon.tree())
        let active = Set(nodes.filter { $0.state == "active" }.map(\.path))
        let expected = Set(configuration.running.keys)
        if active != expected {
            return "runs: \(active.subtracting(expected).sorted()), doesn't run: \(expected.subtracting(active).sorted())"
        }
        for node in nodes where node.kind == .program && node.state == "active" {
            let pid = try #require(node.pid)
            // A program has no arguments yet in the moment in which it takes its process over.
            try await daemon.eventually("\(node.path) has begun") { Files.text(of: "/proc/\(pid)/cmdline")?.isEmpty == false }
            let arguments = Files.text(of: "/proc/\(pid)/cmdline")?.split(separator: "\0").map(String.init)
            let variables = Files.text(of: "/proc/\(pid)/environ")?.split(separator: "\0").map(String.init) ?? []
            let fields = configuration.running[node.path]?.process.split(separator: " ").map { Int($0) ?? 0 } ?? []
            if arguments != ["sleep", "\(100_000 + fields[0])"] || !variables.contains("EDIT=\(fields[1])") {
                return "\(node.path) is \(arguments ?? [])"
            }
        }
        return nil
    }

    private static func pids(_ daemon: RunningDaemon) async throws -> [String: Int32] {
        Dictionary(flat(try await daemon.tree()).compactMap { node in node.pid.map { (node.path, $0) } }) { first, _ in first }
    }

    private static func flat(_ node: TreeNode) -> [TreeNode] { node.children.flatMap { [$0] + flat($0) } }
}
