import Coordinators
import Fixtures
import TestSupport
import Testing

@Suite("Pattern: timers and tasks of a coordinator", .timeLimit(minutes: 3))
struct PatternTimeTests {
    @Test("Calls are repeated, though each of them fails", arguments: Where.allCases)
    func every(_ place: Where) async throws {
        try await PageTree.run { tree in
            let ticker = try await tree.ticker(place)
            try await ticker.ask(Ticker.Every(5, fails: true), timeout: .seconds(20))
            try await eventually("ten calls") { try await ticker.ask(Ticker.Calls(), timeout: .seconds(20)).count >= 10 }
            #expect(ticker.incarnation == 1)
        }
    }

    @Test("A call never begins while the former one runs, and what is missed isn't made up for", arguments: Where.allCases)
    func noPileUp(_ place: Where) async throws {
        try await PageTree.run { tree in
            let ticker = try await tree.ticker(place)
            let began = ContinuousClock.now
            try await ticker.ask(Ticker.Every(5, lasts: 50), timeout: .seconds(20))
            try await eventually("five calls") { try await ticker.ask(Ticker.Calls(), timeout: .seconds(20)).count >= 5 }
            let calls = try await ticker.ask(Ticker.Calls(), timeout: .seconds(20))
            #expect(calls.atOnce == 1)
            #expect(calls.count <= Int((ContinuousClock.now - began) / .milliseconds(50)) + 1)
        }
    }

    @Test("A single call comes once, and a cancelled one never", arguments: Where.allCases)
    func after(_ place: Where) async throws {
        try await PageTree.run(timed: place) { tree in
            let ticker = try await tree.ticker(place)
            try await ticker.ask(Ticker.After(30_000, "never"), timeout: .seconds(20))
            try await ticker.ask(Ticker.Every(1_000_000), timeout: .seconds(20))
            try await ticker.ask(Ticker.Cancel(), timeout: .seconds(20))
            for word in ["a", "b"] { try await ticker.ask(Ticker.After(word == "a" ? 20 : 40, word), timeout: .seconds(20)) }
            try await tree.pass(.milliseconds(60))
            try await tree.reads("/ticker b")
            #expect(tree.notebook.words(at: ticker.path) == ["a", "b"])
        }
    }

    @Test("A paused coordinator isn't called; what was due comes once when it's resumed", arguments: Where.allCases)
    func pause(_ place: Where) async throws {
        try await PageTree.run(timed: place) { tree in
            let ticker = try await tree.ticker(place)
            try await ticker.ask(Ticker.Every(10), timeout: .seconds(20))
            try await ticker.ask(Ticker.After(200, "late"), timeout: .seconds(20))
            await ticker.pause()
            // A call that had begun may still note it.
            try await tree.pass(.milliseconds(50))
            let before = tree.notebook.words(at: ticker.path)
            try await tree.pass(.milliseconds(400))
            #expect(tree.notebook.words(at: ticker.path) == before)
            await ticker.resume()
            try await tree.reads("/ticker late")
            try await tree.pass(.milliseconds(100))
            try await eventually("it's called again") { tree.notebook.words(at: ticker.path).count > before.count + 3 }
        }
    }

    @Test("Timers end with their coordinator", arguments: Where.allCases)
    func stop(_ place: Where) async throws {
        try await PageTree.run(timed: place) { tree in
            let ticker = try await tree.ticker(place)
            try await ticker.ask(Ticker.Every(5), timeout: .seconds(20))
            try await ticker.ask(Ticker.After(100, "late"), timeout: .seconds(20))
            try await tree.pass(.milliseconds(20))
            try await eventually("it's called") { !tree.notebook.words(at: ticker.path).isEmpty }
            await ticker.remove()
            let lines = tree.notebook.words(at: ticker.path)
            try await tree.pass(.milliseconds(150))
            #expect(tree.notebook.words(at: ticker.path) == lines)
        }
    }

    @Test("A task that fails is logged, or ends the coordinator if it says so", arguments: Where.allCases)
    func tasks(_ place: Where) async throws {
        try await PageTree.run { tree in
            let ticker = try await tree.ticker(place)
            try await ticker.ask(Ticker.FailingTask(ends: false), timeout: .seconds(20))
            _ = try await ticker.ask(Ticker.Calls(), timeout: .seconds(20))
            #expect(ticker.incarnation == 1)
            _ = try? await ticker.ask(Ticker.FailingTask(ends: true), timeout: .seconds(20))
            try await tree.reaches(.active, at: ticker.path, incarnation: 2)
            try await tree.reads("/ ticker crashed")
        }
    }
}

@Suite("Pattern: coordinators that end when they have nothing to do", .timeLimit(minutes: 3))
struct PatternIdleTests {
    @Test("A coordinator without work ends, though a timer calls it", arguments: Where.allCases)
    func ends(_ place: Where) async throws {
        try await PageTree.run { tree in
            let child = try await tree.resting(place)
            _ = try? await child.ask(RestingChild.Tick(), timeout: .seconds(20))
            try await eventually("its key is free") { tree.root.child("rests") == nil }
            #expect(tree.notebook.reads("/rests stopped"))
        }
    }

    @Test("A handler, a task and a child keep it", arguments: Where.allCases)
    func works(_ place: Where) async throws {
        try await PageTree.run { tree in
            for key in ["handler", "task", "child"] {
                // On a loaded machine it may have ended before the message comes.
                try await eventually("the message has arrived") {
                    let child = try await tree.resting(place, key)
                    switch key {
                    case "handler": return try? await child.send(RestingChild.Await("go on"))
                    case "task": return try? await child.send(RestingChild.Work("go on"))
                    default: return try? await child.send(RestingChild.Nest())
                    }
                }
            }
            let incarnations = tree.root.children.map(\.incarnation)
            try await realTime(.milliseconds(300), because: "a worker counts its idle time by the machine's clock")
            #expect(tree.root.children.map(\.path.key) == ["handler", "task", "child"])
            #expect(tree.root.children.map(\.incarnation) == incarnations)
            tree.notebook.note("go on")
            try await eventually("the first two have ended") { tree.root.children.map(\.path.key) == ["child"] }
            _ = try await tree.runtime.stop("/child/small")
            try await eventually("the last one has ended") { tree.root.children.isEmpty }
        }
    }

    @Test("A call that runs it learns that it was dismissed", arguments: Where.allCases)
    func run(_ place: Where) async throws {
        try await PageTree.run { tree in
            await Support.expect(.dismissed) {
                _ = try await tree.root.run(RestingCoordinator.self, as: "rests", in: place.placement) { $0.notebook = tree.notebook }
            }
        }
    }

    @Test("No message is lost at the moment at which it ends", arguments: Where.allCases)
    func race(_ place: Where) async throws {
        try await PageTree.run { tree in
            let waking = try await tree.start(WakingCoordinator.self, as: "waking") { $0.inWorker = place.isWorker }
            let count = place.isWorker ? rounds(short: 15, all: 30, long: 300) : rounds(short: 30, all: 100, long: 1_000)
            for round in 0..<count {
                // At about the time of its end, sooner or later.
                try await realTime(.milliseconds(44 + (round * 7) % 25), because: "a worker counts its idle time by the machine's clock")
                // Senders of all kinds.
                async let asking: Void = waking.ask(RestingChild.Note(round * 3), timeout: .seconds(60))
                async let sending = waking.send(RestingChild.Note(round * 3 + 1))
                async let peeking = waking.ask(RestingChild.Peek(), timeout: .seconds(60))
                async let askingLater: Void = waking.ask(RestingChild.Note(round * 3 + 2), timeout: .seconds(60))
                let isSent = try await sending
                #expect(isSent)
                _ = try await (asking, peeking, askingLater)
            }
            let expected = Set((0..<3 * count).map { "note \($0)" })
            try await eventually("all are noted once") {
                let notes = tree.notebook.words(at: "/waking/rests").filter { $0.hasPrefix("note ") }
                return notes.count == expected.count && Set(notes) == expected
            }
            #expect(tree.count("/waking open") > 1)
            print("it was opened \(tree.count("/waking open")) times, and stopped \(tree.count("/waking/rests stopped")) times")
        }
    }
}

extension PageTree {
    fileprivate func ticker(_ place: Where) async throws -> Child<TickerCoordinator> {
        try await root.start(TickerCoordinator.self, as: "ticker", in: place.placement) { $0.notebook = notebook }
    }

    fileprivate func resting(_ place: Where, _ key: String = "rests") async throws -> Child<RestingCoordinator> {
        try await root.start(RestingCoordinator.self, as: key, in: place.placement) { $0.notebook = notebook }
    }
}
