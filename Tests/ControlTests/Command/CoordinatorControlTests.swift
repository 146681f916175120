import Control
import Glibc
import Processes
import TestSupport
import Testing
import WireProtocol

@testable import coordinatorctl

/// The output, the errors and the exit codes of the built `coordinatorctl`, run as a process.
@Suite(.timeLimit(minutes: 1)) struct CoordinatorControlTests {
    private static let coordinatorctl = BuiltProgram("coordinatorctl")
    /// The tree with processes that no machine has.
    static let tree: TreeNode = {
        func without(_ node: TreeNode) -> TreeNode {
            var node = node
            node.pid = node.pid.map { $0 | 1 << 30 }
            node.children = node.children.map(without)
            return node
        }
        return without(OutputTests.tree)
    }()
    static let letters = DeadLetterList(count: 300, letters: [OutputTests.letters.letters[0]])

    /// A handler that behaves like a small daemon.
    static func daemon() -> FakeHandler {
        FakeHandler { operation in Result { () throws(ControlError) in try answer(to: operation) } }
    }

    private static func answer(to operation: ControlOperation) throws(ControlError) -> JSONValue {
        if let send = operation.content as? ControlOperation.Send { return ["delivered": .bool(send.message == "Known")] }
        if let ask = operation.content as? ControlOperation.Ask {
            switch ask.message {
            case "Slow": throw ControlError(.timedOut, "no reply within 5s")
            case "Stopped": throw ControlError(.notRunning, "/shop isn't running")
            default: return ["reply": ["got": ask.payload, "ms": .number(ask.timeout / .milliseconds(1))], "duration_us": 7]
            }
        }
        switch (operation.name, operation.path) {
        case ("tree", _): return try ControlJSON.value(of: tree)
        case ("ps", _): return ["processes": []]
        case ("status", "/shop"): return try ControlJSON.value(of: tree.children[0])
        case ("status", "/mailer"): return try ControlJSON.value(of: tree.children[1])
        case ("logs", _): throw ControlError(.noSuchPath, "no child with a log is at or below it")
        case ("restart", "/shop"), ("start", "/shop"), ("stop", "/shop"), ("kill", "/shop"), ("resume", "/shop"):
            return try ControlJSON.value(of: LifecycleResult(path: "/shop", state: "active", pid: 5, incarnation: 2))
        case ("pause", "/shop"):
            return try ControlJSON.value(of: LifecycleResult(path: "/shop", state: "paused", pid: 5, incarnation: 2))
        case ("dead-letters", _): return try ControlJSON.value(of: letters)
        case ("shutdown", _): return [:]
        case ("status", let path?), ("pause", let path?), ("resume", let path?):
            throw ControlError(.noSuchPath, "there is no \(path); see `coordinatorctl tree`")
        default: throw ControlError(.failed, "no")
        }
    }

    @Test(
        "Each command prints its result or its error, and exits with the matching code",
        arguments: [
            (["tree"], CoordinatorControlTests.tree.text, "", 0),
            (["ps", "--json"], "{\"processes\":[]}\n", "", 0),
            (["--json", "ps"], "{\"processes\":[]}\n", "", 0),
            (["status", "/mailer"], CoordinatorControlTests.tree.children[1].details, "", 3),
            (["status", "/shop"], CoordinatorControlTests.tree.children[0].details, "", 0),
            (["status", "/x"], "", "coordinatorctl: there is no /x; see `coordinatorctl tree`\n", 4),
            (["status", "x"], "", "coordinatorctl: there is no /x; see `coordinatorctl tree`\n", 4),
            (["status", "shop"], CoordinatorControlTests.tree.children[0].details, "", 0),
            (["status"], CoordinatorControlTests.tree.text, "", 0),
            (["tree", "shop"], CoordinatorControlTests.tree.children[0].text, "", 0),
            (["start", "/shop"], "/shop: active (pid 5, life 2)\n", "", 0),
            (["stop", "/shop"], "/shop: active (pid 5, life 2)\n", "", 0),
            (["kill", "/shop"], "/shop: active (pid 5, life 2)\n", "", 0),
            (["restart", "/shop", "--json"], "{\"incarnation\":2,\"path\":\"/shop\",\"pid\":5,\"state\":\"active\"}\n", "", 0),
            (["restart", "/mailer"], "", "coordinatorctl: no\n", 1),
            (["pause", "/shop"], "/shop: paused (pid 5, life 2)\n", "", 0),
            (["--json", "pause", "/shop"], "{\"incarnation\":2,\"path\":\"/shop\",\"pid\":5,\"state\":\"paused\"}\n", "", 0),
            (["pause", "/x"], "", "coordinatorctl: there is no /x; see `coordinatorctl tree`\n", 4),
            (["resume", "/shop"], "/shop: active (pid 5, life 2)\n", "", 0),
            (["resume", "/x"], "", "coordinatorctl: there is no /x; see `coordinatorctl tree`\n", 4),
            (["dead-letters"], CoordinatorControlTests.letters.text, "", 0),
            (
                ["dead-letters", "--json"],
                "{\"count\":300,\"letters\":[{\"name\":\"Cart.Toggle\",\"reason\":\"the handler failed: full\","
                    + "\"sender\":\"/shop/catalog\",\"target\":\"/shop/cart\"}]}\n", "", 0
            ),
            (["ask", "/shop", "Echo"], "{\"got\":{},\"ms\":5000}\n", "", 0),
            (["ask", "/shop", "Echo", "[1, \"/\"]", "--timeout", "250ms"], "{\"got\":[1,\"/\"],\"ms\":250}\n", "", 0),
            (["ask", "--json", "/shop", "Echo", "1"], "{\"duration_us\":7,\"reply\":{\"got\":1,\"ms\":5000}}\n", "", 0),
            (["ask", "/shop", "Slow"], "", "coordinatorctl: no reply within 5s\n", 75),
            (["ask", "/shop", "Stopped"], "", "coordinatorctl: /shop isn't running\n", 3),
            (
                ["ask", "/shop", "Echo", "{a: 1}"], "",
                "coordinatorctl: the message is not valid JSON: line 1, column 2: expected a key in double quotes; "
                    + "put it in single quotes so that the shell leaves it alone\n", 64
            ),
            (["send", "/shop", "Known"], "delivered\n", "", 0),
            (
                ["send", "/shop", "Unknown", "{}"], "",
                "coordinatorctl: not delivered: no coordinator from /shop up responds to Unknown\n", 1
            ),
            (
                ["--json", "pause", "/x"], "",
                "{\"error\":{\"code\":\"noSuchPath\",\"message\":\"there is no /x; see `coordinatorctl tree`\"}}\n", 4
            ),
            (["ask", "/shop", "Echo", "@/nonexistent"], "", "coordinatorctl: can't open /nonexistent: No such file or directory\n", 64),
            (["--version"], "\(Release.version)\n", "", 0),
            (["shutdown"], "the daemon is shutting down\n", "", 0),
            (["shutdown", "--json"], "{}\n", "", 0),
        ] as [([String], String, String, Int32)]
    )
    func aCommand(arguments: [String], output: String, errors: String, exitCode: Int32) async throws {
        try await withServer(Self.daemon()) { directory, _ in
            let ended = try await Self.coordinatorctl.run(arguments, environment: ["COORDINATOR_RUNTIME_DIR": directory.path])
            #expect(ended == .init(exitCode: exitCode, output: output, errors: errors))
        }
    }

    @Test(
        "status is 0 for what is active or paused, 5 for what is unhealthy, and 3 for everything else",
        arguments: [
            ("active", 0), ("paused", 0), ("waiting", 3), ("starting", 3), ("restarting", 3), ("failing", 3), ("stopping", 3),
            ("unresponsive", 3),
            ("inactive", 3), ("failed", 3), ("unhealthy", 5), ("of-a-later-version", 3),
        ] as [(String, Int32)]
    )
    func statusCode(state: String, exitCode: Int32) async throws {
        #expect(ShownState.allCases.count == 11, "a state is missing in the arguments")
        let node = TreeNode(key: "a", path: "/a", type: "A", kind: .coordinator, state: state, placement: .inProcess)
        let json = try ControlJSON.value(of: node)
        try await withServer(FakeHandler { _ in .success(json) }) { directory, _ in
            let ended = try await Self.coordinatorctl.run(["--runtime-dir", directory.path, "status", "/a"])
            #expect(ended.exitCode == exitCode)
        }
    }

    @Test("The lives of several are told apart by their paths")
    func histories() async throws {
        let lives = LifeHistory(path: "/", lives: [LifeHistory.Life(incarnation: 1, pid: 7)])
        let json = try ControlJSON.value(of: lives)
        try await withServer(FakeHandler { _ in .success(json) }) { directory, _ in
            let one = try await Self.coordinatorctl.run(["--runtime-dir", directory.path, "history", "/a"])
            #expect(one.output == lives.text)
            let two = try await Self.coordinatorctl.run(["--runtime-dir", directory.path, "history", "/a", "/b"])
            #expect(two.output == "/a\n\(lives.text)\n/b\n\(lives.text)")
        }
    }

    @Test("The command that starts a daemon is that of its unit where the package's daemon is looked for")
    func startCommand() async throws {
        let directory = try TemporaryDirectory()
        let socket = "/run/coordinator/control.sock"
        #expect(ControlError.startCommand(at: socket, units: directory.path) == "coordinatord --config FILE")
        try Files.write("", to: directory.file("coordinatord.service"))
        #expect(ControlError.startCommand(at: socket, units: directory.path) == "systemctl start coordinatord")
        #expect(ControlError.startCommand(at: "\(directory.path)/control.sock", units: directory.path) == "coordinatord --config FILE")
    }

    @Test("status tells a process's command and figures, and the last lines; as JSON these only if they are asked for")
    func statusOfProcess() async throws {
        var node = TreeNode(key: "a", path: "/a", type: "A", kind: .program, state: "active", placement: .program)
        node.pid = getpid()
        let json = try ControlJSON.value(of: node)
        let line = try ControlJSON.value(of: LogLine(time: "2026-11-22T20:41:00.123456Z", path: "/a", pid: 7, line: "hello"))
        let daemon = FakeHandler(items: [line]) { .success($0.name == "logs" ? [:] : json) }
        try await withServer(daemon) { directory, _ in
            func status(_ arguments: String...) async throws -> BuiltProgram.Ended {
                try await Self.coordinatorctl.run(["--runtime-dir", directory.path, "status"] + arguments)
            }
            func lines() -> [Int] { daemon.operations.compactMap { ($0.content as? ControlOperation.Logs)?.query.lines } }
            let text = try await status("/a")
            let facts = Dictionary(text.output.split(separator: "\n").map { ($0.prefix { $0 != ":" }, $0) }) { first, _ in first }
            #expect(facts["command"]?.contains(CommandLine.arguments[0]) == true, "\(text)")
            #expect(facts["memory"]?.contains(/: +[1-9][0-9]*\.[0-9] MiB/) == true, "\(text)")
            #expect(facts["cpu"] != nil && text.output.hasSuffix("\n\n2026-11-22T20:41:00.123456Z /a[7]: hello\n") && lines() == [10])
            #expect(try await !status("/a", "-n", "0").output.contains("hello") && lines() == [10])
            #expect(try await status("/a", "--json").output == ControlJSON.text(of: json) + "\n" && lines() == [10])
            var whole = json
            whole["log"] = [line]
            #expect(try await status("/a", "--json", "--lines", "3").output == ControlJSON.text(of: whole) + "\n" && lines() == [10, 3])
            for wrong in [["--lines", "3"], ["/a", "--lines=-1"], ["/a", "--lines", "10001"]] {
                let ended = try await Self.coordinatorctl.run(["status"] + wrong)
                #expect(ended.exitCode == 64 && ended.errors.contains("--lines"), "\(ended)")
            }
        }
    }

    @Test(
        "A misspelt option leads to the one that is meant",
        arguments: [(["logs", "/a", "--folow"], "--follow"), (["tree", "--faild"], "--failed")]
    )
    func options(arguments: [String], meant: String) async throws {
        let ended = try await Self.coordinatorctl.run(arguments)
        #expect(ended.exitCode == 64 && ended.output.isEmpty && ended.errors.contains("Did you mean '\(meant)'?"), "\(ended)")
    }

    @Test("Help is there for each command, and for no other")
    func help() async throws {
        let known = try await Self.coordinatorctl.run(["help", "config", "apply"])
        #expect(known.exitCode == 0 && known.output.contains("coordinatorctl config apply"))
        for (arguments, name) in [(["help", "nosuch"], "nosuch"), (["help", "config", "nosuch", "--json"], "nosuch")] {
            let unknown = try await Self.coordinatorctl.run(arguments)
            #expect(unknown.exitCode == 64 && unknown.output.isEmpty)
            #expect(unknown.errors.contains("there is no command '\(name)'; `coordinatorctl help` lists them"))
        }
    }

    @Test("A message comes from a file or from standard input; a result that can't be written is a failure")
    func files() async throws {
        try await withServer(Self.daemon()) { directory, _ in
            let temporary = try TemporaryDirectory()
            try Files.write("[\"from a file\"]", to: temporary.file("message"))
            let command = "\(Self.coordinatorctl.path) --runtime-dir \(directory.path)"
            func run(_ line: String) async throws -> (Processes.ExitStatus, String) {
                let output = Transcript()
                let specification = ProcessSpecification(
                    executable: "/bin/sh",
                    arguments: ["-c", line],
                    standardOutput: output.destination,
                    standardError: .sameAsOutput
                )
                return try await withChild(specification) { (await $0.waitForExit(), output.text) }
            }
            let answer = "{\"got\":[\"from a file\"],\"ms\":5000}\n"
            for source in ["@\(temporary.file("message"))", "- <\(temporary.file("message"))"] {
                let ended = try await run("\(command) ask /shop Echo \(source)")
                #expect(ended == (.exited(code: 0), answer))
            }
            let full = try await run("\(command) tree >/dev/full")
            #expect(full == (.exited(code: 1), "coordinatorctl: the result can't be written: No space left on device\n"))
            // The reader of a pipe may stop reading.
            let piped = try await run("\(command) tree | true")
            #expect(piped.0 == .exited(code: 0))
        }
    }

    @Test("A tree of any depth that a path can have is shown, and its names can't move the cursor")
    func deepTree() async throws {
        var node = TreeNode("/leaf\u{9B}2J\u{202E}")
        for level in 0..<200 { node = TreeNode("/\(level)", [node]) }
        let json = try ControlJSON.value(of: node)
        try await withServer(FakeHandler { _ in .success(json) }) { directory, _ in
            let text = try await Self.coordinatorctl.run(["--runtime-dir", directory.path, "tree"])
            #expect(text.exitCode == 0)
            #expect(text.output.contains("leaf\\u{009B}2J\\u{202E}") && !text.output.unicodeScalars.contains("\u{9B}"))
            let json = try await Self.coordinatorctl.run(["--runtime-dir", directory.path, "--json", "tree"])
            #expect(json.exitCode == 0)
            #expect(json.output.contains(#"leaf\u009b2J\u202e"#) && !json.output.unicodeScalars.contains("\u{9B}"))
        }
    }

    @Test(
        "A wrong usage exits with 64 and prints the usage",
        arguments: [
            ["pause"], ["resume"], ["bogus"], ["ask", "/a", "M", "{}", "--timeout", "5"],
            ["ask", "/a", "M", "--timeout", "0s"], ["tree", "--colour"],
        ]
    )
    func usage(arguments: [String]) async throws {
        let ended = try await Self.coordinatorctl.run(arguments)
        #expect(ended.exitCode == 64)
        #expect(ended.output == "")
        #expect(ended.errors.contains("Usage: coordinatorctl"))
    }

    @Test("Users who are not allowed are refused")
    func otherUsersAreTurnedAway() async throws {
        try await withServer(allowedUserIDs: []) { directory, _ in
            let ended = try await Self.coordinatorctl.run(["tree", "--runtime-dir", directory.path])
            #expect(
                ended
                    == .init(
                        exitCode: 77,
                        output: "",
                        errors: "coordinatorctl: user \(geteuid()) may not operate this daemon; allowed: no user\n"
                    )
            )
        }
    }

    @Test("The runtime directory can be given before and after the command's name")
    func theRuntimeDirectoryMayBeNamedOnEitherSide() async throws {
        for arguments in [["--runtime-dir", "/nonexistent/c", "tree"], ["tree", "--runtime-dir", "/nonexistent/c"]] {
            let ended = try await Self.coordinatorctl.run(arguments)
            #expect(
                ended
                    == .init(
                        exitCode: 69,
                        output: "",
                        errors: "coordinatorctl: the daemon isn't reachable at /nonexistent/c/control.sock; start it with "
                            + "`coordinatord --config FILE`, or name its runtime directory with --runtime-dir\n"
                    )
            )
        }
        let long = "/" + String(repeating: "d", count: 100)
        let ended = try await Self.coordinatorctl.run(["tree", "--runtime-dir", long])
        #expect(ended.exitCode == 64)
    }

    @Test("config check prints a summary of a good file and the problems of a bad one")
    func configurationFiles() async throws {
        let temporary = try TemporaryDirectory()
        let file = temporary.file("c.yaml")
        func write(_ text: String) throws { try Files.write(text, to: file) }
        try write("children:\n  - { name: cat, program: { command: [cat] }, stop_timeout: 1500ms }\n")
        let text = "\(file): ok; 1 child, one_for_one, at most 5 restarts in 1m\n  cat: program cat, restart always, stop_timeout 1500ms\n"
        #expect(try await Self.coordinatorctl.run(["config", "check", file]) == .init(exitCode: 0, output: text, errors: ""))
        let json =
            #"{"children":[{"executable":"cat","kind":"program","name":"cat","restart":"always","stop_timeout":"1500ms"}],"#
            + #""file":"\#(file)","max_restarts":5,"orphan_grace":"10s","period":"1m","strategy":"one_for_one","valid":true}"# + "\n"
        for arguments in [["--json", "config", "check"], ["config", "--json", "check"], ["config", "check", "--json"]] {
            #expect(try await Self.coordinatorctl.run(arguments + [file]) == .init(exitCode: 0, output: json, errors: ""))
        }

        try write("childern: []\norphan_grace: 5\n")
        let problems = """
            \(file):1:1: unknown key `childern` in the file; did you mean `children`?
            \(file):2:15: `orphan_grace` is 5 without a unit; expected 5s if seconds are meant, or another of the units ms, s, m and h

            """
        #expect(try await Self.coordinatorctl.run(["config", "check", file]) == .init(exitCode: 78, output: "", errors: problems))
        #expect(try await Self.coordinatorctl.run(["config", "check", temporary.file("none")]).exitCode == 78)
        let report = try await Self.coordinatorctl.run(["config", "check", "--json", file])
        #expect(report.exitCode == 78)
        #expect(report.errors.hasPrefix(#"{"error":{"code":"badConfiguration","message":""#))
        #expect(report.errors.contains(#""problems":[{"column":1,"file":"\#(file)","line":1,"message":"unknown key"#))
    }
}
