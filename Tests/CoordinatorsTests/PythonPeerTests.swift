import Coordinators
import CoordinatorsTesting
import Fixtures
import Glibc
import Processes
import TestSupport
import Testing
import WireProtocol

@Suite("A worker in Python, written from the documented format", .enabled(if: PythonPeer.isAvailable, "pynng isn't installed"))
struct PythonPeerTests {
    @Test("It says hello, is started, answers, asks its parent, and ends when told", .timeLimit(.minutes(1)))
    func wholeLife() async throws {
        try await withRuntime(PythonParent.self, options: Support.options) { runtime in
            try await runtime.ask(PythonParent.StartPeer(), timeout: .seconds(20))
            let snapshot = try await runtime.snapshot(of: "/python")
            #expect(snapshot.state == .active)
            #expect(!snapshot.isUnresponsive)
            let peer = try #require(snapshot.processID.flatMap { ProcessIdentity(processID: $0) })

            let answer = try await runtime.ask(named: "Fixture.Echo", payload: ["text": "hello"], at: "/python")
            #expect(answer == "HELLO")
            let above = try await runtime.ask(named: "Python.AskAbove", payload: ["text": "up"], at: "/python")
            #expect(above == "above: up")
            let error = await #expect(throws: CoordinatorError.self) {
                try await runtime.ask(named: "Python.Unknown", payload: [:], at: "/python")
            }
            #expect(error?.code == .unhandled)

            // Many names, and many asks at a time.
            try await withThrowingTaskGroup(of: JSONValue.self) { group in
                for number in 0..<500 {
                    group.addTask {
                        try await runtime.ask(
                            named: "Fixture.Echo",
                            payload: ["text": .string("n\(number)")],
                            at: "/python",
                            timeout: .seconds(30)
                        )
                    }
                }
                var answers: Set<JSONValue> = []
                for try await answer in group { answers.insert(answer) }
                #expect(answers.count == 500)
            }

            kill(peer.processID, SIGKILL)
            try await eventually("another peer answers") {
                try? await runtime.ask(named: "Fixture.Echo", payload: ["text": "again"], at: "/python") == "AGAIN"
            }
            let successor = try #require(
                try await runtime.snapshot(of: "/python").processID.flatMap { ProcessIdentity(processID: $0) }
            )
            try await runtime.stop("/python")
            #expect(!peer.isAlive && !successor.isAlive)
            #expect(try await runtime.snapshot(of: "/python").lastExit == "shutdown")
        }
    }
}

enum PythonPeer {
    static let interpreter = getenv("COORDINATORS_TEST_PYTHON").map { String(cString: $0) } ?? "/usr/bin/python3"
    static let script = "\(Files.packageRoot)/Tests/PythonPeer/worker.py"

    static var isAvailable: Bool { system("\(interpreter) -c 'import pynng' 2>/dev/null") == 0 }
}

/// Starts the peer, and answers what it asks.
actor PythonParent: Coordinator {
    struct StartPeer: ResponderMessage {}

    nonisolated let context: Context<PythonParent>

    init(_ context: Context<PythonParent>, _ configuration: Configuration) { self.context = context }

    static let responders: [Responder<PythonParent>] = [
        .respond(to: StartPeer.self) { me, _ in
            try await me.context.start(
                worker: "PythonCoordinator",
                as: "python",
                executable: PythonPeer.interpreter,
                arguments: [PythonPeer.script]
            )
        },
        .respond(to: Fixture.Echo.self) { _, echo in echo.text },
    ]
}
