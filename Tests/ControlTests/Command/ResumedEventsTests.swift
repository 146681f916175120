import ConcurrencySupport
import Glibc
import Processes
import TestSupport
import Testing
import WireProtocol

@testable import Control
@testable import coordinatorctl

@Suite("Events that go on, on another connection", .timeLimit(minutes: 2))
struct ResumedEventsTests {
    private static let query = EventQuery(after: 5, path: "/a", follows: true)

    @Test("Before the first event, another daemon is asked for what has happened since the beginning, and the same one after the number")
    func operation() {
        func resumed(_ query: EventQuery, byAnother isAnother: Bool) -> EventQuery? {
            let operation = EventsCommand.operation(.events(query), begunAt: 7, byAnother: isAnother)
            return (operation.content as? ControlOperation.Events)?.query
        }
        #expect(resumed(Self.query, byAnother: true) == EventQuery(sinceMilliseconds: 7, path: "/a", follows: true))
        #expect(resumed(Self.query, byAnother: false) == Self.query)
        // Without a number, the beginning stays what it was.
        for query in [EventQuery(follows: true), EventQuery(sinceMilliseconds: 3, follows: true)] {
            #expect(resumed(query, byAnother: true) == query)
        }
        // The node's daemon may be the one of before.
        let elsewhere = ControlOperation.onNode("b", .events(Self.query))
        #expect(EventsCommand.operation(elsewhere, begunAt: 7, byAnother: true) == elsewhere)
    }

    private static func command(_ directory: RuntimeDirectory) -> ProcessSpecification {
        ProcessSpecification(
            executable: BuiltProgram("coordinatorctl").path,
            arguments: ["--runtime-dir", directory.path, "events", "--follow", "--since", "5"],
            environment: ["PATH": "/usr/bin:/bin"].merging(Sanitizer.environment) { given, _ in given },
            standardOutput: .null,
            standardError: .null
        )
    }

    @Test("A number isn't repeated to the next daemon")
    func another() async throws {
        let temporary = try TemporaryDirectory()
        let directory = RuntimeDirectory(path: temporary.file("run"))
        let handlers = [0, 1].map { _ in
            FakeHandler { _ in
                try? await untilCancelled()
                return .failure(ControlError(.cancelled, "cancelled"))
            }
        }
        let isOver = OneShot<Void>()
        defer { isOver.settle() }
        let first = Task { try await withServer(handlers[0], at: directory) { _, _ in await isOver.value } }
        try await eventually("the daemon is there") { access(directory.controlSocket, F_OK) == 0 }
        try await withChild(Self.command(directory)) { _ in
            try await eventually("it's asked") { handlers[0].operations == [.events(EventQuery(after: 5, follows: true))] }
            isOver.settle()
            try await first.value
            try await withServer(handlers[1], at: directory) { _, _ in
                try await eventually("the next one is asked") { handlers[1].operations.count == 1 }
            }
        }
        let query = (handlers[1].operations.first?.content as? ControlOperation.Events)?.query
        #expect(query?.after == nil && query?.sinceMilliseconds != nil && query?.follows == true, "\(String(describing: query))")
        withExtendedLifetime(temporary) {}
    }

    @Test("A number is repeated when another program has taken the daemon's place, since the numbers go on")
    func upgraded() async throws {
        let isFirst = OneShot<Void>()
        let handler = FakeHandler { _ in
            if isFirst.settle() { return .failure(RequestIntake.closed) }
            try? await untilCancelled()
            return .failure(ControlError(.cancelled, "cancelled"))
        }
        try await withServer(handler) { directory, _ in
            try await withChild(Self.command(directory)) { _ in
                try await eventually("it's asked again") { handler.operations.count == 2 }
            }
        }
        let operation = ControlOperation.events(EventQuery(after: 5, follows: true))
        #expect(handler.operations == [operation, operation])
    }
}
