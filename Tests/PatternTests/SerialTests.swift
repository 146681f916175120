import Coordinators
import Fixtures
import TestSupport
import Testing

@Suite("Pattern: a coordinator that handles one message at a time", .timeLimit(minutes: 3))
struct PatternSerialTests {
    @Test("The next message begins when the handler of the former has ended, though it awaits", arguments: Where.allCases)
    func oneAtATime(_ place: Where) async throws {
        try await SerialTree.run(place) { tree in
            let first = try await tree.hold("a")
            let second = Task.immediate { try await tree.serial.ask(Serial.Hold("b"), timeout: .seconds(60)) }
            let third = Task.immediate { try await tree.serial.ask(Serial.Note("c"), timeout: .seconds(60)) }
            // Messages of the subtree wait as well: the handler waits for none of them.
            let fourth = Task.immediate { try await tree.tell("d") }
            for _ in 0..<20 { #expect(try await tree.notes() == ["a begins"]) }
            try await tree.release(until: "b begins")
            for _ in 0..<20 { #expect(try await tree.notes().prefix(3) == ["a begins", "a ends", "b begins"]) }
            try await tree.release(until: "b ends")
            for asking in [first, second, third, fourth] { try await asking.value }
            let notes = try await tree.notes()
            #expect(notes.prefix(4) == ["a begins", "a ends", "b begins", "b ends"])
            #expect(notes.dropFirst(4).sorted() == ["c", "d"])
        }
    }

    @Test(
        "What a handler waits for may ask back, from one level below or two",
        arguments: Where.allCases.flatMap { place in [1, 2].map { (place, $0) } },
        Serial.Cause.Way.allCases
    )
    func askingBack(_ depth: (helpers: Where, levels: Int), _ way: Serial.Cause.Way) async throws {
        guard way != .later else { return }
        try await SerialTree.run(.inProcess, helpers: depth.helpers, levels: depth.levels) { tree in
            let causing = Task.immediate { try await tree.serial.ask(Serial.Cause(way), timeout: .seconds(60)) }
            let other = Task.immediate { try await tree.serial.ask(Serial.Note("other"), timeout: .seconds(60)) }
            // It names the coordinator as its sender, as the coordinator's own messages do.
            let outside = Task.immediate { try await tree.runtime.ask(Serial.Note("outside"), at: tree.serial.path, timeout: .seconds(60)) }
            try await causing.value
            try await other.value
            try await outside.value
            // Three senders: whose message arrives first isn't promised, but none begins between the beginning and the end of another.
            let notes = try await tree.notes()
            let caused = notes.drop { $0 != "cause begins" }.prefix(3)
            #expect(Array(caused) == ["cause begins", "asked back", "cause ends"], "\(notes)")
            #expect(notes.filter { !caused.contains($0) }.sorted() == ["other", "outside"], "\(notes)")
        }
    }

    @Test("A coordinator in a worker may be asked back too", arguments: Where.allCases)
    func askingBackInWorker(_ helpers: Where) async throws {
        try await SerialTree.run(.worker, helpers: helpers, levels: 2) { tree in
            try await tree.serial.ask(Serial.Cause(.ask), timeout: .seconds(60))
            #expect(try await tree.notes() == ["cause begins", "asked back", "cause ends"])
        }
    }

    @Test("A message of the subtree that waits begins once the handler waits for others", arguments: Where.allCases)
    func waitingBefore(_ helpers: Where) async throws {
        try await SerialTree.run(.inProcess, helpers: helpers) { tree in
            let causing = Task.immediate { try await tree.serial.ask(Serial.Cause(.later), timeout: .seconds(60)) }
            try await eventually("it has begun") { try await tree.notes() == ["cause begins"] }
            try await tree.runtime.ask(Serial.TellSoon("early"), at: tree.helper, timeout: .seconds(20))
            for _ in 0..<20 { #expect(try await tree.notes() == ["cause begins"]) }
            try await tree.release(until: "cause ends")
            try await causing.value
            #expect(try await tree.notes() == ["cause begins", "early", "cause ends"])
        }
    }

    @Test("A stream that lives on holds back no message", arguments: Where.allCases)
    func streams(_ place: Where) async throws {
        try await SerialTree.run(place) { tree in
            try await tree.runtime.ask(Serial.ReadTicks(), at: tree.helper, timeout: .seconds(20))
            let first = try await tree.hold("a")
            try await tree.release(until: "a ends")
            try await first.value
            try await tree.serial.ask(Serial.LateNote("b"), timeout: .seconds(20))
            #expect(try await tree.notes() == ["a begins", "a ends", "b"])
        }
    }

    @Test("A pause, a stop and the handling of everything that waits are as in any coordinator")
    func lifecycle() async throws {
        try await SerialTree.run(.inProcess) { tree in
            let first = try await tree.hold("a")
            let waiting = Task.immediate { try await tree.serial.ask(Serial.LateNote("b"), timeout: .seconds(60)) }
            await tree.serial.pause()
            // Its row interleaves, and is a message all the same.
            await Support.expect(.timedOut) { try await tree.serial.ask(Serial.Release(), timeout: .milliseconds(50)) }
            await tree.serial.resume()
            try await tree.release(until: "b")
            try await first.value
            try await waiting.value

            let running = try await tree.hold("c")
            let late = Task.immediate { try await tree.serial.ask(Serial.LateNote("d"), timeout: .seconds(60)) }
            // It ignores its cancellation: the stop goes on without it.
            await tree.serial.remove()
            await Support.expect(.stopped) { try await late.value }
            await Support.expect(.stopped) { try await running.value }
            // The handler that ran meanwhile didn't keep a descendant from asking while it ended.
            #expect(tree.notebook.lines == ["/serial/helper was answered"])
        }
    }
}

/// A running tree with a serial coordinator below its root.
private struct SerialTree: Sendable {
    let runtime: CoordinatorRuntime
    let notebook: Notebook
    let serial: Child<SerialCoordinator>
    let helper: CoordinatorPath

    static func run(
        _ place: Where,
        helpers: Where = .inProcess,
        levels: Int = 1,
        _ body: (SerialTree) async throws -> Void
    ) async throws {
        try await PageTree.run { tree in
            let serial = try await tree.root.start(
                SerialCoordinator.self,
                as: "serial",
                in: place.placement,
                shutdown: .timeout(.milliseconds(200))
            ) {
                ($0.notebook, $0.helpersInWorkers, $0.levels) = (tree.notebook, helpers.isWorker, levels)
            }
            let helper = serial.path.appending("helper")
            try await body(SerialTree(runtime: tree.runtime, notebook: tree.notebook, serial: serial, helper: helper))
        }
    }

    func notes() async throws -> [String] { try await serial.ask(Serial.Read(), timeout: .seconds(20)) }

    func tell(_ name: String) async throws { try await runtime.ask(Serial.Tell(name), at: helper, timeout: .seconds(60)) }

    /// Has the coordinator begin a handler that holds.
    func hold(_ name: String) async throws -> Task<Void, any Error> {
        let holding = Task.immediate { try await serial.ask(Serial.Hold(name), timeout: .seconds(60)) }
        try await eventually("\(name) has begun") { try await notes().contains("\(name) begins") }
        return holding
    }

    /// Releases handlers that hold until something is noted down.
    func release(until note: String) async throws {
        try await eventually("it's noted down: \(note)") {
            try await serial.ask(Serial.Release(), timeout: .seconds(20))
            return try await notes().contains(note)
        }
    }
}
