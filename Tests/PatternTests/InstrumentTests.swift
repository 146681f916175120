import ConcurrencySupport
import Coordinators
import CoordinatorsTesting
import Fixtures
import Glibc
import Logging
import TestSupport
import Testing

@Suite("Pattern: instruments", .timeLimit(minutes: 3))
struct InstrumentTests {
    @Test("Each message is observed once where it's sent and once where it's handled, whatever the row", arguments: Where.allCases)
    func everyRow(_ place: Where) async throws {
        try await ObservedTree.run(place) { tree in
            let child = try tree.runtime.coordinator(ObservedCoordinator.self, at: "/child")
            _ = try await child.ask(Observed.Quick(), timeout: .seconds(20))
            _ = try await child.ask(Observed.Slow(), timeout: .seconds(20))
            _ = try await child.ask(Observed.Instant(), timeout: .seconds(20))
            await #expect(throws: Fixture.Refusal.self) { try await child.ask(Fixture.Refuse(asCodable: true), timeout: .seconds(20)) }
            #expect(try await child.send(Fixture.Note(1)))
            var replies: [Int] = []
            for try await reply in try child.stream(Observed.Count(to: 3)) { replies.append(reply) }
            #expect(replies == [1, 2, 3])
            let remote = place.isWorker ? " remote" : ""
            // The kind of each message, how it's sent, how its row handles it, and its end.
            let rows = [
                ("ask", "Observed.Quick", "awaits", "at once", "end"), ("ask", "Observed.Slow", "awaits", "awaits", "end"),
                ("ask", "Observed.Instant", "awaits", "at once", "end"), ("ask", "Fixture.Refuse", "awaits", "at once", "Refusal"),
                ("send", "Fixture.Note", "awaits", "at once", "end"), ("stream", "Observed.Count", "at once", "awaits", "end"),
            ]
            for (kind, name, sent, handled, end) in rows {
                try await tree.expectSent(name, "outgoing \(kind) \(name) /child /child outside \(sent) []", "\(end) outgoing \(name)")
                try await tree.expectHandled(
                    name,
                    "incoming \(kind) \(name) /child /child ObservedCoordinator \(handled)\(remote) [>]",
                    "\(end) incoming \(name)"
                )
            }
        }
    }

    @Test("A trace crosses each hop as the instruments continue it", arguments: Where.allCases)
    func trace(_ place: Where) async throws {
        try await ObservedTree.run(place) { tree in
            try await TraceContext.$current.withValue(TraceContext(traceparent: "t")) {
                // Out of the test, into the child, out of the child, into the root.
                let direct = try await tree.runtime.ask(Observed.Climb("ask"), at: "/child", timeout: .seconds(20))
                #expect(direct == "t><><")
                // An interceptor lets the message climb by itself: that's no sending.
                let guarded = try await tree.runtime.ask(Observed.Climb("guarded"), at: "/child", timeout: .seconds(20))
                #expect(guarded == "t><><<")
                let sent = try await tree.runtime.ask(Observed.Climb("send"), at: "/child", timeout: .seconds(20))
                #expect(sent == "true")
            }
            let remote = place.isWorker ? " remote" : ""
            try await tree.expect(2, "incoming", "Observed.Upper", in: tree.recorder)
            #expect(
                tree.recorder.all("Observed.Upper").filter { $0.hasPrefix("incoming") } == [
                    "incoming ask Observed.Upper /child / ObservedRoot at once\(remote) [t><>]",
                    "incoming send Observed.Upper /child / ObservedRoot at once\(remote) [t><>]",
                ]
            )
        }
    }

    @Test("The first instrument is the outermost, around rows that await and rows that don't")
    func order() async throws {
        let shared = Recorder.Log()
        try await ObservedTree.run(.inProcess, [Recorder("a", into: shared), Recorder("b", into: shared)]) { tree in
            for name in ["Observed.Quick", "Observed.Slow"] {
                shared.forget()
                _ = try await tree.runtime.ask(named: name, payload: [:], at: "/child")
                #expect(
                    shared.all.map { $0.split(separator: " ").prefix(2).joined(separator: " ") } == [
                        "aoutgoing ask", "boutgoing ask", "aincoming ask", "bincoming ask",
                        "bend incoming", "aend incoming", "bend outgoing", "aend outgoing",
                    ]
                )
            }
        }
    }

    @Test("An instrument that throws ends the message, which no handler gets", arguments: [MessageInfo.Direction.incoming, .outgoing])
    func refusal(_ direction: MessageInfo.Direction) async throws {
        let recorder = Recorder {
            $0.direction == direction && ["Fixture.Note", "Observed.NoteSlowly", "Observed.Count"].contains($0.name)
        }
        try await ObservedTree.run(.inProcess, [recorder]) { tree in
            let child = try tree.runtime.coordinator(ObservedCoordinator.self, at: "/child")
            await #expect(throws: Recorder.Refusal("Fixture.Note")) { try await child.ask(Fixture.Note(1), timeout: .seconds(20)) }
            await #expect(throws: Recorder.Refusal("Observed.NoteSlowly")) {
                try await child.ask(Observed.NoteSlowly(2), timeout: .seconds(20))
            }
            await #expect(throws: Recorder.Refusal("Observed.Count")) {
                for try await _ in try child.stream(Observed.Count(to: 3)) {}
            }
            await #expect(throws: Recorder.Refusal("Observed.Count")) {
                try await tree.runtime.ask(Observed.Climb("count"), at: "/child", timeout: .seconds(20))
            }
            if direction == .outgoing {
                await #expect(throws: Recorder.Refusal("Fixture.Note")) { try await child.send(Fixture.Note(3)) }
            } else {
                #expect(try await child.send(Fixture.Note(3)))
                try await eventually("the loss is a dead letter") { tree.runtime.deadLetters.count == 1 }
                #expect(recorder.all.contains { $0.hasPrefix("dropped Fixture.Note the handler failed") })
            }
            #expect(try await child.ask(Fixture.Notes(), timeout: .seconds(20)) == [])
        }
    }

    @Test("Cancelling an ask passes through the instruments on both sides", arguments: Where.allCases)
    func cancellation(_ place: Where) async throws {
        try await ObservedTree.run(place) { tree in
            let asking = Task { try await tree.runtime.ask(Observed.Hold(until: "never"), at: "/child", timeout: .seconds(600)) }
            try await tree.expect(1, "incoming", "Observed.Hold", in: nil)
            asking.cancel()
            await #expect(throws: CancellationError.self) { try await asking.value }
            try await tree.expectSent(
                "Observed.Hold",
                "outgoing ask Observed.Hold /child up outside awaits []",
                "CancellationError outgoing Observed.Hold"
            )
            try await eventually("the handler has ended") {
                try await tree.handled("Observed.Hold").last == "CancellationError incoming Observed.Hold"
            }
        }
    }

    @Test("Messages begin in the order in which they were sent, within instruments too", arguments: Where.allCases)
    func orderOfMessages(_ place: Where) async throws {
        try await ObservedTree.run(place) { tree in
            let child = try tree.runtime.coordinator(ObservedCoordinator.self, at: "/child")
            for number in 0..<100 {
                if number.isMultiple(of: 2) {
                    try await child.send(Fixture.Note(number))
                } else {
                    try await child.send(Observed.NoteSlowly(number))
                }
            }
            #expect(try await child.ask(Fixture.Notes(), timeout: .seconds(20)) == Array(0..<100))
            try await tree.expect(50, "end incoming", "Fixture.Note", in: nil)
            try await tree.expect(50, "end incoming", "Observed.NoteSlowly", in: nil)
        }
    }

    @Test("Changes are noted once in the whole tree, and the instruments are flushed at the end of each process", arguments: Where.allCases)
    func changes(_ place: Where) async throws {
        let recorder = Recorder()
        let notebook = try Notebook.temporary()
        defer { notebook.remove() }
        recorder.noteFlush(in: notebook)
        var ofWorker: [String] = []
        try await ObservedTree.run(place, [recorder], notebook) { tree in
            try await tree.runtime.ask(Fixture.Fail(), at: "/child", timeout: .seconds(20))
            try await eventually("it's restarted") { recorder.all.contains("/child restarted") }
            try await tree.runtime.pause("/child")
            try await tree.runtime.resume("/child")
            if place.isWorker { ofWorker = try await tree.runtime.ask(Observed.Lines(), at: "/child", timeout: .seconds(20)) }
        }
        let changes = recorder.all.filter { $0.hasPrefix("/") }
        let reason = ExitReason.failed(#"Refusal(reason: "broken")"#)
        #expect(
            changes.filter { $0.hasPrefix("/child ") } == [
                "/child started", "/child \(LifecycleChange.crashed(reason))", "/child restarted", "/child paused", "/child resumed",
                "/child \(LifecycleChange.stopped(.shutdown))",
            ]
        )
        #expect(changes.filter { $0.hasPrefix("/ ") } == ["/ started", "/ \(LifecycleChange.stopped(.shutdown))"])
        #expect(ofWorker.filter { $0.hasPrefix("/") } == [])
        #expect(recorder.all.last == "flushed")
        // Two lives of a worker, each a process, and the root's process.
        try await eventually("all have flushed") { notebook.lines.count { $0 == "flushed" } == (place.isWorker ? 3 : 1) }
    }

    @Test("The tap reports each message once within instruments, and doesn't change its way")
    func tap() async throws {
        try await ObservedTree.run(.inProcess) { tree in
            let events = tree.runtime.tap()
            _ = try await tree.runtime.ask(Observed.Climb("ask"), at: "/child", timeout: .seconds(20))
            // A row that doesn't await has run in its asker's task, and so hasn't waited.
            #expect(tree.recorder.all("Observed.Upper").contains { $0.hasPrefix("incoming") && $0.contains("at once") })
            await tree.runtime.stop()
            var handled: [String] = []
            for await event in events {
                if case .handled(let message, let sender, _, let error) = event.kind {
                    handled.append("\(message) \(sender) \(error ?? "-")")
                }
            }
            #expect(handled == ["Observed.Upper /child -", "Observed.Climb /child -"])
        }
    }

    @Test("Rows that observe a type get the events of a pool's members", arguments: Where.allCases)
    func events(_ place: Where) async throws {
        try await ObservedTree.run(place, configure: { $0.isPool = true }) { tree in
            for number in 1...2 {
                try await tree.runtime.ask(Observed.Tell(number), at: CoordinatorPath("/child/\(number)") ?? .root, timeout: .seconds(20))
            }
            try await eventually("both are observed, each once") {
                try await tree.runtime.ask(Observed.Events(), timeout: .seconds(20)).sorted() == ["/child/1 1", "/child/2 2"]
            }
        }
    }
}

/// A running tree with one child, in whose every process an instrument records.
struct ObservedTree: Sendable {
    let runtime: CoordinatorRuntime
    let recorder: Recorder
    let place: Where

    static func run(
        _ place: Where,
        _ recorders: [Recorder] = [Recorder()],
        _ notebook: Notebook = Notebook(),
        configure: (inout ObservedRoot.Configuration) -> Void = { _ in },
        _ body: (ObservedTree) async throws -> Void
    ) async throws {
        let directory = try TemporaryDirectory()
        let executable = directory.file(Fixture.recordingName)
        try #require(symlink(Support.worker.path, executable) == 0)
        var options = Support.options
        options.workerExecutable = executable
        options.instruments = recorders
        // The failures of the tests are expected.
        options.logger.logLevel = .critical
        let recorder = try #require(recorders.first)
        try await withRuntime(
            ObservedRoot.self,
            options: options,
            configure: {
                ($0.notebook, $0.isInWorker) = (notebook, place.isWorker)
                configure(&$0)
            }
        ) { runtime in
            try await body(ObservedTree(runtime: runtime, recorder: recorder, place: place))
        }
        withExtendedLifetime(directory) {}
    }

    /// What the instrument of the child's process has noted down of a message that is handled there.
    func handled(_ name: String) async throws -> [String] {
        let lines = place.isWorker ? try await runtime.ask(Observed.Lines(), at: "/child", timeout: .seconds(20)) : recorder.all
        return lines.filter { $0.contains("incoming") && $0.split(separator: " ").contains { $0 == name } }
    }

    /// Expects that the test's process has noted down a message that it has sent, and nothing else of the message but its handling here.
    func expectSent(_ name: String, _ expected: String..., sourceLocation: SourceLocation = #_sourceLocation) async throws {
        let sent = recorder.all(name).filter { $0.contains("outgoing") }
        #expect(sent == expected, sourceLocation: sourceLocation)
    }

    func expectHandled(_ name: String, _ expected: String..., sourceLocation: SourceLocation = #_sourceLocation) async throws {
        try await eventually("\(name) is handled") { try await handled(name).count >= expected.count }
        let found = try await handled(name)
        #expect(found == expected, sourceLocation: sourceLocation)
        // What a worker handles is no concern of its parent's instrument.
        if place.isWorker { #expect(recorder.all(name).allSatisfy { !$0.contains("incoming") }, sourceLocation: sourceLocation) }
    }

    /// Waits until so many lines about a message begin with a word.
    ///
    /// - Parameter recorder: Whose lines; `nil`: those of the child's process.
    func expect(
        _ count: Int,
        _ word: String,
        _ name: String,
        in recorder: Recorder?,
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        func lines() async throws -> [String] {
            if let recorder { recorder.all(name) } else { try await handled(name) }
        }
        try await eventually("\(count) of \(name)") {
            try await lines().count { $0.hasPrefix(word) } >= count
        }
        let found = try await lines().count { $0.hasPrefix(word) }
        #expect(found == count, sourceLocation: sourceLocation)
    }
}
