import Control
import Glibc
import Processes
import TestSupport
import Testing
import WireProtocol

/// What stays of a worker with a user of its own when the daemon's program is another one, and who can't take its place meanwhile.
extension AnotherUserTests {
    enum Change: CaseIterable {
        case upgrade, kill
    }

    @Test(
        "is kept by an upgrade, and adopted by the next daemon: same processes, state and output, in files for its user or root alone",
        arguments: Change.allCases
    )
    func adopted(after change: Change) async throws {
        try await RunningDaemon.with(Self.tree, wrapper: Self.wrapper) { daemon in
            try await daemon.allActive()
            let before = try await daemon.allPIDs()
            #expect(Set(before.keys) == ["/app", "/app/a", "/own"])
            #expect(try await daemon.add(5, to: "/app") == 5)
            var current = daemon.process
            for round in 1...3 {
                switch change {
                case .upgrade:
                    let result = try await daemon.upgrade()
                    #expect(result.kept == ["/app", "/own"] && result.restarted.isEmpty)
                case .kill:
                    current = try await daemon.killAndReplace(current)
                }
                try await daemon.allActive()
                #expect(try await daemon.allPIDs() == before)
                #expect(try await daemon.node("/app").incarnation == 1)
                #expect(Self.user(of: before["/app"]) == Self.nobody && Self.user(of: before["/app/a"]) == Self.nobody)
                #expect(try await daemon.add(1, to: "/app") == 5 + round)
                daemon.expectFilesOfTheirUsers()
            }
            // What is below the worker writes where the worker writes.
            let program: JSONValue = ["key": "p", "command": ["sh", "-c", "echo adopted; exec sleep 1000"]]
            try await daemon.call(.ask(path: "/app", message: "Fixture.StartProgram", payload: program, timeout: .seconds(50)))
            try await daemon.eventually("its output arrives") { try await daemon.control("logs", "/app").output.contains("adopted") }
            try await Self.killOnce(daemon)
            try await daemon.endLeavingNothing(current)
        }
    }

    @Test("is kept by an upgrade when a rolling restart has begun its life")
    func replaced() async throws {
        try await RunningDaemon.with(Self.tree, wrapper: Self.wrapper) { daemon in
            try await daemon.allActive()
            let first = try await daemon.allPIDs()
            #expect(try await daemon.control("restart", "--rolling", "/app").exitCode == 0)
            try await daemon.allActive()
            let before = try await daemon.allPIDs()
            #expect(before["/app"] != first["/app"] && Self.user(of: before["/app"]) == Self.nobody)
            #expect(try await daemon.control("upgrade").exitCode == 0)
            try await daemon.allActive()
            #expect(try await daemon.allPIDs() == before)
            daemon.expectFilesOfTheirUsers()
        }
    }

    @Test("isn't adopted when its process isn't of the user that the journal has", arguments: ["1", "null"])
    func recordedUser(_ other: String) async throws {
        try await RunningDaemon.with(Self.tree, wrapper: Self.wrapper) { daemon in
            try await daemon.allActive()
            let before = try await daemon.allPIDs()
            let former = try #require(before["/app"].flatMap { ProcessIdentity(processID: $0) })
            try await daemon.kill(daemon.process)
            let (file, text) = try daemon.journal()
            let field = "\"user\":\(Self.nobody)"
            #expect(text.contains(field))
            try Files.write(text.replacing(field, with: "\"user\":\(other)"), to: file)
            let log = Transcript()
            _ = try await daemon.startNext(standardError: log.destination)
            try await daemon.allActive()
            // It's gone before the daemon makes a socket for its user.
            #expect(!log.text.contains("a worker of a former runtime is ended"))
            let after = try await daemon.allPIDs()
            #expect(after["/app"] != before["/app"] && after["/own"] == before["/own"])
            #expect(!former.isAlive)
            #expect(try await daemon.node("/app").incarnation == 2)
        }
    }

    @Test(
        "can't be replaced by others while it has no parent nor later, though they have its secret; nor can they read its files",
        .enabled(if: access("/usr/bin/python3", X_OK) == 0, "needs /usr/bin/python3"),
        arguments: [nobody - 1, nobody]
    )
    func strangers(user: UInt32) async throws {
        let log = Transcript()
        try await RunningDaemon.with(Self.tree, wrapper: Self.wrapper) { daemon in
            try await daemon.allActive()
            let before = try await daemon.allPIDs()
            let app = try #require(before["/app"].flatMap { ProcessIdentity(processID: $0) })
            let stranger = Stranger(user: user, hello: try daemon.hello(of: "/app"))
            let reason =
                user == Self.nobody
                ? "isn't of the session of \(app.processID), which was spawned" : "the peer runs as user \(user), not \(Self.nobody)"
            func refusals() -> Int {
                log.text.split(separator: "\n").count { $0.contains("a worker was refused") && $0.contains("/app") && $0.contains(reason) }
            }
            let socket = "\(daemon.run)/root-\(Self.nobody).sock"
            /// Shows the worker's secret, also where only the daemon's own check keeps a stranger out.
            func tryToEnter(_ socket: String) async throws {
                let former = refusals()
                if user != Self.nobody {
                    #expect(try await stranger.outcomes(at: [socket]) == ["PermissionError"])
                    chmod(socket, 0o666)
                }
                #expect(try await stranger.outcomes(at: [socket]) == [Stranger.greetingOnly])
                chmod(socket, 0o600)
                try await daemon.eventually("it's logged") { refusals() == former + 1 }
            }
            // While it looks for a parent, and is kept from finding one.
            try await stopProcess(app)
            try await daemon.kill(daemon.process)
            unlink(socket)
            let next = try await daemon.startNext(standardError: log.destination)
            try await daemon.eventually("the next daemon waits for it") { Files.user(of: socket) == Self.nobody }
            try await tryToEnter(socket)
            #expect(!log.text.contains("a worker of a former runtime is adopted"), "the stranger counts as the worker's answer")
            try app.send(.continue)
            try await daemon.allActive()
            #expect(try await daemon.allPIDs() == before)
            // When it was adopted.
            try await tryToEnter(socket)
            #expect(try await daemon.add(5, to: "/app") == 5)

            let names = Files.names(in: daemon.run).filter { $0 != "root-\(Self.nobody).sock" }
            #expect(["control.sock", "root.sock", "root.lock"].allSatisfy(names.contains))
            for suffix in [".processes", ".life", ".out"] { #expect(names.contains { $0.hasSuffix(suffix) }, "\(suffix)") }
            let files = [daemon.run] + names.map { "\(daemon.run)/\($0)" }
            let memory = ["environ", "fd", "mem"].map { "/proc/\(next.identity.processID)/\($0)" }
            let outcomes = try await stranger.outcomes(at: files + memory)
            for (file, outcome) in zip(files + memory, outcomes) { #expect(outcome == "PermissionError", "\(file)") }
            #expect(outcomes.count == files.count + memory.count)
        }
    }
}

/// A process of some user that has come by the secret of a worker.
private struct Stranger {
    let user: UInt32
    /// The bytes that the worker would send.
    let hello: [UInt8]

    /// The outcome of a conversation in which the other side says nothing but the protocol's greeting.
    static let greetingOnly = RawSocket.greeting.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()

    private static let script = """
        import os, socket, stat, sys
        def outcome(path):
            if stat.S_ISSOCK(os.lstat(path).st_mode):
                connection = socket.socket(socket.AF_UNIX)
                connection.settimeout(20)
                connection.connect(path)
                received = b""
                try:
                    connection.sendall(bytes.fromhex(sys.argv[1]))
                    while part := connection.recv(4096):
                        received += part
                except (ConnectionResetError, BrokenPipeError):
                    pass
                return received.hex()
            if os.path.isdir(path):
                return os.listdir(path)
            os.close(os.open(path, os.O_RDONLY | os.O_NONBLOCK))
            return "opened"
        for path in sys.argv[2:]:
            try:
                print(outcome(path))
            except OSError as error:
                print(type(error).__name__)
        """

    /// Opens each file, or shows the secret to whoever listens at it.
    func outcomes(at paths: [String]) async throws -> [String] {
        let output = Transcript()
        let bytes = hello.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
        let python = ["/usr/bin/python3", "-c", Self.script, bytes] + paths
        let specification = ProcessSpecification(
            executable: "/usr/bin/setpriv",
            arguments: ["--reuid=\(user)", "--regid=\(user)", "--clear-groups"] + python,
            workingDirectory: "/",
            standardOutput: output.destination
        )
        _ = try await withChild(specification) { await $0.waitForExit() }
        return output.text.split(separator: "\n").map(String.init)
    }
}

extension Files {
    /// Returns the user to whom a file belongs.
    fileprivate static func user(of path: String) -> UInt32? {
        var status = stat()
        return lstat(path, &status) == 0 ? status.st_uid : nil
    }
}

extension RunningDaemon {
    /// Expects that every file is root's and for root alone, but for the one socket that is of the user whose workers dial it.
    fileprivate func expectFilesOfTheirUsers() {
        #expect(Files.mode(of: run) == 0o711 && Files.user(of: run) == 0)
        let dialled = "root-\(AnotherUserTests.nobody).sock"
        let names = Files.names(in: run)
        #expect(names.contains(dialled))
        for name in names {
            #expect(Files.user(of: "\(run)/\(name)") == (name == dialled ? AnotherUserTests.nobody : 0), "\(name)")
            #expect((Files.mode(of: "\(run)/\(name)") ?? 0o777) & 0o077 == 0, "\(name)")
        }
    }

    /// Returns the path and the text of the journal of processes.
    fileprivate func journal() throws -> (file: String, text: String) {
        let names = Files.names(in: run).filter { $0.hasSuffix(".processes") }
        #expect(names.count == 1)
        let file = "\(run)/\(try #require(names.first))"
        return (file, try #require(Files.text(of: file)))
    }

    /// Returns the bytes with which a worker would begin, with the secret that the journal has of it.
    fileprivate func hello(of path: String) throws -> [UInt8] {
        let records = try journal().text.split(separator: "\n").filter { $0.hasPrefix("a ") }.map { line in
            try ControlJSON.parse(Array(line.drop { $0 != "{" }.utf8))
        }
        let record = try #require(records.last { $0["path"] == .string(path) })
        guard case .string(let digits)? = record["secret"] else { return [] }
        let nibbles = digits.compactMap(\.hexDigitValue)
        let secret = stride(from: 0, to: nibbles.count, by: 2).map { UInt8(nibbles[$0] << 4 | nibbles[$0 + 1]) }
        let hello = Hello(secret: secret, processID: 1, processStartTime: 1, buildID: "", maximumFrameSize: 1 << 20)
        var batch: [UInt8] = []
        FrameEncoder.append(Frame(.hello(hello)), to: &batch)
        return RawSocket.greeting + RawSocket.message(batch)
    }
}
