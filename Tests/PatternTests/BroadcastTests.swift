import Coordinators
import Fixtures
import TestSupport
import Testing

@Suite("Pattern: broadcasts, and the acceptance of streams", .timeLimit(minutes: 3))
struct BroadcastTests {
    /// The way from a reader to the row.
    enum Route: String, CaseIterable, Sendable {
        /// To a child.
        case child
        /// Past an interceptor, and forwarded.
        case forwarded
        /// Past an interceptor, and forwarded to a pool.
        case pool
    }

    private static let routes = Route.allCases.flatMap { route in Where.allCases.map { (route, $0) } }

    @Test("The acceptance of a stream is awaited before its first reply, and what refuses it is thrown there", arguments: routes)
    func acceptance(_ route: (Route, Where)) async throws {
        try await NewsTree.run(route.0, route.1) { tree in
            for way in News.Begin.Way.allCases {
                let stream = try tree.stream(News.Begin(way))
                switch way {
                case .accepts: _ = try await stream.accepted()
                case .replies:
                    // The reply isn't taken.
                    var replies = try await stream.accepted().makeAsyncIterator()
                    #expect(try await replies.next() == 1)
                case .ends:
                    var replies = try await stream.accepted().makeAsyncIterator()
                    #expect(try await replies.next() == nil)
                case .throwsError: await #expect(throws: Fixture.Refusal("there is no such job")) { _ = try await stream.accepted() }
                case .throwsAfterwards:
                    var replies = try await stream.accepted().makeAsyncIterator()
                    await #expect(throws: Fixture.Refusal("later")) { _ = try await replies.next() }
                case .waits:
                    await Support.expect(.timedOut) { try await stream.accepted(within: .milliseconds(50)) }
                    let waiting = Task { _ = try await tree.stream(News.Begin(way)).accepted(within: nil) }
                    waiting.cancel()
                    await #expect(throws: CancellationError.self) { try await waiting.value }
                }
            }
            await Support.expect(.unhandled) { try await tree.stream(News.Unknown()).accepted() }
        }
    }

    @Test("Of the latest value a reader begins with the present one, and skips what came while it was busy", arguments: routes)
    func latest(_ route: (Route, Where)) async throws {
        try await NewsTree.run(route.0, route.1) { tree in
            try await tree.publish(1...5)
            var readers = try await (0..<3).asyncMap { _ in try await tree.stream(News.Latest()).accepted().makeAsyncIterator() }
            for index in readers.indices { #expect(try await readers[index].next() == 5) }
            try await tree.publish(6...1_000)
            for index in readers.indices {
                var read: [Int] = []
                while read.last != 1_000 { read.append(try #require(try await readers[index].next())) }
                // One may have left before the others came.
                #expect(read.count <= 2 && read == read.sorted(), "\(read)")
            }
            #expect(try await tree.ask(News.Latest()) == 1_000)
            try await tree.expectReaders([3, 0])
            readers = []
            try await tree.expectReaders([0, 0])
        }
    }

    @Test("Of all values a reader gets each, and one that is too slow is told how many it has missed, or fails", arguments: routes)
    func all(_ route: (Route, Where)) async throws {
        try await NewsTree.run(route.0, route.1) { tree in
            var plain = try await tree.stream(News.All()).accepted().makeAsyncIterator()
            var marked = try await tree.stream(News.Marked()).accepted().makeAsyncIterator()
            for number in 1...100 {
                try await tree.publish(number...number)
                #expect(try await plain.next() == number)
                let reading = try #require(try await marked.next())
                #expect(reading.value == number && reading.missed == 0)
            }
            // Faster than any reader.
            try await tree.publish(101...200)
            let first = 201 - NewsCoordinator.limit
            for number in first...200 {
                let reading = try #require(try await marked.next())
                #expect(reading.value == number && reading.missed == (number == first ? first - 101 : 0))
            }
            await Support.expect(.mailboxFull) { try await plain.next() }
            try await tree.expectReaders([0, 1])
        }
    }

    @Test("A reader within the process has a place of its own, and is known as slow while it has missed values")
    func withinProcess() async throws {
        try await PageTree.run { tree in
            let broadcast = tree.root.broadcast(all: Int.self, limit: 2)
            broadcast.send(0)
            var (quick, slow) = (broadcast.makeAsyncIterator(), broadcast.makeAsyncIterator())
            for number in 1...5 {
                broadcast.send(number)
                #expect(await quick.next()?.value == number)
            }
            #expect(broadcast.readers == 2 && broadcast.slowReaders == 1 && broadcast.latest == 5)
            let reading = await slow.next()
            #expect(reading?.value == 4 && reading?.missed == 3)
            #expect(broadcast.slowReaders == 0)
            let waiting = Task { [quick] in
                var quick = quick
                return await quick.next()?.value
            }
            waiting.cancel()
            #expect(await waiting.value == nil)
            broadcast.finish()
            broadcast.send(6)
            #expect(await slow.next()?.value == 5)
            #expect(await slow.next() == nil)
        }
    }

    @Test("A broadcast ends with its coordinator, regularly when that is stopped, drained or restarted", arguments: Where.allCases)
    func end(_ place: Where) async throws {
        for shutdown in [Shutdown.timeout(.seconds(20)), .draining(.seconds(20))] {
            try await PageTree.run { tree in
                let news = try await tree.root.start(NewsCoordinator.self, as: "news", in: place.placement, shutdown: shutdown)
                for isRestart in [true, false] {
                    var latest = try await news.stream(News.Latest()).accepted().makeAsyncIterator()
                    var all = try await news.stream(News.All()).accepted().makeAsyncIterator()
                    #expect(try await latest.next() == 0)
                    if isRestart { try await news.restart() } else { await news.remove() }
                    #expect(try await latest.next() == nil)
                    #expect(try await all.next() == nil)
                }
            }
        }
    }
}

extension Sequence {
    fileprivate func asyncMap<Result>(_ transform: (Element) async throws -> Result) async rethrows -> [Result] {
        var results: [Result] = []
        for element in self { results.append(try await transform(element)) }
        return results
    }
}

/// A running tree with a news desk.
private struct NewsTree: Sendable {
    let runtime: CoordinatorRuntime
    /// The coordinator that is asked.
    let path: CoordinatorPath

    static func run(_ route: BroadcastTests.Route, _ place: Where, _ body: (NewsTree) async throws -> Void) async throws {
        try await PageTree.run { tree in
            if route == .child {
                try await tree.root.start(NewsCoordinator.self, as: "news", in: place.placement)
            } else {
                try await tree.root.start(NewsHall.self, as: "hall") { ($0.hasWorkers, $0.hasPool) = (place.isWorker, route == .pool) }
            }
            try await body(NewsTree(runtime: tree.runtime, path: route == .child ? "/news" : "/hall"))
        }
    }

    func stream<M: ResponderMessage>(_ message: M) throws -> ReplyStream<M.Reply> {
        if path == "/news" { return try runtime.coordinator(NewsCoordinator.self, at: path).stream(message) }
        return try runtime.coordinator(NewsHall.self, at: path).stream(message)
    }

    func ask<M: ResponderMessage>(_ message: M) async throws -> M.Reply { try await runtime.ask(message, at: path, timeout: .seconds(20)) }

    func publish(_ numbers: ClosedRange<Int>) async throws {
        let _: NoReply = try await ask(News.Publish(numbers))
    }

    /// Expects so many readers of the latest number, and of all.
    func expectReaders(_ expected: [Int]) async throws {
        try await eventually("there are \(expected) readers") { try await ask(News.Readers()) == expected }
    }
}
