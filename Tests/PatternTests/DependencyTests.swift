import Coordinators
import CoordinatorsTesting
import Fixtures
import Glibc
import TestSupport
import Testing

@Suite("Pattern: dependencies", .timeLimit(minutes: 3))
struct DependencyTests {
    @Test("A dependency is available at every level, even in the initialiser", arguments: Where.allCases)
    func everyLevel(_ place: Where) async throws {
        try await PageTree.run { tree in
            await tree.root.provide(\.greeting, "hello")
            try await tree.clerk("clerk", place)
            try await tree.clerk("inner", below: "/clerk", place)
            try await tree.clerk("innermost", below: "/clerk/inner", place)
            #expect(tree.root.dependencies.greeting == "hello")
            for path: CoordinatorPath in ["/clerk", "/clerk/inner", "/clerk/inner/innermost"] {
                let greeting = try await tree.runtime.ask(FixtureFlow.Greet("ann"), at: path, timeout: .seconds(15))
                #expect(greeting == "hello, ann")
                let first = try await tree.runtime.ask(FixtureFlow.FirstGreeting(), at: path, timeout: .seconds(15))
                #expect(first == "hello")
            }
        }
    }

    @Test("The root inherits the dependencies of the options", arguments: Where.allCases)
    func options(_ place: Where) async throws {
        var options = Support.options
        options.dependencies.greeting = "good evening"
        try await PageTree.run(options: options) { tree in
            #expect(tree.root.dependencies.greeting == "good evening")
            let clerk = try await tree.clerk("clerk", place)
            let greeting = try await clerk.ask(FixtureFlow.FirstGreeting(), timeout: .seconds(15))
            #expect(greeting == "good evening")
        }
    }

    @Test("A test's overrides take precedence over provided dependencies", arguments: [true, false])
    func overrides(_ inOneProcess: Bool) async throws {
        // With `inOneProcess` the clerk that asks for a worker lives here, and sees the live ledger; without, it's the other placement.
        let notebook = try Notebook.temporary()
        defer { notebook.remove() }
        try await withRuntime(
            FlowRoot.self,
            options: Support.options,
            configure: { $0.notebook = notebook },
            dependencies: {
                $0.greeting = "the test's"
                $0.cashBook = CashBook("a fake")
            },
            workers: inOneProcess ? .inProcess : nil
        ) { runtime in
            let root = try #require(HandedContexts.take(for: notebook))
            await root.provide(\.greeting, "the tree's")
            let clerk = try await root.start(ClerkCoordinator.self, as: "clerk", in: .worker)
            let greeting = try await clerk.ask(FixtureFlow.ReadGreeting(), timeout: .seconds(15))
            #expect(greeting == "the test's")
            let ledger = try await clerk.ask(FixtureFlow.ReadCashBook(), timeout: .seconds(15))
            #expect(ledger == (inOneProcess ? "a fake" : "none"))
            let there = try await clerk.ask(Fixture.WhereAmI(), timeout: .seconds(15))
            #expect((there.pid == getpid()) == inOneProcess)
        }
    }

    @Test("An update reaches the whole subtree, and nothing beside it", arguments: Where.allCases)
    func update(_ place: Where) async throws {
        try await PageTree.run { tree in
            await tree.root.provide(\.greeting, "one")
            try await tree.clerk("clerk", place)
            try await tree.clerk("sibling", place)
            try await tree.clerk("inner", below: "/clerk", place)
            await tree.root.provide(\.greeting, "two")
            // It has reached everybody when `provide` has returned.
            for path: CoordinatorPath in ["/clerk", "/clerk/inner", "/sibling"] {
                let greeting = try await tree.runtime.ask(FixtureFlow.ReadGreeting(), at: path, timeout: .seconds(15))
                #expect(greeting == "two")
            }
            try await tree.runtime.ask(FixtureFlow.ProvideGreeting("the clerk's own"), at: "/clerk", timeout: .seconds(15))
            var greetings: [String] = []
            for path: CoordinatorPath in ["/clerk", "/clerk/inner", "/sibling"] {
                greetings.append(try await tree.runtime.ask(FixtureFlow.ReadGreeting(), at: path, timeout: .seconds(15)))
            }
            #expect(greetings == ["the clerk's own", "the clerk's own", "two"])
            #expect(tree.root.dependencies.greeting == "two")
        }
    }

    @Test("Children have the new value before their parent handles waiting messages", arguments: Where.allCases)
    func childrenFirst(_ place: Where) async throws {
        try await PageTree.run { tree in
            try await tree.clerk("clerk", place)
            try await tree.clerk("inner", below: "/clerk", place)
            // Parked at the parent; when it runs it asks the child what it has.
            let below = Task.immediate {
                try await tree.runtime.ask(FixtureFlow.GreetingBelow("inner"), at: "/clerk", timeout: .seconds(20))
            }
            _ = try await tree.runtime.ask(FixtureFlow.ReadGreeting(), at: "/clerk", timeout: .seconds(15))
            await tree.root.provide(\.greeting, "hello")
            let greeting = try await below.value
            #expect(greeting == "hello")
        }
    }

    @Test("A new incarnation has the newest value", arguments: Where.allCases)
    func restart(_ place: Where) async throws {
        try await PageTree.run { tree in
            await tree.root.provide(\.greeting, "one")
            let clerk = try await tree.clerk("clerk", place)
            for (round, greeting) in ["two", "three", "four"].enumerated() {
                await tree.root.provide(\.greeting, greeting)
                try? await clerk.ask(Fixture.Fail(), timeout: .seconds(15))
                try await tree.reaches(.active, at: "/clerk", incarnation: UInt32(round + 2))
                let first = try await clerk.ask(FixtureFlow.FirstGreeting(), timeout: .seconds(15))
                #expect(first == greeting)
            }
        }
    }

    @Test("Messages wait for their dependencies, and begin in order", arguments: Where.allCases)
    func parking(_ place: Where) async throws {
        try await PageTree.run { tree in
            let clerk = try await tree.clerk("clerk", place)
            for number in 0..<50 { try await clerk.send(FixtureFlow.Greet("\(number)")) }
            let asked = Task.immediate { try await clerk.ask(FixtureFlow.Greet("last"), timeout: .seconds(20)) }
            // What needs nothing isn't held up by what waits.
            let none = try await clerk.ask(FixtureFlow.ReadGreeting(), timeout: .seconds(15))
            #expect(none == "none")
            #expect(tree.notebook.words(at: "/clerk") == [])
            await tree.root.provide(\.greeting, "hello")
            let reply = try await asked.value
            #expect(reply == "hello, last")
            try await eventually("all are greeted") { tree.notebook.words(at: "/clerk").count == 51 }
            let numbers = tree.notebook.words(at: "/clerk").filter { $0 != "greeted last" }
            #expect(numbers == (0..<50).map { "greeted \($0)" })
            // What comes later needs no waiting.
            let later = try await clerk.ask(FixtureFlow.Greet("ann"), timeout: .seconds(15))
            #expect(later == "hello, ann")
        }
    }

    @Test("A message that waits for a dependency fails when its coordinator stops or crashes", arguments: Where.allCases, [true, false])
    func ended(_ place: Where, _ crashes: Bool) async throws {
        try await PageTree.run { tree in
            let clerk = try await tree.clerk("clerk", place)
            let waiting = Task.immediate { try await clerk.ask(FixtureFlow.Greet("ann"), timeout: .seconds(600)) }
            try await tree.isBehind(clerk)
            if !crashes {
                try await tree.root.remove("clerk")
            } else if place.isWorker {
                _ = try await tree.runtime.kill("/clerk")
            } else {
                try? await clerk.ask(Fixture.Fail(), timeout: .seconds(15))
            }
            await Support.expect(crashes ? .peerLost : .stopped) { try await waiting.value }
            if crashes { try await tree.reaches(.active, at: "/clerk", incarnation: 2) }
            // The provision comes too late for it, and neither a successor nor the next life inherits what waited.
            await tree.root.provide(\.greeting, "hello")
            let successor = try await tree.clerk("clerk", place)
            let greeting = try await successor.ask(FixtureFlow.Greet("bob"), timeout: .seconds(15))
            #expect(greeting == "hello, bob")
            #expect(tree.notebook.words(at: "/clerk") == ["greeted bob"])
        }
    }

    @Test("Waiting messages are bounded", arguments: Where.allCases)
    func bounded(_ place: Where) async throws {
        try await PageTree.run { tree in
            let clerk = try await tree.root.start(HoardingClerk.self, as: "clerk", in: place.isWorker ? .worker : .inProcess)
            let outcomes = try await withThrowingTaskGroup(of: Result<String, CoordinatorError>.self) { group in
                for number in 0..<6 {
                    group.addTask {
                        do {
                            return .success(try await clerk.ask(FixtureFlow.Greet("\(number)"), timeout: .seconds(60)))
                        } catch let error as CoordinatorError {
                            return .failure(error)
                        }
                    }
                }
                var outcomes: [Result<String, CoordinatorError>] = []
                // Four wait, so the two that come first have found no room.
                for try await outcome in group {
                    outcomes.append(outcome)
                    if outcomes.count == 2 { await tree.root.provide(\.greeting, "hello") }
                }
                return outcomes
            }
            #expect(outcomes.count == 6)
            for outcome in outcomes.prefix(2) {
                let error = #expect(throws: CoordinatorError.self) { try outcome.get() }
                #expect(error?.code == .mailboxFull)
            }
            for outcome in outcomes.dropFirst(2) {
                let greeting = try outcome.get()
                #expect(greeting.hasPrefix("hello, "))
            }
        }
    }

    @Test("An ask whose deadline passes while it waits never runs", arguments: Where.allCases)
    func deadline(_ place: Where) async throws {
        try await PageTree.run { tree in
            let clerk = try await tree.clerk("clerk", place)
            await Support.expect(.timedOut) { try await clerk.ask(FixtureFlow.Greet("too late"), timeout: .milliseconds(100)) }
            let cancelled = Task.immediate { try await clerk.ask(FixtureFlow.Greet("cancelled"), timeout: .seconds(600)) }
            try await tree.isBehind(clerk)
            cancelled.cancel()
            await #expect(throws: CancellationError.self) { try await cancelled.value }
            await tree.root.provide(\.greeting, "hello")
            let greeting = try await clerk.ask(FixtureFlow.Greet("in time"), timeout: .seconds(15))
            #expect(greeting == "hello, in time")
            #expect(tree.notebook.words(at: "/clerk") == ["greeted in time"])
        }
    }

    @Test("A live service stays in its process", arguments: Where.allCases)
    func live(_ place: Where) async throws {
        try await PageTree.run { tree in
            await tree.root.provide(\.cashBook, CashBook("the root's"))
            let clerk = try await tree.clerk("clerk", place)
            let name = try await clerk.ask(FixtureFlow.ReadCashBook(), timeout: .seconds(15))
            #expect(name == (place.isWorker ? "none" : "the root's"))
        }
    }

    @Test("Each process builds a described service once, when it's first needed", arguments: Where.allCases)
    func described(_ place: Where) async throws {
        let descriptor = "vault of \(place) in \(getpid())"
        try await PageTree.run { tree in
            let clerk = try await tree.clerk("clerk", place)
            let parked = Task.immediate { try await clerk.ask(FixtureFlow.Withdraw(), timeout: .seconds(20)) }
            try await tree.isBehind(clerk)
            await tree.root.provide(\.vault, describedBy: descriptor)
            try await tree.clerk("inner", below: "/clerk", .inProcess)
            try await tree.clerk("far", below: "/clerk", .worker)
            let there = try await clerk.ask(Fixture.WhereAmI(), timeout: .seconds(15))
            let first = try await parked.value
            #expect(first == [descriptor, "\(there.pid)", "1"])
            // The same one for the whole process, and another one in another process.
            let inner = try await tree.runtime.ask(FixtureFlow.Withdraw(), at: "/clerk/inner", timeout: .seconds(15))
            #expect(inner == first)
            let far = try await tree.runtime.ask(FixtureFlow.Withdraw(), at: "/clerk/far", timeout: .seconds(15))
            #expect(far.first == descriptor)
            #expect(far.last == "1")
            #expect(far != first)
        }
    }
}

extension PageTree {
    @discardableResult
    func clerk(_ key: String, _ place: Where) async throws -> Child<ClerkCoordinator> {
        try await start(ClerkCoordinator.self, as: key, place)
    }

    func clerk(_ key: String, below path: CoordinatorPath, _ place: Where) async throws {
        try await runtime.ask(FixtureFlow.StartAlike(key, inWorker: place.isWorker), at: path, timeout: .seconds(20))
    }

    /// Returns when a clerk has what was sent to it before: what needs nothing overtakes what waits, and nothing else.
    func isBehind(_ clerk: Child<ClerkCoordinator>) async throws {
        _ = try await clerk.ask(FixtureFlow.ReadGreeting(), timeout: .seconds(15))
    }
}
