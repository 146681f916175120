import Coordinators
import Fixtures
import Glibc
import TestSupport
import Testing

/// `sup_stop`: how children are ended, and what happens when they don't follow.
@Suite("OTP sup_stop", .timeLimit(minutes: 5))
struct SupStopTests {
    /// Longer than any test.
    private let never = 600_000

    @Test("OTP 16 sup_stop_infinity", arguments: Backend.allCases)
    func otp16_supStopInfinity(_ backend: Backend) async throws {
        let children = [Plan("a", shutdown: .infinity, stopMilliseconds: 200), .supervisor("sub", .oneForOne, "x")]
        try await withBench(backend, .oneForOne, children[0], children[1]) { bench in
            await bench.becomes("a:1 sub:1")
            await bench.shutDown()
            await bench.ended("a") { $0 == .shutdown }
            await bench.ended("sub") { $0 == .shutdown }
        }
    }

    @Test("OTP 17 sup_stop_timeout", arguments: Backend.allCases)
    func otp17_supStopTimeout(_ backend: Backend) async throws {
        let deaf = Plan("a", shutdown: .timeout(.milliseconds(500)), stopMilliseconds: never)
        try await withBench(backend, .oneForOne, deaf, "b") { bench in
            await bench.becomes("a:1 b:1")
            await bench.shutDown()
            await bench.ended("a") { !$0.isNormal }
            await bench.ended("b") { $0 == .shutdown }
        }
    }

    @Test("OTP 18 sup_stop_timeout_dynamic", arguments: Backend.allCases)
    func otp18_supStopTimeoutDynamic(_ backend: Backend) async throws {
        // Here they end one after the other, in OTP all at once.
        try await withBench(backend) { bench in
            for number in 1...3 {
                await bench.run(Plan("deaf-\(number)", .temporary, shutdown: .timeout(.milliseconds(300)), stopMilliseconds: never))
                await bench.run(Plan("well-\(number)", .temporary))
            }
            await bench.shutDown()
            for number in 1...3 {
                await bench.ended("deaf-\(number)") { !$0.isNormal }
                await bench.ended("well-\(number)") { $0 == .shutdown }
            }
        }
    }

    @Test("OTP 19 sup_stop_brutal_kill", arguments: Backend.allCases)
    func otp19_supStopBrutalKill(_ backend: Backend) async throws {
        try await withBench(backend, .oneForOne, Plan("a", shutdown: .brutalKill, stopMilliseconds: never), "b") { bench in
            await bench.becomes("a:1 b:1")
            await bench.shutDown()
            await bench.ended("a") { $0 == .stopTimedOut || $0 == .signaled(9) }
            await bench.ended("b") { $0 == .shutdown }
        }
    }

    @Test("OTP 20 sup_stop_brutal_kill_dynamic", arguments: Backend.allCases)
    func otp20_supStopBrutalKillDynamic(_ backend: Backend) async throws {
        try await withBench(backend) { bench in
            for number in 1...10 {
                await bench.run(Plan("\(number)", .temporary, shutdown: .brutalKill, stopMilliseconds: never))
            }
            await bench.shutDown()
            for number in 1...10 {
                await bench.ended("\(number)") { $0 == .stopTimedOut || $0 == .signaled(9) }
            }
        }
    }

    @Test("OTP 21 sup_stop_race", arguments: Backend.allCases)
    func otp21_supStopRace(_ backend: Backend) async throws {
        let gate = try Gate(), stopGate = try Gate()
        // Only a process can be killed.
        let ways: [OTP.Way] = [.normally, .abnormally] + (backend == .inProcess ? [] : [.exiting(3), .killed])
        try await withBench(backend) { bench in
            var keys: [(String, OTP.Way)] = []
            for type in RestartType.allCases {
                for way in ways {
                    var plan = Plan("\(type)-\(keys.count)", type)
                    plan.ending = Plan.Ending(way, gate: gate.path)
                    await bench.run(plan)
                    keys.append((plan.key, way))
                }
            }
            // The last to start is the first to stop: the others end while it does.
            var last = Plan("last", shutdown: .infinity, stopMilliseconds: 1_000)
            if backend != .machine {
                last.stopMilliseconds = 0
                last.stopGate = stopGate.path
            }
            await bench.run(last)
            await bench.beginShutDown()
            #expect(await bench.eventually { backend == .machine || stopGate.isReached })
            if backend == .machine {
                for (key, way) in keys { await bench.end(key, way) }
            } else {
                try gate.open()
            }
            for (key, way) in keys { await bench.ended(key) { reason in Self.fits(reason, way) } }
            try stopGate.open()
            await bench.ended { $0 == .shutdown }
            // No child was started again.
            let log = await bench.log
            for (key, _) in keys { #expect(log.filter { $0.key == key }.compactMap(\.sign) == ["\(key)+", "\(key)-"]) }
        }
    }

    private static func fits(_ reason: ExitReason, _ way: OTP.Way) -> Bool {
        switch (way, reason) {
        case (.normally, .normal), (.abnormally, .failed), (.killed, .signaled(9)): true
        case (.exiting(let code), .exited(let actual)): code == actual
        default: false
        }
    }

    @Test(
        "OTP 22 sup_stop_non_shutdown_exit_dynamic",
        .skips(.inProcess, because: "a coordinator that is being stopped can't choose the reason; only a process can"),
        arguments: Backend.allCases
    )
    func otp22_supStopNonShutdownExitDynamic(_ backend: Backend) async throws {
        try await withBench(backend) { bench in
            for (number, code) in [Int32(0), 3, 7].enumerated() {
                var plan = Plan("\(number)", .temporary)
                plan.stopExitCode = code
                await bench.run(plan)
            }
            await bench.run("well")
            await bench.shutDown()
            for (number, code) in [Int32(0), 3, 7].enumerated() { await bench.ended("\(number)") { $0 == .exited(code: code) } }
            await bench.ended("well") { $0 == .shutdown }
        }
    }

    @Test("OTP 55 child_unlink", arguments: Backend.allCases)
    func otp55_childUnlink(_ backend: Backend) async throws {
        try await withBench(backend) { bench in
            await bench.run(Plan("a", shutdown: .timeout(.milliseconds(500)), stopMilliseconds: never), "b")
            if let tree = bench as? TreeBench, backend == .worker {
                // It hears nothing any more.
                let process = try await #require(tree.runtime.snapshot(of: "/top/a").processID)
                try await stopProcess(process)
            }
            #expect(await bench.stop("a") == .done)
            await bench.becomes("a:- b:1")
            await bench.ended("a") { !$0.isNormal }
        }
    }

    @Test("OTP 87 order_of_children", arguments: Backend.allCases)
    func otp87_orderOfChildren(_ backend: Backend) async throws {
        try await withBench(backend, .oneForOne, "a", "b") { bench in
            await bench.run("c", "d")
            await bench.shutDown()
            await bench.tells("a+ b+ c+ d+ d- c- b- a-")
        }
    }
}
