import Coordinators
import Fixtures
import TestSupport
import Testing

/// `significant`: supervisors that end as their significant children have.
@Suite("OTP significant", .timeLimit(minutes: 5))
struct SignificantTests {
    @Test("OTP 57 nonsignificant_temporary", arguments: Backend.allCases, [Policies.oneForOne, .any, .all])
    func otp57_nonsignificantTemporary(_ backend: Backend, policy: Policies) async throws {
        try await withBench(backend, policy, Plan("a", .temporary), Plan("b", .temporary), "c") { bench in
            await bench.end("a", .normally)
            await bench.end("b", .abnormally)
            await bench.becomes("c:1")
            await bench.run("d")
        }
    }

    @Test("OTP 58 nonsignificant_transient", arguments: Backend.allCases, [Policies.oneForOne, .any, .all])
    func otp58_nonsignificantTransient(_ backend: Backend, policy: Policies) async throws {
        try await withBench(backend, policy, Plan("a", .transient), Plan("b", .transient), "c") { bench in
            await bench.end("a", .normally)
            await bench.end("b", .abnormally)
            await bench.becomes("a:- b:2 c:1")
            await bench.run("d")
        }
    }

    @Test("OTP 59 significant_temporary", arguments: Backend.allCases)
    func otp59_significantTemporary(_ backend: Backend) async throws {
        try await withBench(backend) { bench in
            #expect(await bench.start(Plan("a", .temporary, isSignificant: true)) == .invalid)
        }
        for way in [OTP.Way.normally, .abnormally] {
            try await anyAndAll(backend, .temporary, way)
        }
    }

    @Test("OTP 60 significant_transient", arguments: Backend.allCases)
    func otp60_significantTransient(_ backend: Backend) async throws {
        try await withBench(backend) { bench in
            #expect(await bench.start(Plan("a", .transient, isSignificant: true)) == .invalid)
        }
        for policy in [Policies.any, .all] {
            try await withBench(backend, policy, Plan("a", .transient, isSignificant: true)) { bench in
                await bench.end("a", .abnormally)
                await bench.becomes("a:2")
            }
        }
        try await anyAndAll(backend, .transient, .normally)
    }

    private func anyAndAll(_ backend: Backend, _ type: RestartType, _ way: OTP.Way) async throws {
        let a = Plan("a", type, isSignificant: true), b = Plan("b", type, isSignificant: true)
        try await withBench(backend, .any, a, b, "c") { bench in
            await bench.end("a", way)
            await bench.endsOfItself()
            for key in ["b", "c"] { await bench.ended(key) { $0 == .shutdown } }
        }
        try await withBench(backend, .all, a, b, "c") { bench in
            await bench.end("b", way)
            await bench.becomes(type == .temporary ? "a:1 c:1" : "a:1 b:- c:1")
            await bench.end("a", way)
            await bench.endsOfItself()
            await bench.ended("c") { $0 == .shutdown }
        }
    }

    @Test("OTP 61 significant_simple", arguments: Backend.allCases)
    func otp61_significantSimple(_ backend: Backend) async throws {
        for policy in [Policies.any, .all] {
            try await withBench(backend, policy) { bench in
                for number in 1...3 { await bench.run(Plan("\(number)", .temporary, isSignificant: true)) }
                await bench.end("2", .normally)
                if policy == .all {
                    await bench.becomes("1:1 3:1")
                    await bench.end("3", .abnormally)
                    await bench.becomes("1:1")
                    await bench.end("1", .normally)
                }
                await bench.endsOfItself()
            }
        }
    }

    @Test(
        "OTP 62 significant_bystander",
        arguments: Backend.allCases,
        [Policies.anyOneForAll, .allOneForAll, .anyRestForOne, .allRestForOne]
    )
    func otp62_significantBystander(_ backend: Backend, policy: Policies) async throws {
        for type in [RestartType.temporary, .transient] {
            try await withBench(backend, policy, "a", Plan("b", type, isSignificant: true)) { bench in
                await bench.end("a", .abnormally)
                await bench.becomes(type == .temporary ? "a:2" : "a:2 b:2")
                await bench.run("c")
            }
        }
    }

    @Test("OTP 63 significant_escalation", arguments: Backend.allCases)
    func otp63_significantEscalation(_ backend: Backend) async throws {
        let leaf = Plan("x", .temporary, isSignificant: true)
        try await withBench(backend, .any, .supervisor("sub", .any, restart: .transient, isSignificant: true, leaf), "b") { bench in
            await bench.end("sub/x", .normally)
            await bench.ended("sub") { $0 == .shutdown }
            await bench.endsOfItself()
            await bench.ended("b") { $0 == .shutdown }
        }
        try await withBench(backend, .any, .supervisor("sub", .any, restart: .transient, leaf), "b") { bench in
            await bench.end("sub/x", .normally)
            await bench.becomes("sub:- b:1")
            await bench.run("c")
        }
    }
}
