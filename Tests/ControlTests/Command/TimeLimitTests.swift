import ConcurrencySupport
import Processes
import TestSupport
import Testing
import WireProtocol

@testable import Control

@Suite("The time that a command is given", .timeLimit(minutes: 2))
struct TimeLimitTests {
    private static let coordinatorctl = BuiltProgram("coordinatorctl")

    @Test("Of many changes, those that couldn't be sent in time aren't sent, and say so; the others may have been carried out")
    func many() async throws {
        let answers = OneShot<Void>()
        defer { answers.settle() }
        let handler = FakeHandler { _ in
            await answers.value
            return .failure(ControlError(.failed, "too late"))
        }
        // More than are open at the same time.
        let paths = (0..<ControlServer.maximumOpenDescriptions).map { "/\($0)" }
        try await withServer(handler) { directory, _ in
            let ended = try await Self.coordinatorctl.run(["--runtime-dir", directory.path, "stop", "--json", "--timeout", "2s"] + paths)
            answers.settle()
            let results = try ControlJSON.parse(Array(ended.output.utf8))["results"]?.arrayValue ?? []
            let errors = results.compactMap { $0["error"] }
            #expect(ended.exitCode == 75 && errors.count == paths.count, "\(ended)")
            #expect(errors.allSatisfy { $0["code"] == "timedOut" }, "\(ended)")
            let sent = errors.count { $0["maybe_executed"] == true }
            let unsent = errors.count { $0["maybe_executed"] == false }
            #expect(unsent > 0 && sent + unsent == paths.count, "\(ended)")
            try await eventually("what was sent has come") { handler.operations.count == sent }
        }
    }

    @Test("The replacements of a rolling restart share its time")
    func rolling() async throws {
        let paths = try ControlJSON.value(of: PathList(paths: (1...20).map { "/a-\($0)" }))
        let result = try ControlJSON.value(of: LifecycleResult(path: "/a", state: "active", pid: 7, incarnation: 2))
        let handler = FakeHandler { operation in
            if operation.name == "replacements" { return .success(paths) }
            try? await realTime(.milliseconds(300), because: "each replacement takes a part of the command's time")
            return .success(result)
        }
        try await withServer(handler) { directory, _ in
            let arguments = ["--runtime-dir", directory.path, "restart", "--rolling", "/a", "--timeout", "2s"]
            let ended = try await Self.coordinatorctl.run(arguments)
            #expect(ended.exitCode == 75 && ended.errors.contains("; not touched: "), "\(ended)")
            #expect(handler.operations.count { $0.name == "replace" } < 20)
        }
    }

    private static let commands = [
        ["stop", "/a"], ["restart", "--rolling", "/a"], ["scale", "/a", "2"], ["upgrade"], ["drain", "--wait", "n"],
    ]

    /// Expects that a command ends in time without having sent anything.
    private static func expectNothingSent(_ command: [String], to directory: RuntimeDirectory) async throws {
        let arguments = ["--runtime-dir", directory.path, "--json"] + command + ["--timeout", "300ms"]
        let ended = try await coordinatorctl.run(arguments, within: .seconds(8))
        #expect(ended.exitCode == 75 && ended.output.isEmpty, "\(ended)")
        #expect(ended.errors.contains(#""code":"timedOut","maybe_executed":false"#), "\(ended)")
    }

    @Test("A command doesn't wait longer for a connection than for its result", arguments: commands)
    func connecting(command: [String]) async throws {
        // The socket takes connections, and says nothing.
        let temporary = try TemporaryDirectory()
        let directory = RuntimeDirectory(path: temporary.path)
        let listener = try RawSocket(listeningAt: directory.controlSocket)
        try await Self.expectNothingSent(command, to: directory)
        withExtendedLifetime((temporary, listener)) {}
    }

    @Test("A command ends in time while another program takes the daemon's place and there is no socket", arguments: commands)
    func upgrading(command: [String]) async throws {
        let temporary = try TemporaryDirectory()
        let directory = RuntimeDirectory(path: temporary.path)
        UpgradeMarker(directory).set()
        try await Self.expectNothingSent(command, to: directory)
        withExtendedLifetime(temporary) {}
    }

    @Test("A change that the daemon refuses while it's being replaced isn't requested again when the time is over")
    func refused() async throws {
        try await withServer(FakeHandler { _ in .failure(RequestIntake.closed) }) { directory, _ in
            try await Self.expectNothingSent(["stop", "/a"], to: directory)
        }
    }

    @Test("When the time is over, the answer to the question what is waited for isn't waited for either")
    func question() async throws {
        let answers = OneShot<Void>()
        defer { answers.settle() }
        let handler = FakeHandler { _ in
            await answers.value
            return .failure(ControlError(.failed, "too late"))
        }
        try await withServer(handler) { directory, _ in
            try await expectPromptly(within: .seconds(5)) {
                let began = ContinuousClock.now
                let outcome: Result<JSONValue, ControlError> = try await blocking {
                    Result { () throws(ControlError) in
                        // It asks after 200 ms.
                        let patience = ClientPatience(limit: .milliseconds(400), isForBeginning: true)
                        var client = try BlockingControlClient(runtimeDirectory: directory, patience: patience)
                        return try client.call(.stop(path: "/a"))
                    }
                }
                let error = #expect(throws: ControlError.self) { try outcome.get() }
                #expect(error?.code == .timedOut)
                return ContinuousClock.now - began
            }
            answers.settle()
        }
    }

    @Test("A request that is made once isn't made again while another program takes the daemon's place")
    func once() async throws {
        let handler = FakeHandler { _ in .failure(RequestIntake.closed) }
        try await withServer(handler) { directory, _ in
            let outcome: Result<JSONValue, ControlError> = try await blocking {
                Result { () throws(ControlError) in
                    var client = try BlockingControlClient(runtimeDirectory: directory)
                    return try client.callOnce(.tree, timeout: .seconds(50))
                }
            }
            #expect(outcome == .failure(RequestIntake.closed))
        }
        #expect(handler.operations == [.tree])
    }
}
