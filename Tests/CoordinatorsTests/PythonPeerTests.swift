import Coordinators
import CoordinatorsTesting
import Fixtures
import Glibc
import Logging
import Processes
import TestSupport
import Testing
import WireProtocol

@Suite("A worker in Python, written from the documented format", .enabled(if: PythonPeer.isAvailable, "pynng isn't installed"))
struct PythonPeerTests {
    /// An overloaded machine leaves a process no thread for more than the five seconds of an ask.
    private static let patience = Duration.seconds(60)

    @Test("A Python worker says hello, starts, answers, asks its parent, and ends on request", .timeLimit(minutes: 3))
    func wholeLife() async throws {
        try await withRuntime(PythonParent.self, options: Support.options) { runtime in
            try await runtime.ask(PythonParent.StartPeer(), timeout: .seconds(20))
            let snapshot = try await runtime.snapshot(of: "/python")
            #expect(snapshot.state == .active)
            #expect(!snapshot.isUnresponsive)
            let peer = try #require(snapshot.processID.flatMap { ProcessIdentity(processID: $0) })

            let answer = try await runtime.ask(named: "Fixture.Echo", payload: ["text": "hello"], at: "/python", timeout: Self.patience)
            #expect(answer == "HELLO")
            #expect(
                try await runtime.ask(named: "Python.AskAbove", payload: ["text": "up"], at: "/python", timeout: Self.patience)
                    == "above: up"
            )
            // In each direction one side knows the other's message by a former name.
            #expect(try await runtime.ask(Shout(text: "louder"), at: "/python", timeout: Self.patience) == "LOUDER")
            let formerly = try await runtime.ask(
                named: "Python.AskAbove",
                payload: ["text": "up", "name": "Python.Murmur"],
                at: "/python",
                timeout: Self.patience
            )
            #expect(formerly == "above: up, softly")
            await expect(.unhandled) {
                try await runtime.ask(named: "Python.Unknown", payload: [:], at: "/python", timeout: Self.patience)
            }

            // The worker knows no parts.
            let large = JSONValue.string(String(repeating: "x", count: 2 << 20))
            await expect(.messageTooLarge) { try await runtime.ask(named: "Fixture.Echo", payload: ["text": large], at: "/python") }

            // Many names, and many asks at a time.
            try await runtime.expectAnswers(500) { ("Fixture.Echo", ["text": .string("n\($0)")]) }

            // Many more than the window of sixteen messages that it has named for its route: credit comes back, in both directions.
            try await runtime.expectAnswers(2_000) { ($0 % 2 == 0 ? "Fixture.Echo" : "Python.AskAbove", ["text": .string("m\($0)")]) }

            // A worker that lists only its children, of which it has none, is described all the same.
            let described = try await runtime.snapshot(of: "/python")
            #expect(described.mailbox == nil && !described.isUnresponsive && described.state == .active)

            kill(peer.processID, SIGKILL)
            try await eventually("another peer answers") {
                try? await runtime.ask(named: "Fixture.Echo", payload: ["text": "again"], at: "/python") == "AGAIN"
            }
            let successor = try #require(
                try await runtime.snapshot(of: "/python").processID.flatMap { ProcessIdentity(processID: $0) }
            )
            try await runtime.stop("/python")
            #expect(!peer.isAlive && !successor.isAlive)
            #expect(try await runtime.snapshot(of: "/python").lastExit == .shutdown)
        }
    }
}

extension PythonPeerTests {
    @Test("A Python worker takes acknowledged messages, and sends them: what comes twice is handled once", .timeLimit(minutes: 1))
    func acknowledged() async throws {
        try await withRuntime(PythonParent.self, options: Support.options) { runtime in
            try await runtime.ask(PythonParent.StartPeer(), timeout: .seconds(20))
            for _ in 0..<10 {
                let isHandled = try await runtime.send(
                    named: "Python.Count",
                    payload: [:],
                    at: "/python",
                    acknowledged: true,
                    timeout: .seconds(20)
                )
                #expect(isHandled)
            }
            #expect(try await runtime.ask(named: "Python.Count", payload: [:], at: "/python") == 11)
            #expect(try await !runtime.send(named: "Python.Unknown", payload: [:], at: "/python", acknowledged: true))
            for number in 0..<20 {
                let answers = try await runtime.ask(named: "Python.SendAbove", payload: ["number": .integer(Int64(number))], at: "/python")
                #expect(answers == [0, 0], "both are answered with success")
            }
            #expect(try await runtime.ask(PythonParent.Notes()) == Array(0..<20))
        }
    }
}

@Suite("Workers in Python that need nothing but Python", .enabled(if: PythonPeer.isPythonThere, "python3 isn't installed"))
struct PlainPythonTests {
    @Test("The example worker in the format's document runs as it's written", .timeLimit(minutes: 1))
    func sample() async throws {
        let directory = try TemporaryDirectory()
        let script = directory.file("sample.py")
        try Files.write(PythonPeer.writtenWorker(), to: script)
        defer { withExtendedLifetime(directory) {} }
        try await withRuntime(PythonParent.self, options: Support.options) { runtime in
            try await runtime.ask(PythonParent.StartPeer([script]), timeout: .seconds(20))
            // The worker answers an inspection, so the snapshot doesn't wait for the time-out.
            try await expectPromptly(within: .seconds(4)) {
                let began = MachineClock.now
                let snapshot = try await runtime.snapshot(of: "/python")
                #expect(snapshot.state == .active && !snapshot.isUnresponsive)
                return MachineClock.now - began
            }
            try await runtime.expectAnswers(2_000) { ("Echo", .integer(Int64($0))) }
            // The worker knows the message by a former name.
            #expect(try await runtime.ask(Repeat(text: "again"), at: "/python") == Repeat(text: "again"))
            // In parts, both ways.
            let large = Repeat(text: String(repeating: "x", count: 3 << 20))
            #expect(try await runtime.ask(large, at: "/python", timeout: .seconds(30)) == large)
            #expect(try await runtime.pause("/python").state == .paused)
            #expect(try await runtime.resume("/python").state == .active)
            await expect(.unhandled) {
                try await runtime.ask(named: "Unknown", payload: [:], at: "/python")
            }
            try await runtime.stop("/python")
            #expect(try await runtime.snapshot(of: "/python").lastExit == .shutdown)
        }
    }

    @Test("A worker that sends without credit has its link closed, and the log says why", .timeLimit(minutes: 2))
    func flood() async throws {
        let log = RecordedLog()
        try await withRuntime(PythonParent.self, options: Support.options.with { $0.logger = log.logger }) { runtime in
            try await runtime.ask(PythonParent.StartPeer([PythonPeer.misbehaving, "flood"]), timeout: .seconds(20))
            try await eventually("it's logged") { log.lines.contains { $0.contains("a worker's link was closed") } }
            let line = log.lines.first { $0.contains("a worker's link was closed") } ?? ""
            #expect(line.contains("/python") && line.contains("Flood") && line.contains("without credit"), "\(line)")
            // What was taken ends with the link, and leaves its room to others.
            #expect(try await runtime.ask(Fixture.Echo("still there"), timeout: .seconds(20)) == "still there")
            try await runtime.kill("/python")
        }
    }

    @Test("A worker with too small limits is refused, and gets the reason", .timeLimit(minutes: 2))
    func tinyFrames() async throws {
        let log = RecordedLog()
        try await withRuntime(PythonParent.self, options: Support.options.with { $0.logger = log.logger }) { runtime in
            await #expect(throws: (any Error).self) {
                try await runtime.ask(PythonParent.StartPeer([PythonPeer.misbehaving, "tiny"]), timeout: .seconds(30))
            }
            try await eventually("it's logged") {
                log.lines.contains { $0.contains("a worker was refused") && $0.contains("frames of 64 bytes") }
            }
        }
    }
}

extension CoordinatorRuntime {
    /// Asks the worker so many times at once, and expects as many different answers.
    fileprivate func expectAnswers(_ count: Int, to question: @Sendable (Int) -> (name: String, payload: JSONValue)) async throws {
        let answers = try await withThrowingTaskGroup(of: JSONValue.self) { group in
            for number in 0..<count {
                let (name, payload) = question(number)
                group.addTask { try await self.ask(named: name, payload: payload, at: "/python", timeout: .seconds(60)) }
            }
            return try await group.reduce(into: Set<JSONValue>()) { $0.insert($1) }
        }
        #expect(answers.count == count)
    }
}

/// Renamed since the worker in Python was written.
private struct Shout: ResponderMessage {
    typealias Reply = String
    static let name = "Python.Shout"
    static let formerNames = ["Fixture.Echo"]
    var text: String
}

/// Renamed since the worker in Python was written, which asks it by its former name.
private struct Whisper: ResponderMessage {
    typealias Reply = String
    static let name = "Python.Whisper"
    static let formerNames = ["Python.Murmur"]
    var text: String
}

/// Renamed since the example of the written format.
private struct Repeat: ResponderMessage, Hashable {
    typealias Reply = Repeat
    static let name = "Python.Repeat"
    static let formerNames = ["Echo"]
    var text: String
}

enum PythonPeer {
    static let misbehaving = "\(Files.packageRoot)/Tests/PythonPeer/misbehaving.py"

    static var isPythonThere: Bool { system("\(interpreter) -c 'pass' 2>/dev/null") == 0 }

    /// The example at the end of the written format.
    static func writtenWorker() throws -> String {
        let article = try #require(Files.text(of: "\(Files.packageRoot)/Sources/WireProtocol/WireProtocol.docc/Format.md"))
        let block = try #require(article.split(separator: "```python\n").dropFirst().first)
        return String(try #require(block.split(separator: "\n```").first))
    }

    static let interpreter = getenv("COORDINATORS_TEST_PYTHON").map { String(cString: $0) } ?? "/usr/bin/python3"
    static let script = "\(Files.packageRoot)/Tests/PythonPeer/worker.py"

    static var isAvailable: Bool { system("\(interpreter) -c 'import pynng' 2>/dev/null") == 0 }
}

/// Starts the peer, and answers what it asks.
actor PythonParent: Coordinator {
    struct StartPeer: ResponderMessage {
        var arguments: [String]
        init(_ arguments: [String] = [PythonPeer.script]) { self.arguments = arguments }
    }

    /// Takes its time.
    struct Flood: ResponderMessage {}

    /// The numbers that the peer has sent.
    struct Notes: ResponderMessage {
        typealias Reply = [Int]
    }

    private var notes: [Int] = []

    static let mailbox = MailboxPolicy(running: 64, waiting: 64, bytes: 4 << 20)

    nonisolated let context: Context

    init(_ context: Context) { self.context = context }

    static let responders: Responders = [
        .respond(to: StartPeer.self) { me, start in
            try await me.context.start(
                worker: "PythonCoordinator",
                as: "python",
                executable: PythonPeer.interpreter,
                arguments: start.arguments
            )
        },
        .respond(to: Fixture.Echo.self) { _, echo in echo.text },
        .respond(to: Whisper.self) { _, whisper in "\(whisper.text), softly" },
        .respond(to: Fixture.Note.self) { me, note in me.notes.append(note.number) },
        .respond(to: Notes.self) { me, _ in me.notes },
        .respond(to: Flood.self) { _, _ in try await untilCancelled() },
    ]
}
