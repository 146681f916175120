import ConcurrencySupport
import Control
import Processes
import TestSupport
import Testing

@testable import CoordinatorConsole

@Suite("What the console keeps for browsers", .timeLimit(minutes: 2))
struct FeedTests {
    /// Returns the feed of a daemon that there isn't.
    private static func feed(patience: Duration = .seconds(60)) -> Feed {
        Feed(DaemonConnection(RuntimeDirectory(path: "/nowhere")), maximumViewers: 3, patience: patience)
    }

    @Test("Before the daemon has answered a browser is told so, and gets no table")
    func beforeTheFirstAnswer() async throws {
        let feed = Self.feed()
        let viewer = await feed.open {}
        let number = try #require(viewer?.id)
        var position = StreamPosition()
        let news = await feed.news(for: number, &position)
        #expect(news.contains("\"problem\":\"the daemon hasn't answered yet\"") && news.contains("\"whole\":false"), "\(news)")
    }

    @Test("A browser that takes nothing of what is on its way is closed; one that takes a part, or has everything, isn't")
    func patience() async throws {
        let feed = Self.feed(patience: .seconds(2))
        let closed = Lock<[String]>([])
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await feed.run() }
            defer { group.cancelAll() }
            var numbers: [UInt64] = []
            for name in ["stuck", "slow", "idle"] {
                let viewer = await feed.open { closed.withLock { $0.append(name) } }
                let number = try #require(viewer?.id)
                var position = StreamPosition()
                _ = await feed.news(for: number, &position)
                numbers.append(number)
            }
            await feed.hasTaken(numbers[2], all: true)
            let slow = numbers[1]
            try await eventually("the one that takes nothing is closed") {
                await feed.hasTaken(slow, all: false)
                return closed.withLock { !$0.isEmpty }
            }
            #expect(closed.withLock { $0 } == ["stuck"])
            #expect(await feed.viewerCount == 2)
        }
    }

    @Test("Events after a number come with how many are missing between; a number that is yet to come is another console's")
    func events() {
        var ring = EventRing()
        for _ in 0..<10 { ring.append(ControlEvent(kind: .started, path: "/a")) }
        let some = ring.after(4, limit: 3)
        #expect(some.entries.map(\.sequence) == [8, 9, 10] && some.missed == 3)
        #expect(ring.after(10, limit: 3).entries.isEmpty && ring.after(10, limit: 3).missed == 0)
        for number in [nil, 11, UInt64.max] as [UInt64?] {
            let all = ring.after(number, limit: 100)
            #expect(all.entries.count == 10 && all.missed == 0)
        }
    }
}
