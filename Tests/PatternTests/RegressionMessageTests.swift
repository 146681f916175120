import Coordinators
import Fixtures
import Glibc
import TestSupport
import Testing

@Suite("Regression: messages", .timeLimit(minutes: 3))
struct RegressionMessageTests {
    @Test("Thousands of messages to a hundred children below one worker are all answered")
    func credit() async throws {
        // Placement: a worker, for within a process there is no credit.
        try await LifecycleTree.run { tree in
            try await tree.startChild("crowd", .worker).perform(.startChildren(100))
            let runtime = tree.runtime
            let count = rounds(short: 50, all: 200, long: 2_000)
            let answered = try await withThrowingTaskGroup(of: Int?.self) { group in
                for number in 0..<100 * count {
                    let path = CoordinatorPath("/crowd/child-\(number % 100)") ?? .root
                    group.addTask { Int(try await runtime.ask(Life.Do(.count), at: path, timeout: .seconds(120))) }
                }
                return try await group.reduce(into: [Int]()) { $0 += [$1].compactMap(\.self) }
            }
            // Each of the hundred has counted all of its own.
            #expect(answered.sorted() == (1...count).flatMap { Array(repeating: $0, count: 100) })
            #expect(tree.runtime.counters.openAsks == 0)
        }
    }

    @Test("A child still answers after messages that were too large")
    func tooLarge() async throws {
        var options = Support.options
        options.maximumMessageSize = 1 << 20
        try await PageTree.run(options: options) { tree in
            let child = try await tree.step("child", .worker)
            let large = String(repeating: "x", count: 2 << 20)
            for round in 1...20 {
                await Support.expect(.messageTooLarge) { _ = try await child.ask(FixtureFlow.Do(.echo(large)), timeout: .seconds(20)) }
                await Support.expect(.messageTooLarge) { try await child.send(FixtureFlow.Do(.echo(large))) }
                let echo = try await child.ask(FixtureFlow.Do(.echo("\(round)")), timeout: .seconds(20))
                #expect(echo == "\(round)")
            }
            #expect(child.incarnation == 1)
        }
    }

    @Test("A stream leaves nothing of its message alive", arguments: Where.allCases, Traces.Reading.allCases)
    func streams(_ place: Where, _ reading: Traces.Reading) async throws {
        try await PageTree.run { tree in
            let reader = try await tree.root.start(TraceReader.self, as: "reader", in: place.placement)
            let read = try await reader.ask(Traces.Read(50, reading), timeout: .seconds(60))
            #expect(read == (reading == .toTheEnd ? 500 : 150))
            for path: CoordinatorPath in [.root, reader.path] {
                try await eventually("nothing is left at \(path)") {
                    try await tree.runtime.ask(Traces.Living(), at: path, timeout: .seconds(15)) == 0
                }
            }
        }
    }

    @Test("A message with a reply that is sent one way past an interceptor is handled once", arguments: Where.allCases)
    func interceptedSend(_ place: Where) async throws {
        try await PageTree.run { tree in
            let shelf = try await tree.root.start(ShelfCoordinator.self, as: "shelf", in: place.placement)
            let taken = try await shelf.ask(ShelfCoordinator.Fill(10), timeout: .seconds(20))
            #expect(taken == 10)
            // The interceptor has got the replies, although the sender doesn't want them.
            try await eventually("all have come back") { try await shelf.ask(ShelfCoordinator.Badges(), timeout: .seconds(15)).count == 10 }
            let badges = try await shelf.ask(ShelfCoordinator.Badges(), timeout: .seconds(15))
            #expect(badges.sorted() == Array(1...10))
            // The root has handled each of them once.
            let next = try await tree.root.ask(Basket.Add(sku: "next"), timeout: .seconds(15))
            #expect(next == 11)
            // The letters of a worker arrive a little late.
            try await tree.root.remove("shelf")
            #expect(tree.runtime.deadLetters.count == 0)
        }
    }

    @Test("A described dependency is made once, although other things are provided later", arguments: Where.allCases)
    func describedOnce(_ place: Where) async throws {
        let descriptor = "regression of \(place) in \(getpid())"
        try await PageTree.run { tree in
            let clerk = try await tree.clerk("clerk", place)
            await tree.root.provide(\.vault, describedBy: descriptor)
            let first = try await clerk.ask(FixtureFlow.Withdraw(), timeout: .seconds(15))
            #expect(first.last == "1")
            for round in 1...10 {
                await tree.root.provide(\.greeting, "hello \(round)")
                await tree.root.provide(\.cashBook, CashBook("\(round)"))
                let again = try await clerk.ask(FixtureFlow.Withdraw(), timeout: .seconds(15))
                #expect(again == first)
            }
            try await tree.clerk("inner", below: "/clerk", .inProcess)
            let inner = try await tree.runtime.ask(FixtureFlow.Withdraw(), at: "/clerk/inner", timeout: .seconds(15))
            #expect(inner == first)
        }
    }

    @Test("An ask that is cancelled at once never runs in the worker")
    func cancelledAtOnce() async throws {
        try await PageTree.run { tree in
            try await tree.step("child", .worker)
            try await tree.step("box", below: "/child", .inProcess)
            let runtime = tree.runtime
            for round in 0..<5 {
                // Nothing begins before all of them are there, and cancelled.
                _ = try await runtime.pause("/child/box")
                let asks = (0..<100).map { number in
                    Task.immediate { try await runtime.ask(Fixture.Note(number), at: "/child/box", timeout: .seconds(60)) }
                }
                for ask in asks { ask.cancel() }
                for ask in asks {
                    await #expect(throws: CancellationError.self) { try await ask.value }
                }
                // Behind the cancellations on the same link.
                _ = try await runtime.ask(Fixture.WhereAmI(), at: "/child", timeout: .seconds(20))
                _ = try await runtime.resume("/child/box")
                try await runtime.ask(Fixture.Note(1_000 + round), at: "/child/box", timeout: .seconds(20))
            }
            let notes = tree.notebook.words(at: "/child/box").filter { $0.hasPrefix("note") }
            #expect(notes == (0..<5).map { "note \(1_000 + $0)" })
            // One whose task is cancelled before it asks doesn't even leave.
            let late = Task {
                while !Task.isCancelled { await Task.yield() }
                try await runtime.ask(Fixture.Note(1), at: "/child/box", timeout: .seconds(60))
            }
            late.cancel()
            await #expect(throws: CancellationError.self) { try await late.value }
            #expect(tree.count("/child/box note 1") == 0)
        }
    }

    // MARK: Rows without await

    @Test("Asks that are answered directly and sends of the same sender keep their order", arguments: Where.allCases)
    func directOrder(_ place: Where) async throws {
        try await PageTree.run { tree in
            try await tree.root.start(OrderKeeper.self, as: "keeper", in: place.placement)
            let count = rounds(short: 3_000, all: 10_000, long: 100_000)
            try await tree.runtime.ask(Order.Run(count), at: "/keeper/sender", timeout: .seconds(120))
            // What was sent last may begin after its sender has been told that it's taken.
            try await eventually("all have begun") {
                try await tree.runtime.ask(Fixture.Notes(), at: "/keeper", timeout: .seconds(15)).count == count
            }
            let notes = try await tree.runtime.ask(Fixture.Notes(), at: "/keeper", timeout: .seconds(15))
            #expect(notes == Array(0..<count))
        }
    }

    @Test("A stop ends asks that are answered directly with stopped")
    func directStop() async throws {
        for _ in 0..<rounds(short: 5, all: 20, long: 200) {
            try await PageTree.run { tree in
                let root = tree.root
                let (answers, answer) = AsyncStream.makeStream(of: Void.self)
                let asking = (0..<8).map { _ in
                    Task { () -> CoordinatorError.Code? in
                        do {
                            _ = try await root.ask(Fixture.Echo("there"), timeout: .seconds(60))
                            answer.yield()
                            while true { _ = try await root.ask(Fixture.Echo("still there"), timeout: .seconds(60)) }
                        } catch {
                            return (error as? CoordinatorError)?.code
                        }
                    }
                }
                var answered = 0
                for await _ in answers {
                    answered += 1
                    if answered == asking.count { break }
                }
                await tree.runtime.stop()
                for task in asking {
                    let code = await task.value
                    #expect(code == .stopped)
                }
            }
        }
    }
}
