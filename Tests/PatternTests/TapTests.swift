import ConcurrencySupport
import Coordinators
import Fixtures
import TestSupport
import Testing

@Suite("Pattern: the tap and the counters", .timeLimit(minutes: 3))
struct TapTests {
    @Test("The tap reports the lifecycle of the whole tree", arguments: Where.allCases)
    func lifecycle(_ place: Where) async throws {
        try await PageTree.run { tree in
            let tap = Tap(tree.runtime)
            try await tree.step("child", place)
            try await tree.step("inner", below: "/child", place)
            await tree.fail("/child/inner")
            try await tree.reaches(.active, at: "/child/inner", incarnation: 2)
            try await tree.root.remove("child")
            try await tap.sees("started", "/child/inner")
            try await tap.sees("crashed", "/child/inner")
            try await tap.sees("restarted", "/child/inner")
            try await tap.sees("stopped", "/child")
            tap.close()
        }
    }

    @Test("The tap reports each handled message once, and each event", arguments: Where.allCases)
    func messages(_ place: Where) async throws {
        try await PageTree.run { tree in
            try await tree.step("child", place)
            try await tree.step("inner", below: "/child", place)
            let tap = Tap(tree.runtime)
            for number in 0..<20 {
                try await tree.runtime.ask(Fixture.Note(number), at: "/child/inner", timeout: .seconds(15))
            }
            try await tree.perform(.emit(.count(7)), at: "/child/inner")
            try await tree.perform(.echo("climbs to the root"), at: "/child/inner")
            try await tap.sees("Fixture.Echo", "/")
            try await tap.sees("Fixture.Note", "/child/inner")
            try await tap.sees("event", "/child/inner")
            // The echo came after them on the same way.
            #expect(tap.count("Fixture.Note", "/child/inner") == 20)
            tap.close()
        }
    }

    @Test("The tap reports dead letters, which are counted for the whole tree", arguments: Where.allCases)
    func deadLetters(_ place: Where) async throws {
        try await PageTree.run { tree in
            try await tree.step("child", place)
            let tap = Tap(tree.runtime)
            try await tree.perform(.sendFailing, at: "/child")
            try await tap.sees("Fixture.Refuse", "/child")
            try await eventually("the letter is counted") {
                let report = tree.runtime.deadLetters
                return report.letters.contains { "\($0.name)" == "Fixture.Refuse" && $0.sender == "/child" && $0.target == "/" }
            }
            let report = tree.runtime.deadLetters
            #expect(report.count >= 1)
            // They survive the worker.
            try await tree.root.remove("child")
            let later = tree.runtime.deadLetters
            #expect(later.count >= report.count)
            tap.close()
        }
    }

    @Test("Dead letters of a worker are counted after its end", arguments: Where.allCases)
    func deadLettersSurvive(_ place: Where) async throws {
        try await PageTree.run { tree in
            let box = try await tree.root.start(OldestDroppingBox.self, as: "box", in: place.isWorker ? .worker : .inProcess)
            await box.pause()
            for number in 0..<10 { _ = try await box.send(FixtureFlow.Load(number)) }
            try await eventually("six are dropped") { tree.runtime.deadLetters.count == 6 }
            if place.isWorker { _ = try await tree.runtime.kill("/box") }
            try await tree.root.remove("box")
            let report = tree.runtime.deadLetters
            #expect(report.count >= 6)
        }
    }

    @Test("A viewer that doesn't read the tap delays no coordinator", arguments: Where.allCases)
    func unread(_ place: Where) async throws {
        try await PageTree.run { tree in
            let child = try await tree.step("child", place)
            let stream = tree.runtime.tap()
            for _ in 0..<rounds(short: 500, all: 2_000, long: 2_000) { _ = try await child.ask(Fixture.WhereAmI(), timeout: .seconds(15)) }
            let there = try await child.ask(Fixture.WhereAmI(), timeout: .seconds(15))
            #expect(there.incarnation == 1)
            withExtendedLifetime(stream) {}
        }
    }

    @Test("The counters after a scenario are what they were before", arguments: Where.allCases)
    func counters(_ place: Where) async throws {
        try await PageTree.run { tree in
            // Once for what is made when it's first needed, and then for good.
            try await tree.scenario(place)
            try await eventually("only the root is left") { tree.runtime.counters.coordinators == 1 }
            let before = "\(tree.runtime.counters)"
            for _ in 0..<3 { try await tree.scenario(place) }
            try await eventually("nothing is left") { "\(tree.runtime.counters)" == before }
            try await tree.step("child", place)
            let during = "\(tree.runtime.counters)"
            #expect(during != before)
            let there = "\(try await tree.runtime.counters(of: "/child"))"
            #expect(there != before)
        }
    }
}

extension PageTree {
    /// Starts, asks, listens, pauses, parks, shows, crashes, and stops.
    fileprivate func scenario(_ place: Where) async throws {
        let child = try await step("child", place) { $0.pagesAtStart = [.list] }
        try await step("inner", below: "/child", place)
        let auditor = Auditor()
        child.delegates += auditor
        let subscription = child.onEvent { _ in }
        try await perform(.emit(.count(1)), at: "/child")
        try await perform(.echo("there"), at: "/child/inner")
        try await perform(.beginTask, at: "/child")
        try await root.pause("child")
        let parked = Task.immediate { try await child.ask(Fixture.Note(1), timeout: .seconds(600)) }
        if place.isWorker { _ = try await runtime.kill("/child") }
        _ = try? await root.remove("child")
        _ = try? await parked.value
        subscription.cancel()
    }
}

/// The events of a runtime's tap as text: their wording is up to the runtime, but they name path and message.
private final class Tap: Sendable {
    private let seen = Lock<[String]>([])
    private let reading = Lock<Task<Void, Never>?>(nil)

    init(_ runtime: CoordinatorRuntime) {
        let stream = runtime.tap()
        let task = Task { [weak self] in
            for await event in stream { self?.seen.withLock { $0.append("\(event)") } }
        }
        reading.withLock { $0 = task }
    }

    func count(_ word: String, _ path: CoordinatorPath) -> Int {
        seen.withLock { seen in seen.count { Self.names($0, word, path) } }
    }

    func sees(_ word: String, _ path: CoordinatorPath) async throws {
        try await eventually("the tap sees '\(word)' at \(path)") { count(word, path) > 0 }
    }

    func close() { reading.withLock { $0?.cancel() } }

    /// Whether a text has the word in it, and the path as a whole.
    private static func names(_ text: String, _ word: String, _ path: CoordinatorPath) -> Bool {
        guard text.contains(word) else { return false }
        return text.split { !($0.isLetter || $0.isNumber || $0 == "/") }.contains { $0 == path.description }
    }
}
