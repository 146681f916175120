import Coordinators
import Fixtures
import Supervision
import TestSupport
import Testing

/// `single` and `misc`: what can be asked of a supervisor, and what it answers.
@Suite("OTP administration", .timeLimit(minutes: 5))
struct AdministrationTests {
    @Test("OTP 23 child_adm", arguments: Backend.allCases)
    func otp23_childAdm(_ backend: Backend) async throws {
        try await withBench(backend, .oneForOne, "a") { bench in
            #expect(await bench.stop("unknown") == .unknown)
            #expect(await bench.remove("unknown") == .unknown)
            #expect(await bench.startAgain("unknown") == .unknown)
            #expect(await bench.restart("unknown") == .unknown)
            // It lives: nothing is to be done.
            #expect(await bench.startAgain("a") == .done)
            await bench.becomes("a:1")
            #expect(await bench.stop("a") == .done)
            await bench.becomes("a:-")
            #expect(await bench.stop("a") == .done)
            #expect(await bench.startAgain("a") == .done)
            await bench.becomes("a:2")
            #expect(await bench.restart("a") == .done)
            await bench.becomes("a:3")
            // Adapted: OTP deletes only what was terminated before; here the removal does both.
            #expect(await bench.remove("a") == .done)
            await bench.becomes("")
            #expect(await bench.startAgain("a") == .unknown)
            await bench.run("a")
            await bench.becomes("a:4")
        }
    }

    @Test("OTP 24 child_adm_simple", arguments: Backend.allCases)
    func otp24_childAdmSimple(_ backend: Backend) async throws {
        try await withBench(backend) { bench in
            await bench.run(Plan("1", .temporary), Plan("2", .temporary), Plan("3", .temporary))
            #expect(await bench.stop("2") == .done)
            await bench.becomes("1:1 3:1")
            #expect(await bench.stop("2") == .unknown)
            #expect(await bench.startAgain("2") == .unknown)
            #expect(await bench.remove("1") == .done)
            await bench.becomes("3:1")
        }
    }

    @Test(
        "OTP 25 extra_return",
        .skips(.machine, because: "a start gives a handle; what the child has to say is asked through it"),
        arguments: Backend.allCases
    )
    func otp25_extraReturn(_ backend: Backend) async throws {
        try await withBench(backend, .oneForOne, "a") { bench in
            let tree = try #require(bench as? TreeBench)
            #expect(try await tree.describe("a") == "a 1")
            await bench.end("a", .abnormally)
            await bench.becomes("a:2")
            #expect(try await tree.describe("a") == "a 2")
        }
    }

    private static let faulty = [
        Plan("negative", shutdown: .timeout(.milliseconds(-1))), Plan("permanent", .permanent, isSignificant: true),
        Plan("never", .transient, isSignificant: true), Plan("never", .temporary, isSignificant: true),
    ]

    @Test("OTP 26 child_specs", arguments: Backend.allCases)
    func otp26_childSpecs(_ backend: Backend) async throws {
        try await withBench(backend, .oneForOne, "a") { bench in
            for plan in Self.faulty {
                #expect(await bench.start(plan) == .invalid)
                await bench.becomes("a:1")
            }
        }
    }

    @Test("OTP 27 child_specs_map", arguments: Backend.allCases)
    func otp27_childSpecsMap(_ backend: Backend) async throws {
        for plan in Self.faulty {
            let error = #expect(throws: SupervisionError.self) { try plan.specification.validate(under: .never) }
            #expect(error?.code == (plan.key == "negative" ? .invalidShutdown : .invalidSignificance))
            #expect(error?.message.contains(plan.key) == true)
        }
        // A supervisor that is to begin with such a child doesn't start.
        try await withBench(backend) { bench in
            for plan in Self.faulty {
                #expect(await bench.start(.supervisor("sub", .oneForOne, plan)) != .done)
                await bench.becomes("")
            }
        }
    }

    @Test("OTP 28 sup_flags", arguments: Backend.allCases)
    func otp28_supFlags(_ backend: Backend) async throws {
        // A strategy that doesn't exist doesn't compile.
        let faulty: [(SupervisionPolicy, SupervisionError.Code)] = [
            (SupervisionPolicy(intensity: -1), .invalidIntensity), (SupervisionPolicy(period: .zero), .invalidPeriod),
            (SupervisionPolicy(period: .seconds(-1)), .invalidPeriod),
            (SupervisionPolicy(backoff: Backoff(minimum: .seconds(-1))), .invalidBackoff),
        ]
        for (policy, code) in faulty {
            let error = #expect(throws: SupervisionError.self) { try policy.validate() }
            #expect(error?.code == code)
        }
        try await withBench(backend) { bench in
            #expect(await bench.start(.supervisor("sub", .faulty)) == .failed)
            await bench.becomes("")
        }
    }

    @Test("OTP 29 multiple_restarts", arguments: Backend.allCases)
    func otp29_multipleRestarts(_ backend: Backend) async throws {
        try await withBench(backend, .oneForOne, "a", "b") { bench in
            for life in 2...UInt32(backend == .worker ? 6 : 101) {
                await bench.end("a", .abnormally)
                await bench.becomes("a:\(life) b:1")
            }
        }
        guard backend == .machine else { return }
        // As many as the intensity allows, for ever: three in ten seconds.
        var supervisor = Supervisor(policy: SupervisionPolicy(intensity: 3, period: .seconds(10), backoff: .none))
        _ = supervisor.handle(.startRequested(ChildSpecification(id: "a")), now: .zero)
        _ = supervisor.handle(.started("a", 1), now: .zero)
        for life in 1...UInt32(1_000) {
            let now = Duration.seconds(4 * Int(life))
            _ = supervisor.handle(.exited("a", life, .failed("x")), now: now)
            _ = supervisor.handle(.started("a", life + 1), now: now)
        }
        #expect(supervisor.count(in: .running) == 1 && !supervisor.isEnding)
    }

    @Test("OTP 56 tree", arguments: Backend.allCases)
    func otp56_tree(_ backend: Backend) async throws {
        let first = Plan.supervisor("first", .oneForOneTight, "x", "y"), second = Plan.supervisor("second", .oneForOne, "z")
        try await withBench(backend, .oneForOneTight, first, second) { bench in
            await bench.becomes("first:1 second:1")
            for life in 1...2 {
                await bench.becomes("x:1 y:1", of: "first")
                // The restart is contained: only the child itself is new.
                await bench.end("first/x", .abnormally)
                await bench.becomes("x:2 y:1", of: "first")
                await bench.becomes("first:\(life) second:1")
                await bench.becomes("z:1", of: "second")
                // One too many there, and the first for the supervisor above; the second time it's one too many there as well.
                await bench.end("first/y", .abnormally)
                if life == 1 { await bench.becomes("first:2 second:1") }
            }
            await bench.escalates()
            await bench.ended("second") { $0 == .shutdown }
        }
    }

    @Test("OTP 71 count_children", arguments: Backend.allCases)
    func otp71_countChildren(_ backend: Backend) async throws {
        try await withBench(backend) { bench in
            await bench.counts(0, active: 0)
            await bench.run("a", Plan("b", .transient), Plan("c", .temporary), .supervisor("sub", .oneForOne, "x"))
            await bench.counts(4, active: 4)
            _ = await bench.stop("a")
            await bench.counts(4, active: 3)
            await bench.end("b", .normally)
            await bench.counts(4, active: 2)
            await bench.end("c", .normally)
            await bench.counts(3, active: 1)
            #expect(await bench.remove("a") == .done)
            await bench.counts(2, active: 1)
            #expect(await bench.startAgain("b") == .done)
            await bench.counts(2, active: 2)
            await bench.counts(1, active: 1, of: "sub")
        }
    }

    @Test("OTP 72 count_children_supervisor", arguments: Backend.allCases)
    func otp72_countChildrenSupervisor(_ backend: Backend) async throws {
        try await withBench(backend) { bench in
            for number in 1...3 { await bench.run(.supervisor("sub-\(number)", .oneForOne, restart: .temporary, "x", "y")) }
            await bench.counts(3, active: 3)
            for number in 1...3 { await bench.counts(2, active: 2, of: "sub-\(number)") }
            _ = await bench.stop("sub-2")
            await bench.counts(2, active: 2)
            await bench.becomes("sub-1:1 sub-3:1")
        }
    }

    @Test("OTP 73 count_restarting_children", arguments: Backend.allCases)
    func otp73_countRestartingChildren(_ backend: Backend) async throws {
        try await withBench(backend, .oneForOneLooping, Plan("a", failingLives: 2...UInt32.max), "b") { bench in
            await bench.counts(2, active: 2)
            await bench.end("a", .abnormally)
            await bench.becomes("a:~ b:1")
            await bench.counts(2, active: 1)
            _ = await bench.stop("a")
            await bench.counts(2, active: 1)
            await bench.becomes("a:- b:1")
        }
    }

    @Test("OTP 75 do_not_save_start_parameters_for_temporary_children", arguments: Backend.allCases)
    func otp75_doNotSaveStartParameters(_ backend: Backend) async throws {
        try await withBench(backend, .oneForOne, Plan("kept", .transient)) { bench in
            let before = (bench as? TreeBench)?.runtime.counters.coordinators
            for number in 1...3 {
                let key = "temporary-\(number)"
                await bench.run(Plan(key, .temporary))
                await bench.end(key, number == 1 ? .normally : .abnormally)
                await bench.becomes("kept:1")
                #expect(await bench.startAgain(key) == .unknown)
            }
            if let tree = bench as? TreeBench {
                let isFreed = await bench.eventually { tree.runtime.counters.coordinators == before }
                #expect(isFreed)
            }
        }
    }

    @Test("OTP 76 do_not_save_child_specs_for_temporary_children", arguments: Backend.allCases)
    func otp76_doNotSaveChildSpecs(_ backend: Backend) async throws {
        try await withBench(backend) { bench in
            for (key, type) in [("permanent", RestartType.permanent), ("transient", .transient), ("temporary", .temporary)] {
                await bench.run(Plan(key, type))
                _ = await bench.stop(key)
            }
            await bench.becomes("permanent:- transient:-")
        }
    }

    @Test("OTP 79 simple_global_supervisor", arguments: Backend.allCases)
    func otp79_simpleGlobalSupervisor(_ backend: Backend) async throws {
        // The name that is known everywhere is the path: it leads to the new life as it has led to the old one.
        try await withBench(backend, .oneForOne, .supervisor("sub", .oneForOne, "x")) { bench in
            await bench.end("sub/x", .abnormally)
            await bench.becomes("x:2", of: "sub")
            #expect(await bench.restart("sub") == .done)
            await bench.becomes("sub:2")
            await bench.becomes("x:1", of: "sub")
            await bench.end("sub/x", .abnormally)
            await bench.becomes("x:2", of: "sub")
        }
    }

    @Test("OTP 91 already_started_outside_supervisor", arguments: Backend.allCases)
    func otp91_alreadyStartedOutsideSupervisor(_ backend: Backend) async throws {
        try await withBench(backend, .oneForOne, "a") { bench in
            // Adapted: who asks for what is there gets a handle on it.
            #expect(await bench.start("a") == .done)
            await bench.becomes("a:1")
            if let tree = bench as? TreeBench {
                #expect(await tree.startOther("a") == .taken)
                await bench.becomes("a:1")
            }
            await bench.tells("a+")
        }
    }

    @Test("OTP 92 which_children", arguments: Backend.allCases)
    func otp92_whichChildren(_ backend: Backend) async throws {
        try await withBench(backend, .oneForOne, "b", "a") { bench in
            await bench.run(.supervisor("sub", .oneForOne, "x"))
            await bench.becomes("b:1 a:1 sub:1")
            await bench.becomes("x:1", of: "sub")
            #expect(await bench.children(of: "unknown") == nil)
            _ = await bench.stop("b")
            await bench.becomes("b:- a:1 sub:1")
        }
    }

    @Test("OTP 93 which_children_simple_one_for_one", arguments: Backend.allCases)
    func otp93_whichChildrenSimpleOneForOne(_ backend: Backend) async throws {
        try await withBench(backend) { bench in
            for number in 1...5 { await bench.run(Plan("\(number)", .temporary)) }
            await bench.becomes("1:1 2:1 3:1 4:1 5:1")
            await bench.end("3", .normally)
            await bench.becomes("1:1 2:1 4:1 5:1")
            #expect(await bench.children(of: "3") == nil)
        }
    }
}
