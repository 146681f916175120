import Coordinators
import Fixtures
import TestSupport
import Testing

/// `restart_one_for_one`, `restart_one_for_all`, `restart_simple_one_for_one` and `restart_rest_for_one`.
@Suite("OTP strategies", .timeLimit(minutes: 5))
struct StrategyTests {
    @Test("OTP 30 one_for_one", arguments: Backend.allCases)
    func otp30_oneForOne(_ backend: Backend) async throws {
        try await withBench(backend, .oneForOne, "a", "b") { bench in
            await bench.end("a", .abnormally)
            await bench.becomes("a:2 b:1")
            await bench.tells("a+ b+ a- a+")
        }
    }

    @Test("OTP 31 one_for_one_escalation", arguments: Backend.allCases)
    func otp31_oneForOneEscalation(_ backend: Backend) async throws { try await escalation(backend, .oneForOneTight) }

    @Test("OTP 32 one_for_all", arguments: Backend.allCases)
    func otp32_oneForAll(_ backend: Backend) async throws {
        try await withBench(backend, .oneForAll, "a", "b", "c") { bench in
            await bench.end("b", .abnormally)
            await bench.becomes("a:2 b:2 c:2")
            await bench.tells("a+ b+ c+ b- c- a- a+ b+ c+")
        }
    }

    @Test("OTP 33 one_for_all_escalation", arguments: Backend.allCases)
    func otp33_oneForAllEscalation(_ backend: Backend) async throws { try await escalation(backend, .oneForAllTight) }

    @Test("OTP 34 one_for_all_other_child_fails_restart", arguments: Backend.allCases)
    func otp34_oneForAllOtherChildFailsRestart(_ backend: Backend) async throws {
        try await withBench(backend, .oneForAll, "a", Plan("b", failingLives: 2...2)) { bench in
            await bench.end("a", .abnormally)
            await bench.becomes("a:3 b:3")
            // The one that was there again is ended again before the next attempt.
            await bench.tells("a+ b+ a- b- a+ b! a- a+ b+")
        }
    }

    @Test("OTP 35 simple_one_for_one", arguments: Backend.allCases)
    func otp35_simpleOneForOne(_ backend: Backend) async throws {
        try await withBench(backend) { bench in
            await bench.run("1", "2", "3", "4")
            await bench.end("2", .abnormally)
            await bench.becomes("1:1 2:2 3:1 4:1")
            await bench.tells("1+ 2+ 3+ 4+ 2- 2+")
        }
    }

    @Test("OTP 36 simple_one_for_one_shutdown", arguments: Backend.allCases)
    func otp36_simpleOneForOneShutdown(_ backend: Backend) async throws {
        try await withBench(backend) { bench in
            for number in 1...2 { await bench.run(Plan("\(number)", shutdown: .timeout(.seconds(15)), stopMilliseconds: 200)) }
            await bench.run(Plan("deaf", shutdown: .timeout(.milliseconds(300)), stopMilliseconds: 600_000))
            await bench.shutDown()
            for number in 1...2 { await bench.ended("\(number)") { $0 == .shutdown } }
            await bench.ended("deaf") { !$0.isNormal }
        }
    }

    @Test(
        "OTP 37 simple_one_for_one_extra",
        .skips(.machine, because: "the machine knows nothing of a child's configuration"),
        arguments: Backend.allCases
    )
    func otp37_simpleOneForOneExtra(_ backend: Backend) async throws {
        try await withBench(backend) { bench in
            let tree = try #require(bench as? TreeBench)
            await bench.run("1", "2")
            await bench.end("2", .abnormally)
            await bench.becomes("1:1 2:2")
            #expect(try await tree.describe("2") == "2 2")
        }
    }

    @Test("OTP 38 simple_one_for_one_escalation", arguments: Backend.allCases)
    func otp38_simpleOneForOneEscalation(_ backend: Backend) async throws {
        try await withBench(backend, .oneForOneTight) { bench in
            await bench.run("1", Plan("2", failingLives: 2...UInt32.max), "3")
            await bench.end("2", .abnormally)
            await bench.escalates()
            for key in ["1", "3"] { await bench.ended(key) { $0 == .shutdown } }
        }
    }

    @Test("OTP 39 simple_one_for_one_corruption", arguments: Backend.allCases)
    func otp39_simpleOneForOneCorruption(_ backend: Backend) async throws {
        // Temporary ones that died leave nothing that a later one, or a restart, could come upon.
        try await withBench(backend) { bench in
            await bench.run(Plan("1", .temporary), Plan("2", .temporary), "3")
            await bench.end("1", .abnormally)
            await bench.becomes("2:1 3:1")
            await bench.end("3", .abnormally)
            await bench.becomes("2:1 3:2")
            await bench.run(Plan("4", .temporary))
            await bench.end("2", .normally)
            await bench.end("4", .normally)
            await bench.becomes("3:2")
            _ = await bench.remove("3")
            await bench.becomes("")
        }
    }

    @Test("OTP 40 simple_one_for_one_restart_ignore", arguments: Backend.allCases)
    func otp40_simpleOneForOneRestartIgnore(_ backend: Backend) async throws {
        try await withBench(backend) { bench in
            await bench.run("1", Plan("2", decliningLives: 2...2))
            await bench.end("2", .abnormally)
            await bench.becomes("1:1")
        }
    }

    @Test("OTP 41 rest_for_one", arguments: Backend.allCases)
    func otp41_restForOne(_ backend: Backend) async throws {
        try await withBench(backend, .restForOne, "a", "b", "c", "d") { bench in
            await bench.end("b", .abnormally)
            await bench.becomes("a:1 b:2 c:2 d:2")
            await bench.tells("a+ b+ c+ d+ b- d- c- b+ c+ d+")
        }
    }

    @Test("OTP 42 rest_for_one_escalation", arguments: Backend.allCases)
    func otp42_restForOneEscalation(_ backend: Backend) async throws { try await escalation(backend, .restForOneTight) }

    @Test("OTP 43 rest_for_one_other_child_fails_restart", arguments: Backend.allCases)
    func otp43_restForOneOtherChildFailsRestart(_ backend: Backend) async throws {
        try await withBench(backend, .restForOne, "a", "b", Plan("c", failingLives: 2...2)) { bench in
            await bench.end("b", .abnormally)
            await bench.becomes("a:1 b:2 c:3")
            // The next attempt concerns the one that failed and those after it: here b stays.
            await bench.tells("a+ b+ c+ b- c- b+ c! c+")
        }
    }

    /// A child that can't be started again takes its supervisor with it, and that its other children.
    private func escalation(_ backend: Backend, _ policy: Policies) async throws {
        try await withBench(backend, policy, Plan("a", failingLives: 2...UInt32.max), "b") { bench in
            await bench.end("a", .abnormally)
            await bench.escalates()
            await bench.ended("b", times: nil) { $0 == .shutdown }
            #expect(await bench.eventually { await bench.children(of: "") == nil })
        }
    }

    @Test("OTP 78 temporary_bystander", arguments: Backend.allCases, [Policies.oneForAll, .restForOne])
    func otp78_temporaryBystander(_ backend: Backend, policy: Policies) async throws {
        try await withBench(backend, policy, "a", Plan("t", .temporary), "c") { bench in
            await bench.end("a", .abnormally)
            await bench.becomes("a:2 c:2")
            await bench.tells("a+ t+ c+ a- c- t- a+ c+")
        }
    }
}
