import Coordinators
import Fixtures
import Supervision
import TestSupport
import Testing

/// `sup_start` and `sup_start_map`: how supervisors and their children start, or don't.
///
/// OTP's `ignore` is a coordinator that finishes within its start. Finishing removes it whatever its restart type, so no specification is
/// kept, also where OTP keeps one.
@Suite("OTP sup_start", .timeLimit(minutes: 3))
struct SupStartTests {
    @Test("OTP 1 sup_start_normal", arguments: Backend.allCases)
    func otp01_supStartNormal(_ backend: Backend) async throws {
        try await withBench(backend) { bench in
            await bench.becomes("")
            await bench.shutDown()
        }
    }

    @Test("OTP 2 sup_start_ignore_init", arguments: Backend.allCases)
    func otp02_supStartIgnoreInit(_ backend: Backend) async throws {
        try await withBench(backend) { bench in
            var sub = Plan.supervisor("sub", .oneForOne, "never")
            sub.decliningLives = 1...1
            #expect(await bench.start(sub) == .done)
            await bench.becomes("")
            // No noise: it neither failed nor crashed.
            await bench.tells("sub-")
            for entry in await bench.log {
                if case .crashed = entry.change { Issue.record("\(entry)") }
            }
        }
    }

    @Test("OTP 3 sup_start_ignore_child", arguments: Backend.allCases)
    func otp03_supStartIgnoreChild(_ backend: Backend) async throws {
        // Adapted: OTP keeps the permanent child's specification.
        try await withBench(backend, .oneForOne, Plan("a", decliningLives: 1...1), "b") { bench in
            await bench.becomes("b:1")
        }
    }

    @Test("OTP 4 sup_start_ignore_temporary_child", arguments: Backend.allCases)
    func otp04_supStartIgnoreTemporaryChild(_ backend: Backend) async throws {
        try await withBench(backend, .oneForOne, Plan("a", .temporary, decliningLives: 1...1), "b") { bench in
            await bench.becomes("b:1")
        }
    }

    @Test("OTP 5 sup_start_ignore_temporary_child_start_child", arguments: Backend.allCases)
    func otp05_supStartIgnoreTemporaryChildStartChild(_ backend: Backend) async throws {
        try await withBench(backend) { bench in
            await bench.run("b", Plan("a", .temporary, decliningLives: 1...1))
            await bench.becomes("b:1")
            #expect(await bench.startAgain("a") == .unknown)
        }
    }

    @Test("OTP 6 sup_start_ignore_temporary_child_start_child_simple", arguments: Backend.allCases)
    func otp06_supStartIgnoreTemporaryChildStartChildSimple(_ backend: Backend) async throws {
        try await dynamicDeclining(backend, .temporary)
    }

    @Test("OTP 7 sup_start_ignore_permanent_child_start_child_simple", arguments: Backend.allCases)
    func otp07_supStartIgnorePermanentChildStartChildSimple(_ backend: Backend) async throws {
        try await dynamicDeclining(backend, .permanent)
    }

    private func dynamicDeclining(_ backend: Backend, _ type: RestartType) async throws {
        try await withBench(backend) { bench in
            await bench.run(Plan("1", type), Plan("2", type, decliningLives: 1...1), Plan("3", type))
            await bench.becomes("1:1 3:1")
            await bench.shutDown()
        }
    }

    @Test("OTP 8 sup_start_error_return", arguments: Backend.allCases)
    func otp08_supStartErrorReturn(_ backend: Backend) async throws {
        try await withBench(backend, .oneForOne, "a") { bench in
            #expect(await bench.start(.supervisor("sub", .faulty)) == .failed)
            await bench.becomes("a:1")
            await bench.tells("a+ sub!")
        }
    }

    @Test("OTP 9 sup_start_fail", arguments: Backend.allCases)
    func otp09_supStartFail(_ backend: Backend) async throws {
        try await withBench(backend) { bench in
            var sub = Plan.supervisor("sub", .oneForOne)
            sub.failingLives = 1...1
            #expect(await bench.start(sub) == .failed)
            await bench.becomes("")
            // A child that fails to start fails the supervisor that is to begin with it, and those before it end again.
            #expect(await bench.start(.supervisor("other", .oneForOne, "a", Plan("b", failingLives: 1...1))) == .failed)
            await bench.becomes("")
        }
    }

    @Test("OTP 10 sup_start_child_returns_error", arguments: Backend.allCases)
    func otp10_supStartChildReturnsError(_ backend: Backend) async throws {
        try await withBench(backend) { bench in
            #expect(await bench.start(Plan("a", failingLives: 1...1)) == .failed)
            await bench.becomes("")
            await bench.tells("a!")
        }
    }

    @Test("OTP 11 sup_start_restart_child_returns_error", arguments: Backend.allCases)
    func otp11_supStartRestartChildReturnsError(_ backend: Backend) async throws {
        try await withBench(backend) { bench in
            await bench.run(Plan("a", failingLives: 2...2))
            #expect(await bench.stop("a") == .done)
            #expect(await bench.startAgain("a") == .failed)
            await bench.becomes("a:-")
            #expect(await bench.startAgain("a") == .done)
            await bench.becomes("a:3")
        }
    }

    @Test("OTP 12 sup_start_child_returns_error_simple", arguments: Backend.allCases)
    func otp12_supStartChildReturnsErrorSimple(_ backend: Backend) async throws {
        try await withBench(backend) { bench in
            for type in RestartType.allCases {
                #expect(await bench.start(Plan("\(type)", type, failingLives: 1...1)) == .failed)
            }
            await bench.run(Plan("well", .temporary))
            await bench.becomes("well:1")
        }
    }

    @Test(
        "OTP 13 sup_start_map",
        .skips(.inProcess, .worker, because: "a specification that is kept can't be read back through the API"),
        arguments: Backend.allCases
    )
    func otp13_supStartMap(_ backend: Backend) async throws {
        guard try Skips.fits(backend) else { return }
        var supervisor = Supervisor()
        expectDefaults(&supervisor, ["a"])
    }

    @Test(
        "OTP 14 sup_start_map_simple",
        .skips(.inProcess, .worker, because: "a specification that is kept can't be read back through the API"),
        arguments: Backend.allCases
    )
    func otp14_supStartMapSimple(_ backend: Backend) async throws {
        guard try Skips.fits(backend) else { return }
        var supervisor = Supervisor()
        expectDefaults(&supervisor, (1...10).map { "dynamic-\($0)" })
    }

    private func expectDefaults(_ supervisor: inout Supervisor, _ ids: [String]) {
        for id in ids { _ = supervisor.handle(.startRequested(ChildSpecification(id: id)), now: .zero) }
        for id in ids {
            let specification = supervisor.specification(of: id)
            #expect(specification?.restart == .permanent)
            #expect(specification?.shutdown == .timeout(.seconds(5)))
            #expect(specification?.isSignificant == false)
        }
        #expect(supervisor.specification(of: "unknown") == nil)
        #expect(supervisor.policy.strategy == .oneForOne && supervisor.policy.autoShutdown == .never)
    }

    @Test("OTP 15 sup_start_map_faulty_specs", arguments: Backend.allCases)
    func otp15_supStartMapFaultySpecs(_ backend: Backend) async throws {
        // What OTP finds missing or unknown at run time doesn't compile here; what is left are values.
        try await withBench(backend) { bench in
            #expect(await bench.start(Plan("a", shutdown: .timeout(.seconds(-1)))) == .invalid)
            await bench.becomes("")
            await bench.run("a")
        }
        let faulty = ChildSpecification(id: "mine", shutdown: .timeout(.seconds(-1)))
        let error = #expect(throws: SupervisionError.self) { try faulty.validate(under: .never) }
        #expect(error?.message.contains("mine") == true)
    }
}
