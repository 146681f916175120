import Control
import Processes
import TestSupport
import Testing
import WireProtocol

@testable import coordinatorctl

/// Paths with signs that stand for others, and commands about several paths.
@Suite(.timeLimit(minutes: 1)) struct PathPatternTests {
    @Test(
        "A pattern matches the paths that it means",
        arguments: [
            ("/*", ["/web", "/job"]), ("/**", ["/web", "/web/a", "/web/a/x", "/web/ab", "/job"]), ("/web/*", ["/web/a", "/web/ab"]),
            ("/web/**", ["/web/a", "/web/a/x", "/web/ab"]), ("/web/a?", ["/web/ab"]), ("/**/x", ["/web/a/x"]),
            ("/*/a*", ["/web/a", "/web/ab"]),
            ("/w*b", ["/web"]), ("/**/a", ["/web/a"]), ("/x*", []), ("/web", ["/web"]), ("/*/*/*", ["/web/a/x"]),
        ] as [(String, [String])]
    )
    func matches(pattern: String, expected: [String]) {
        let paths = ["/web", "/web/a", "/web/a/x", "/web/ab", "/job"]
        let pattern = PathPattern(pattern)
        #expect(paths.filter { pattern.matches($0) } == expected)
    }

    private static let tree = TreeNode("/", [TreeNode("/web", [TreeNode("/web/a"), TreeNode("/web/b")]), TreeNode("/job")])

    /// A daemon in which `/job` can't be changed.
    private static func daemon() throws -> FakeHandler {
        let tree = try ControlJSON.value(of: tree)
        return FakeHandler { operation in
            if let call = operation.content as? ControlOperation.Signal {
                return .success(["path": .string(call.path), "pid": .integer(7), "signal": .string("SIG\(call.signal)")])
            }
            return switch (operation.name, operation.path) {
            case ("tree", _): .success(tree)
            case ("stop", "/job"), ("status", "/job"): .failure(ControlError(.timedOut, "/job takes too long"))
            case ("stop", let path?), ("resume", let path?): .success(["path": .string(path), "state": "inactive", "incarnation": 1])
            default: .success([:])
            }
        }
    }

    @Test(
        "A command about several paths does its work once for each, and says which failed",
        arguments: [
            (["stop", "/web/*"], ["/web/a", "/web/b"], 0), (["stop", "/**"], ["/job", "/web"], 75),
            (["stop", "--all"], ["/job", "/web"], 75),
            (["stop", "/web", "/web/a", "/web"], ["/web"], 0), (["resume", "/**"], ["/job", "/web", "/web/a", "/web/b"], 0),
            (["signal", "/web/*", "HUP"], ["/web/a", "/web/b"], 0), (["signal", "/web", "10"], ["/web"], 0), (["stop", "/none/*"], [], 4),
            (["stop"], [], 64), (["stop", "--all", "/web"], [], 64), (["signal", "HUP"], [], 64), (["signal", "/web", "NO"], [], 64),
        ] as [([String], [String], Int32)]
    )
    func several(arguments: [String], paths: [String], exitCode: Int32) async throws {
        let handler = try Self.daemon()
        try await withServer(handler) { directory, _ in
            let ended = try await BuiltProgram("coordinatorctl").run(["--runtime-dir", directory.path] + arguments)
            #expect(ended.exitCode == exitCode)
            #expect(handler.operations.filter { $0 != .tree }.compactMap(\.path).sorted() == paths)
            #expect(ended.errors.contains("/job takes too long") == (exitCode == 75))
        }
    }

    @Test("As JSON, several paths are a list in which each has its result or its error")
    func json() async throws {
        try await withServer(try Self.daemon()) { directory, _ in
            let ended = try await BuiltProgram("coordinatorctl").run(["--json", "--runtime-dir", directory.path, "stop", "/web", "/job"])
            #expect(
                ended
                    == .init(
                        exitCode: 75,
                        output: #"{"results":[{"incarnation":1,"path":"/web","state":"inactive"},"#
                            + #"{"error":{"code":"timedOut","message":"/job takes too long"},"path":"/job"}]}"# + "\n"
                    )
            )
        }
    }
}

extension TreeNode {
    /// A coordinator that is active.
    init(_ path: String, _ children: [TreeNode] = []) {
        let key = path.split(separator: "/").last.map(String.init) ?? "/"
        self.init(key: key, path: path, type: "A", kind: .coordinator, state: "active", placement: .worker, children: children)
    }
}
