import ConcurrencySupport
import Coordinators
import Fixtures
import TestSupport
import Testing

/// `hanging_restart_loop`: a child that can never be started again must not make its supervisor deaf.
///
/// OTP refuses to start, restart or delete such a child. Here no request is refused because of another: a start waits with the loop, a
/// restart makes the next attempt at once, a removal and a stop win over both.
@Suite("OTP hanging restart loops", .timeLimit(minutes: 5))
struct LoopTests {
    private static func hopeless(_ key: String, _ type: RestartType = .permanent) -> Plan {
        Plan(key, type, failingLives: 2...UInt32.max)
    }

    @Test("OTP 80 hanging_restart_loop", arguments: Backend.allCases)
    func otp80_hangingRestartLoop(_ backend: Backend) async throws {
        try await withBench(backend, .oneForOneLooping, Self.hopeless("a"), "b") { bench in
            await bench.end("a", .abnormally)
            await bench.becomes("a:~ b:1")
            await expectRequestsToEnd(bench, "a")
            await bench.becomes("a:- b:1")
            // It can't be started, and that is said.
            #expect(await bench.startAgain("a") == .failed)
            await bench.becomes("a:- b:1")
            #expect(await bench.remove("a") == .done)
            await bench.run(Self.hopeless("c"))
            await bench.end("c", .abnormally)
            await bench.becomes("b:1 c:~")
            #expect(await bench.remove("c") == .done)
            await bench.becomes("b:1")
            await bench.run(Self.hopeless("d"))
            await bench.end("d", .abnormally)
            await bench.becomes("b:1 d:~")
            await bench.shutDown()
            await bench.ended("b") { $0 == .shutdown }
        }
    }

    @Test("OTP 81 hanging_restart_loop_rest_for_one", arguments: Backend.allCases)
    func otp81_hangingRestartLoopRestForOne(_ backend: Backend) async throws {
        try await withBench(backend, .restForOneLooping, "first", Self.hopeless("a"), "b") { bench in
            await bench.end("a", .abnormally)
            await bench.becomes("first:1 a:~ b:~")
            await expectRequestsToEnd(bench, "a")
            // Those that waited for it are there again; which life that is depends on who came first.
            let isThere = await bench.eventually { await bench.children(of: "")?.last?.isReady == true }
            #expect(isThere)
            #expect(await bench.remove("a") == .done)
            let picture = try #require(await bench.picture())
            #expect(picture.hasPrefix("first:1 b:"))
            await bench.run(Self.hopeless("c"))
            await bench.end("c", .abnormally)
            await bench.becomes(picture + " c:~")
            await bench.shutDown()
            await bench.ended("first") { $0 == .shutdown }
            await bench.ended("b", times: nil) { $0 == .shutdown }
        }
    }

    @Test("OTP 82 hanging_restart_loop_simple", arguments: Backend.allCases)
    func otp82_hangingRestartLoopSimple(_ backend: Backend) async throws {
        try await withBench(backend, .oneForOneLooping) { bench in
            await bench.run("1", Self.hopeless("2", .transient), "3", Self.hopeless("4"))
            await bench.end("2", .abnormally)
            await bench.end("4", .abnormally)
            await bench.becomes("1:1 2:~ 3:1 4:~")
            await bench.end("1", .abnormally)
            await bench.becomes("1:2 2:~ 3:1 4:~")
            await bench.run("5")
            #expect(await bench.stop("2") == .done)
            await bench.becomes("1:2 2:- 3:1 4:~ 5:1")
            await bench.shutDown()
            for key in ["3", "5"] { await bench.ended(key) { $0 == .shutdown } }
        }
    }

    /// A start and a restart of a child in its loop are ended by a stop, whichever of them comes first.
    private func expectRequestsToEnd(_ bench: any Bench, _ key: String) async {
        let outcomes = Outcomes()
        let requests = [
            Task { outcomes.add(await bench.start(Self.hopeless(key))) },
            Task { outcomes.add(await bench.restart(key)) },
        ]
        // A request that comes after a stop begins the loop anew: the next stop ends that.
        let haveEnded = await bench.eventually {
            let stopped = await bench.stop(key)
            return stopped == .done && outcomes.all.count == requests.count
        }
        #expect(haveEnded)
        #expect(!outcomes.all.contains(.done), "nobody is told that it's ready")
        _ = await bench.stop(key)
    }

    private final class Outcomes: Sendable {
        private let outcomes = Lock<[Outcome]>([])

        var all: [Outcome] { outcomes.withLock { $0 } }

        func add(_ outcome: Outcome) { outcomes.withLock { $0.append(outcome) } }
    }
}
