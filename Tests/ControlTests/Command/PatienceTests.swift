import ConcurrencySupport
import Processes
import TestSupport
import Testing
import WireProtocol

@testable import Control

@Suite("The patience of commands", .timeLimit(minutes: 1))
struct PatienceTests {
    private static let coordinatorctl = BuiltProgram("coordinatorctl")

    /// A command of each operation that waits for children.
    private static let commands: [(operation: String, arguments: [String])] = [
        ("start", ["start", "/a"]), ("stop", ["stop", "/a"]), ("restart", ["restart", "/a"]), ("replace", ["restart", "--rolling", "/a"]),
        ("scale", ["scale", "/a", "2"]), ("kill", ["kill", "/a"]), ("pause", ["pause", "/a"]), ("resume", ["resume", "/a"]),
        ("reload", ["reload", "/a"]), ("config-apply", ["config", "apply"]), ("shutdown", ["shutdown"]), ("move", ["move", "/a", "n"]),
    ]

    private static func answer(_ operation: String) throws -> JSONValue {
        switch operation {
        case "scale": try ControlJSON.value(of: ScaleResult(path: "/a", instances: 2, formerInstances: 1, changes: []))
        case "config-apply": try ControlJSON.value(of: ConfigurationChanges(file: "f", isApplied: true, changes: [], unchanged: 1))
        case "shutdown": [:]
        case "move": try ControlJSON.value(of: SubtreeLocation(path: "/a", node: "n"))
        default: try ControlJSON.value(of: LifecycleResult(path: "/a", state: "inactive", incarnation: 1))
        }
    }

    /// A daemon in which `/a` is stopping, and that answers an operation when it's let.
    private static func handler(_ answers: OneShot<Void>, lookedAt: OneShot<Void>) throws -> FakeHandler {
        let node = TreeNode(
            key: "a",
            path: "/a",
            type: "A",
            kind: .program,
            state: "stopping",
            stoppingMilliseconds: 12_000,
            stopTimeoutMilliseconds: 90_000,
            placement: .program
        )
        var root = TreeNode(key: "/", path: "/", type: "R", kind: .root, state: "active", placement: .inProcess)
        root.children = [node]
        let (status, tree) = (try ControlJSON.value(of: node), try ControlJSON.value(of: root))
        let replacements = try ControlJSON.value(of: PathList(paths: ["/a"]))
        let results = try Dictionary(uniqueKeysWithValues: commands.map { ($0.operation, try answer($0.operation)) })
        return FakeHandler { operation in
            switch operation.name {
            case "status", "tree":
                lookedAt.settle()
                return .success(operation.name == "tree" ? tree : status)
            case "replacements": return .success(replacements)
            default:
                await answers.value
                // The answer to the look was made before.
                try? await realTime(.milliseconds(200), because: "the server sends two answers in any order")
                return .success(results[operation.name] ?? [:])
            }
        }
    }

    @Test("Each operation that waits for children has a command here, and no limit")
    func table() {
        #expect(Set(ControlOperation.samples.filter { $0.defaultTimeout == nil }.map(\.name)) == Set(Self.commands.map(\.operation)))
    }

    @Test("Each command tells what it waits for after a moment, and waits on")
    func progress() async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for (_, arguments) in Self.commands {
                group.addTask {
                    let lookedAt = OneShot<Void>()
                    // The answer comes when the command has looked.
                    try await withServer(try Self.handler(lookedAt, lookedAt: lookedAt)) { directory, _ in
                        let ended = try await Self.coordinatorctl.run(["--runtime-dir", directory.path] + arguments)
                        #expect(ended.exitCode == 0, "\(arguments): \(ended)")
                        #expect(ended.errors == "coordinatorctl: waiting for /a (stopping for 12s of 1m30s)\n", "\(arguments)")
                    }
                }
            }
            try await group.waitForAll()
        }
    }

    @Test("With --timeout a command gives up in time, with --no-wait it leaves once the daemon has begun; neither calls it a failure")
    func limits() async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for (operation, arguments) in Self.commands {
                for option in [["--timeout", "2s"], ["--no-wait"], ["--no-wait", "--json"]] {
                    group.addTask {
                        let answers = OneShot<Void>()
                        let handler = try Self.handler(answers, lookedAt: OneShot())
                        try await withServer(handler) { directory, _ in
                            let arguments = ["--runtime-dir", directory.path] + arguments + option
                            let ended = try await Self.coordinatorctl.run(arguments)
                            answers.settle()
                            switch option.count {
                            case _ where operation == "replace" && option.contains("--no-wait"): #expect(ended.exitCode == 64, "\(ended)")
                            case 2 where option[0] == "--timeout":
                                #expect(
                                    ended.exitCode == 75 && ended.errors.contains("it may still be carrying the request out"),
                                    "\(ended)"
                                )
                            case 1:
                                #expect(ended.exitCode == 0 && ended.output.contains("requested; the daemon goes on with it"), "\(ended)")
                            default: #expect(ended == .init(exitCode: 0, output: #"{"requested":true}"# + "\n"), "\(arguments)")
                            }
                            #expect(!ended.errors.contains("failed"))
                            guard ended.exitCode != 64 else { return }
                            // A command that has given up leaves its request on the way.
                            try await eventually("it's asked") { handler.operations.map(\.name).contains(operation) }
                        }
                    }
                }
            }
            try await group.waitForAll()
        }
    }
}
