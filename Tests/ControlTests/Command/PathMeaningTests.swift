import Control
import Processes
import TestSupport
import Testing
import WireProtocol

@testable import Control
@testable import coordinatorctl

/// What operators type for paths, in every command whose operation has some.
@Suite(.timeLimit(minutes: 1)) struct PathMeaningTests {
    private static let tree = TreeNode(
        "/",
        [TreeNode("/web-1"), TreeNode("/web-2"), TreeNode("/web-10"), TreeNode("/web-01"), TreeNode("/web-x"), TreeNode("/job")]
    )
    private static let instances = ["/web-1", "/web-10", "/web-2"]

    /// The commands of operations that have paths, with the arguments that they need beside them.
    private static let commands: [(operation: any DescribedOperation.Type, others: [String])] = ControlOperation.types.compactMap { type in
        guard !type.summary.isEmpty, type.hasOperands else { return nil }
        return switch type.name {
        case "ask", "send": (type, ["M"])
        case "signal": (type, ["HUP"])
        case "scale": (type, ["3"])
        case "move": (type, ["node"])
        default: (type, [])
        }
    }

    @Test(
        "Each command finds a path without its slash, a pattern, and the instances of a child that is named without a number",
        arguments: commands
    )
    func each(operation: any DescribedOperation.Type, others: [String]) async throws {
        // What takes one path alone says which there are; the count of instances is one of the child without a number.
        let isSingle = ["ask", "send", "move", "flows"].contains(operation.name)
        for (typed, expected) in [
            ("job", ["/job"]), ("web", operation.name == "scale" ? ["/web"] : Self.instances), ("/web-1?", ["/web-10"]),
        ] {
            let handler = try Self.daemon(knows: operation.name == "scale" ? "/web" : "/job")
            try await withServer(handler) { directory, _ in
                let option = operation.name == "events" && typed != "job" ? ["--path"] : []
                let arguments = ["--json", "--runtime-dir", directory.path] + Self.words(operation.name) + option + [typed] + others
                let ended = try await BuiltProgram("coordinatorctl").run(arguments)
                let named = handler.operations.filter { $0.name == operation.name }.flatMap(\.operands)
                let found = Set(named.filter { $0 != "/web" || expected == ["/web"] }).sorted()
                if isSingle, expected.count > 1 {
                    #expect(ended.exitCode == 64 && ended.errors.contains("/web stands for 3 paths: /web-1, /web-2, /web-10;"), "\(ended)")
                    #expect(found.isEmpty)
                } else if operation.name == "events", expected.count > 1 {
                    // Those of all, of which the others' aren't printed.
                    #expect(named.isEmpty && ended.output.split(separator: "\n").count == 1, "\(ended)")
                } else {
                    #expect(found == expected, "\(arguments) \(ended)")
                }
            }
        }
    }

    /// The words of an operation's command.
    private static func words(_ name: String) -> [String] {
        if name == "flow-state" { return ["flow", "show", "--state"] }
        return name.hasPrefix("flow-") ? ["flow", String(name.dropFirst("flow-".count))] : [name]
    }

    /// A daemon that knows the tree, and one more path.
    private static func daemon(knows path: String) throws -> FakeHandler {
        let tree = try ControlJSON.value(of: tree)
        let events = try ["/web-2", "/job"].map { try ControlJSON.value(of: ControlEvent(kind: .started, path: $0)) }
        return FakeHandler(items: events) { operation in
            if operation.name == "tree" { return .success(tree) }
            let missing = operation.operands.first { operand in operand != path && !Self.tree.subtree.contains { $0.path == operand } }
            return missing.map { .failure(ControlError(.noSuchPath, "there is no \($0)")) } ?? .success([:])
        }
    }

    @Test("A misspelt command, and what other programs call one, leads to the one that is meant")
    func commandNames() async throws {
        for (arguments, hint) in [
            (["stauts"], "did you mean `status`?"), (["update"], "did you mean `config apply`?"),
            (["config", "aply"], "did you mean `apply`?"),
            (["--json", "cordon", "a"], "did you mean `drain`?"), (["drain", "--back", "a"], "is `coordinatorctl uncordon a` now"),
            (["move", "--anywhere", "/a"], "is `coordinatorctl unpin /a` now"), (["move", "/a"], "a node is needed"),
            (["bogus"], "`coordinatorctl help` lists them"),
        ] {
            let ended = try await BuiltProgram("coordinatorctl").run(arguments)
            #expect(ended.exitCode == 64 && ended.output.isEmpty && ended.errors.contains(hint), "\(arguments) \(ended)")
        }
    }

    @Test("A table ends at the terminal's edge, and wide characters take two columns")
    func widths() {
        for (text, columns) in [
            ("abc", 3), ("日本", 4), ("한", 2), ("e\u{301}", 1), ("🚀!", 3), ("👩‍👩‍👧", 2), ("\u{1B}[31m赤\u{1B}[0m", 2), ("ｱ", 1),
            ("\u{301}", 0), ("a\u{20DD}", 1), ("1\u{FE0F}\u{20E3}", 2), ("©\u{FE0F}", 2), ("🇩🇪", 2), ("👍🏽", 2), ("ยี่", 1), ("Ａ", 2),
            ("\u{1100}\u{1161}", 2), ("\u{FE10}", 2), ("\u{1F202}", 2), ("\u{17000}", 2), ("\u{A0}–…", 3),
        ] {
            #expect(text.shownCount == columns, "\(text)")
        }
        let rows = [["NAME", "STATE"], ["日本", "active"], ["b", "a long state"]]
        #expect(TextLayout.table(rows, [.left, .left], width: nil) == "NAME  STATE\n日本  active\nb     a long state\n")
        #expect(TextLayout.table(rows, [.left, .left], width: 9) == "NAME  ST…\n日本  ac…\nb     a …\n")
        // A long name leaves its middle, so that what stands after it is seen; where all fits, nothing is left out.
        let long = [["NAME", "STATE"], ["├─ ingest-service-of-the-east", "active"], ["├─ 東京の東の取り込みサービス", "failed"], ["├─ b", "active"]]
        let yielded = TextLayout.table(long, [.left, .left], yielding: 0, width: 30)
        let states = yielded.split(separator: "\n").map { $0.split(separator: " ").last }
        #expect(states == ["STATE", "active", "failed", "active"])
        #expect(yielded.split(separator: "\n").allSatisfy { String($0).shownCount <= 30 })
        #expect(yielded.contains("├─ i") && yielded.contains("…east  active") && yielded.contains("ビス  failed"), "\(yielded)")
        #expect(TextLayout.table(long, [.left, .left], yielding: 0, width: 60) == TextLayout.table(long, [.left, .left], width: nil))
        #expect("日本語".cut(to: 4) == "日…" && "日本語".cut(to: 6) == "日本語")
        #expect("\u{1B}[31mabcdef\u{1B}[0m".cut(to: 4) == "\u{1B}[31mabc…\u{1B}[0m")
    }

    @Test("tree --failed shows what doesn't run as it should, and what that is in")
    func troubled() throws {
        var failed = TreeNode("/a/b")
        failed.state = "failed"
        let tree = TreeNode("/", [TreeNode("/a", [failed, TreeNode("/a/c")]), TreeNode("/d")])
        #expect(tree.onlyTroubled?.subtree.map(\.path) == ["/", "/a", "/a/b"])
        // An object has the members of a later version too.
        func objects(_ tree: TreeNode) throws -> [String] {
            var json = try ControlJSON.value(of: tree)
            json["later"] = true
            let kept = tree.troubled(json)
            #expect(kept["later"] == true)
            return try ControlJSON.decode(TreeNode.self, from: kept).subtree.map(\.path)
        }
        #expect(try objects(tree) == ["/", "/a", "/a/b"] && objects(TreeNode("/", [TreeNode("/d")])) == ["/"])
        #expect(TreeNode("/", [TreeNode("/d")]).onlyTroubled == nil)
    }
}

extension DescribedOperation {
    fileprivate static var hasOperands: Bool { about.arguments.contains { $0.operands != nil } }
}
