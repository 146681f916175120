import Coordinators
import Fixtures
import Glibc
import TestSupport
import Testing

@Suite("Pattern: the responder chain", .timeLimit(minutes: 3))
struct PatternChainTests {
    // MARK: The way up to a responder

    @Test("A message goes to the sender's own table first, then up the tree", arguments: Where.allCases)
    func ownTableFirst(_ place: Where) async throws {
        try await LifecycleTree.run { tree in
            try await tree.startChain(place)
            // The leaf and the root have a row for it.
            #expect(try await tree.climb(.own) == "/middle/leaf")
            #expect(try await tree.climb(.own, at: "/middle") == "/")
            // The middle and the root have one for this.
            #expect(try await tree.runtime.ask(Climb.Nearest(), at: "/middle/leaf", timeout: .seconds(20)) == "/middle")
            #expect(try await tree.runtime.ask(Climb.Nearest(), at: "/middle", timeout: .seconds(20)) == "/middle")
            #expect(try await tree.runtime.ask(Climb.Nearest()) == "/")
        }
    }

    @Test("Messages climb in the tree's order, whatever the processes", arguments: Where.allCases, Where.allCases)
    func orderOfTheTree(_ middle: Where, _ leaf: Where) async throws {
        try await LifecycleTree.run { tree in
            let child = try await tree.context.start(ClimbMiddle.self, as: "middle", in: middle.placement)
            _ = try await child.ask(Climb.Do(.startLeaf("leaf", inWorker: leaf.isWorker)), timeout: .seconds(30))
            #expect(try await tree.runtime.ask(Climb.Nearest(), at: "/middle/leaf", timeout: .seconds(20)) == "/middle")
            #expect(try await tree.climb(.add(5, .pass)) == "5")
            #expect(try await tree.climb(.seen, at: "/middle") == "up 5, down 5")
        }
    }

    // MARK: No responder

    @Test("An ask without a responder throws at once, a send returns false, and the root is informed", arguments: Where.allCases)
    func unhandled(_ place: Where) async throws {
        try await LifecycleTree.run { tree in
            try await tree.startChain(place)
            // With ten minutes to wait: what isn't told at once would end the test.
            await Support.expect(.unhandled) { _ = try await tree.climb(.nobody) }
            #expect(try await tree.climb(.sendNobody) == "nobody")
            try await eventually("the root's hook has run for each") { await tree.root.unhandledMessages.count >= 2 }
            #expect(
                await tree.root.unhandledMessages == [
                    "Fixture.NobodyAnswersThis from /middle/leaf", "Fixture.NobodyAnswersThis from /middle/leaf",
                ]
            )
            let child = try #require(tree.context.child(ClimbMiddle.self))
            // Straight to a child's table: nothing climbs from there.
            await Support.expect(.unhandled) { _ = try await child.ask(Climb.Own(), timeout: .seconds(20)) }
        }
    }

    // MARK: Interceptors

    @Test("An interceptor passes a message on, changes it, changes the reply, or swallows it", arguments: Where.allCases)
    func intercept(_ place: Where) async throws {
        try await LifecycleTree.run { tree in
            try await tree.startChain(place)
            #expect(try await tree.climb(.add(1, .pass)) == "1")
            #expect(try await tree.climb(.add(2, .change)) == "5")
            #expect(try await tree.climb(.add(3, .changeReply)) == "1008")
            #expect(try await tree.climb(.add(4, .swallow)) == "-1")
            #expect(await tree.root.sum == 8)
            let seen = try await tree.climb(.seen, at: "/middle")
            #expect(seen == "up 1, down 1, up 2, down 5, up 3, down 8, up 4")
        }
    }

    @Test("An intercepted message continues with the rows that follow in the same table", arguments: Where.allCases)
    func sameTable(_ place: Where) async throws {
        try await LifecycleTree.run { tree in
            try await tree.startChain(place)
            #expect(try await tree.climb(.both) == "answered by /middle, intercepted")
            // The middle's own call passes its interceptor too, once.
            #expect(try await tree.climb(.both, at: "/middle") == "answered by /middle, intercepted")
        }
    }

    // MARK: Replies and errors

    @Test("Errors come back through the interceptors, with the handler's words", arguments: Where.allCases)
    func errors(_ place: Where) async throws {
        try await LifecycleTree.run { tree in
            try await tree.startChain(place)
            for (isCodable, words) in [(true, #"Refusal(reason: "not today")"#), (false, "won't say why")] {
                do {
                    _ = try await tree.climb(.refuse(isCodable: isCodable))
                    Issue.record("it must be refused")
                } catch let error as Fixture.Refusal {
                    #expect(isCodable && "\(error)" == words)
                } catch let error as RemoteError {
                    // What can't cross is named; what can is one only where its type isn't known, as between two programs.
                    #expect(error.type == (isCodable ? "Fixture.Refusal" : "Fixture.LocalRefusal"))
                    #expect(error.description == words)
                    #expect(!isCodable || place.isWorker)
                }
            }
            let seen = try await tree.climb(.seen, at: "/middle")
            #expect(seen.contains("not today"))
            #expect(seen.contains("won't say why"))
        }
    }

    @Test("A reply finds its own asker among many", arguments: Where.allCases)
    func replies(_ place: Where) async throws {
        try await LifecycleTree.run { tree in
            let child = try await tree.startChild("a", place)
            try await withThrowingTaskGroup(of: Bool.self) { group in
                for number in 0..<500 {
                    group.addTask { try await child.perform(.echo("n\(number)"), timeout: .seconds(60)) == "n\(number)" }
                }
                for try await isRight in group { #expect(isRight) }
            }
        }
    }

    // MARK: Streams

    @Test("A stream returns all answers in order and ends with the handler, and an ask gets the first", arguments: Where.allCases)
    func stream(_ place: Where) async throws {
        try await LifecycleTree.run { tree in
            try await tree.startChain(place)
            #expect(try await tree.climb(.feed(2_000, .returns, takes: nil)) == "2000 in order")
            #expect(try await tree.climb(.feed(0, .returns, takes: nil)) == "0 in order")
            #expect(try await tree.climb(.first(3)) == "0")
            #expect(try await tree.climb(.feed(3, .refuses, takes: nil)) == "3, then that's all")
        }
    }

    @Test("Leaving a stream's loop cancels the handler", arguments: Where.allCases)
    func leavingTheLoop(_ place: Where) async throws {
        try await LifecycleTree.run { tree in
            try await tree.startChain(place)
            #expect(try await tree.climb(.feed(5, .never, takes: 2)) == "2 in order")
            try await eventually("the handler is cancelled") { await tree.root.cancelledFeeds == 1 }
        }
    }

    @Test("A stream whose asker's process dies cancels the handler")
    func askerDies() async throws {
        // A worker only: a child in the process can't be killed.
        try await LifecycleTree.run { tree in
            try await tree.startChain(.worker)
            let feed = Task.immediate { try await tree.climb(.feed(5, .never, takes: nil)) }
            try await eventually("the handler has begun") { await tree.root.begunFeeds == 1 }
            try await tree.runtime.kill("/middle")
            _ = await feed.result
            try await eventually("the handler is cancelled") { await tree.root.cancelledFeeds == 1 }
            try await eventually("no ask is left open") { tree.runtime.counters.openAsks == 0 }
        }
    }

    // MARK: On the caller's executor

    @Test("An ask resumes on its caller's executor, and nng's threads run no user code", arguments: Where.allCases)
    func executor(_ place: Where) async throws {
        try await LifecycleTree.run { tree in
            try await tree.startChain(place)
            #expect(try await tree.climb(.addUp(100)) == "4950")
            // The test's own side of it.
            let name = try await { () async throws -> String in
                _ = try await tree.climb(.own)
                return ThreadName.current
            }()
            #expect(!name.hasPrefix("nng"))
        }
    }

    // MARK: The sender

    @Test("A handler knows the first sender, and the remaining time", arguments: Where.allCases)
    func sender(_ place: Where) async throws {
        try await LifecycleTree.run { tree in
            try await tree.startChain(place)
            #expect(try await tree.climb(.origin(milliseconds: 20_000)) == "/middle/leaf, in time")
            #expect(try await tree.climb(.origin(milliseconds: 30_000), at: "/middle") == "/middle, in time")
            let own = try await tree.context.ask(Climb.Origin())
            #expect(own.sender == "/")
            #expect((0...5_000).contains(own.remainingMilliseconds ?? -1))
        }
    }

    @Test("The trace goes with a message, and with the asks of its handlers", arguments: Where.allCases)
    func trace(_ place: Where) async throws {
        try await LifecycleTree.run { tree in
            try await tree.startChain(place)
            let traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
            // The test asks the leaf, whose handler asks the root.
            let seen = try await TraceContext.$current.withValue(TraceContext(traceparent: traceparent)) {
                try await tree.climb(.trace)
            }
            #expect(seen == traceparent)
            #expect(try await tree.climb(.trace) == "none")
        }
    }
}
