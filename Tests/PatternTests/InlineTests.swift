import Coordinators
import Fixtures
import TestSupport
import Testing

@Suite("Pattern: inline rows", .timeLimit(minutes: 3))
struct PatternInlineTests {
    @Test("An inline row answers and refuses, asked from above", arguments: Where.allCases)
    func fromAbove(_ place: Where) async throws {
        try await PageTree.run { tree in
            let quotes = try await tree.root.start(QuoteCoordinator.self, as: "quotes", in: place.placement)
            let refusal = await #expect(throws: Fixture.Refusal.self) { try await quotes.ask(Quotes.Price("a"), timeout: .seconds(20)) }
            #expect(refusal == Fixture.Refusal("no price of a"))
            try await quotes.ask(Quotes.Set("a", 7), timeout: .seconds(20))
            #expect(try await quotes.ask(Quotes.Price("a"), timeout: .seconds(20)) == 7)
        }
    }

    @Test("An inline row answers and refuses, asked through the chain", arguments: Where.allCases)
    func throughTheChain(_ reader: Where) async throws {
        try await PageTree.run { tree in
            let quotes = try await tree.root.start(QuoteCoordinator.self, as: "quotes") { $0.reader = reader.rawValue }
            let path = quotes.path.appending("reader")
            #expect(try await tree.runtime.ask(Quotes.Read("a"), at: path, timeout: .seconds(20)) == "refused: no price of a")
            try await quotes.ask(Quotes.Set("a", 7), timeout: .seconds(20))
            #expect(try await tree.runtime.ask(Quotes.Read("a"), at: path, timeout: .seconds(20)) == "7")
        }
    }

    @Test("An inline row answers while the coordinator's executor is blocked", arguments: Where.allCases, Where.allCases)
    func besides(_ place: Where, _ reader: Where) async throws {
        try await BlockedThread.run {
            try await PageTree.run { tree in
                let quotes = try await tree.root.start(QuoteCoordinator.self, as: "quotes", in: place.placement) {
                    $0.reader = reader.rawValue
                }
                let blocked = Task { try await quotes.ask(Quotes.Await("a"), timeout: .seconds(60)) }
                // Another price: what blocks goes on blocking.
                try await quotes.ask(Quotes.Set("b", 3), timeout: .seconds(20))
                let read = try await tree.runtime.ask(Quotes.Read("b"), at: quotes.path.appending("reader"), timeout: .seconds(20))
                #expect(read == "3")
                try await quotes.ask(Quotes.Set("a", 1), timeout: .seconds(20))
                try await blocked.value
            }
        }
    }

    @Test("One-way messages for inline rows are handled in the order in which they were sent", arguments: Where.allCases)
    func order(_ reader: Where) async throws {
        try await PageTree.run { tree in
            let quotes = try await tree.root.start(QuoteCoordinator.self, as: "quotes") { $0.reader = reader.rawValue }
            try await tree.runtime.ask(Quotes.Fill(5_000), at: quotes.path.appending("reader"), timeout: .seconds(20))
            try await eventually("all have come") { try await quotes.ask(Quotes.History(), timeout: .seconds(20)).count == 5_000 }
            #expect(try await quotes.ask(Quotes.History(), timeout: .seconds(20)) == Array(0..<5_000))
        }
    }

    @Test("Messages for inline rows wait while the coordinator is paused, and keep their order", arguments: Where.allCases)
    func pause(_ place: Where) async throws {
        try await PageTree.run { tree in
            let quotes = try await tree.root.start(QuoteCoordinator.self, as: "quotes", in: place.placement)
            await quotes.pause()
            for number in 0..<100 { _ = try await quotes.send(Quotes.Set("a", number)) }
            await Support.expect(.timedOut) { _ = try await quotes.ask(Quotes.History(), timeout: .milliseconds(50)) }
            let resuming = Task { await quotes.resume() }
            for number in 100..<1_000 { _ = try await quotes.send(Quotes.Set("a", number)) }
            await resuming.value
            #expect(try await quotes.ask(Quotes.History(), timeout: .seconds(20)) == Array(0..<1_000))
        }
    }

    @Test("A message that waits is taken out when the coordinator stops", arguments: Where.allCases)
    func stop(_ place: Where) async throws {
        try await PageTree.run { tree in
            let quotes = try await tree.root.start(QuoteCoordinator.self, as: "quotes", in: place.placement)
            await quotes.pause()
            let waiting = Task.immediate { try await quotes.ask(Quotes.History(), timeout: .seconds(60)) }
            await quotes.remove()
            await Support.expect(.stopped) { _ = try await waiting.value }
            await Support.expect(.stopped) { _ = try await quotes.ask(Quotes.History(), timeout: .seconds(20)) }
        }
    }
}
