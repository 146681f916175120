import Coordinators
import Fixtures
import TestSupport
import Testing

@Suite("The responder chain", .timeLimit(minutes: 2))
struct ChainTests {
    @Test("An ask climbs to the coordinator that responds", arguments: Where.allCases)
    func climbs(_ place: Where) async throws {
        try await withRoot("middle", in: place) { runtime in
            let answer = try await runtime.perform(.echo("over there"), at: "/middle")
            #expect(answer == "over there")
        }
    }

    @Test("The root answers a coordinator three processes deep, and interceptors between see message and reply", arguments: Where.allCases)
    func threeDeep(_ place: Where) async throws {
        try await withRoot("a", in: place) { runtime in
            #expect(try await runtime.perform(.startGrandchild("b", inWorker: place.isWorker), at: "/a") == "/a/b")
            #expect(try await runtime.perform(.startGrandchild("c", inWorker: place.isWorker), at: "/a/b") == "/a/b/c")
            #expect(try await runtime.perform(.echo("deep"), at: "/a/b/c") == "deep")
            let places = try await [
                runtime.ask(Fixture.WhereAmI(), at: "/"), runtime.ask(Fixture.WhereAmI(), at: "/a"),
                runtime.ask(Fixture.WhereAmI(), at: "/a/b"), runtime.ask(Fixture.WhereAmI(), at: "/a/b/c"),
            ]
            #expect(places.map(\.path) == ["/", "/a", "/a/b", "/a/b/c"])
            #expect(Set(places.map(\.pid)).count == (place.isWorker ? 4 : 1))
            // Each of c, b and a adds 1 on the way up and 100 on the way down.
            #expect(try await runtime.perform(.add(7), at: "/a/b/c") == "310")
            #expect(try await runtime.ask(Fixture.Seen(), at: "/a/b") == ["down 8", "up 110"])
        }
    }

    @Test("When as many handlers run as may, and ask a child that asks back, all are answered", arguments: Where.allCases)
    func askingBackAtTheLimit(_ place: Where) async throws {
        try await withRoot("middle", in: place) { runtime in
            let count = RootCoordinator.mailbox.running + 200
            let answers = try await withThrowingTaskGroup(of: String.self) { group in
                for number in 0..<count {
                    group.addTask { try await runtime.ask(Fixture.AskChild("middle", "\(number)"), timeout: .seconds(60)) }
                }
                return try await group.reduce(into: Set<String>()) { $0.insert($1) }
            }
            #expect(answers.count == count)
        }
    }

    @Test("An ask without a responder fails at once, and the root is informed once", arguments: Where.allCases)
    func unhandled(_ place: Where) async throws {
        try await withRoot("middle", in: place) { runtime in
            _ = try await runtime.perform(.echo("warm"), at: "/middle")
            // The error doesn't come from the deadline, which lies beyond the test's end.
            await expect(.unhandled) {
                try await runtime.perform(.unhandled, at: "/middle", timeout: .seconds(600))
            }
            #expect(try await runtime.perform(.sendUnhandled, at: "/middle") == "nobody")
            try await eventually("the root hears of both") {
                try await runtime.ask(Fixture.Unhandled()).count == 2
            }
            #expect(try await runtime.ask(Fixture.Unhandled()).first == "Fixture.NobodyAnswersThis from /middle")
        }
    }

    @Test("A handler's error comes back as thrown if it's Codable, else as RemoteError", arguments: Where.allCases)
    func errors(_ place: Where) async throws {
        try await withRoot("middle", in: place) { runtime in
            _ = try await runtime.perform(.startGrandchild("deep", inWorker: place.isWorker), at: "/middle")
            // The tests and the fixture are different builds, so that only within one of them the type is known.
            #expect(try await runtime.perform(.refuse(asCodable: true), at: "/middle/deep") == "Refusal: not today")
            #expect(try await runtime.perform(.refuse(asCodable: false), at: "/middle") == "RemoteError: Fixture.LocalRefusal")
        }
    }

    @Test("A deadline ends the ask and cancels the handler", arguments: Where.allCases)
    func deadline(_ place: Where) async throws {
        try await withRoot("middle", in: place) { runtime in
            // On a busy machine the deadline may pass before the handler begins, which it never does then: the next has more time.
            var milliseconds = 50
            try await eventually("a handler that has begun is cancelled") {
                defer { milliseconds = min(2 * milliseconds, 3_200) }
                await expect(.timedOut) {
                    try await runtime.perform(.waitAbove(milliseconds: milliseconds), at: "/middle")
                }
                return try await runtime.ask(Fixture.CancelledWaits()) > 0
            }
        }
    }

    @Test("Cancelling the asker cancels the handler, in another process too", arguments: Where.allCases)
    func cancellation(_ place: Where) async throws {
        try await withRoot("middle", in: place) { runtime in
            for round in 1...20 {
                let asker = Task { try await runtime.perform(.waitAbove(milliseconds: 60_000), at: "/middle", timeout: .seconds(60)) }
                // Every other one while its handler runs.
                if round % 2 == 0 { try await eventually("it's handled") { try await runtime.snapshot().mailbox?.running == 1 } }
                asker.cancel()
                await #expect(throws: CancellationError.self) { try await asker.value }
            }
            try await eventually("the runtime is idle again") {
                try await runtime.perform(.echo("free"), at: "/middle") == "free"
            }
        }
    }

    @Test("Thousands of messages of one sender arrive in order", arguments: Where.allCases, ["sendNotes", "askNotes"])
    func order(_ place: Where, _ kind: String) async throws {
        try await withRoot("middle", in: place) { runtime in
            let count = rounds(short: 2_000, all: 10_000, long: 100_000)
            _ = try await runtime.perform(kind == "sendNotes" ? .sendNotes(count) : .askNotes(count), at: "/middle", timeout: .seconds(60))
            #expect(try await runtime.ask(Fixture.Notes(), timeout: .seconds(30)) == Array(0..<count))
        }
    }
}
