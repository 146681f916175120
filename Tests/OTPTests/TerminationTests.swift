import Coordinators
import Fixtures
import TestSupport
import Testing

/// `normal_termination`, `shutdown_termination` and `abnormal_termination`: whose end is followed by a restart.
@Suite("OTP termination", .timeLimit(minutes: 5))
struct TerminationTests {
    @Test("OTP 44 external_start_no_progress_log", arguments: Backend.allCases)
    func otp44_externalStartNoProgressLog(_ backend: Backend) async throws {
        // Adapted: what is there already when it's asked for is told of once, when it became ready.
        try await withBench(backend) { bench in
            await bench.run("a", "a", "b")
            await bench.tells("a+ b+")
            #expect(await bench.log.filter { $0.key == "a" } == [Entry(key: "a", change: .started)])
        }
    }

    @Test("OTP 45 permanent_normal", arguments: Backend.allCases)
    func otp45_permanentNormal(_ backend: Backend) async throws { try await termination(backend, .permanent, .normally, "a:2 b:1") }

    @Test("OTP 46 transient_normal", arguments: Backend.allCases)
    func otp46_transientNormal(_ backend: Backend) async throws { try await termination(backend, .transient, .normally, "a:- b:1") }

    @Test("OTP 47 temporary_normal", arguments: Backend.allCases)
    func otp47_temporaryNormal(_ backend: Backend) async throws { try await termination(backend, .temporary, .normally, "b:1") }

    @Test("OTP 48 permanent_shutdown", arguments: Backend.allCases)
    func otp48_permanentShutdown(_ backend: Backend) async throws { try await shutdown(backend, .permanent, "a:2 b:1") }

    @Test("OTP 49 transient_shutdown", arguments: Backend.allCases)
    func otp49_transientShutdown(_ backend: Backend) async throws { try await shutdown(backend, .transient, "a:- b:1") }

    @Test("OTP 50 temporary_shutdown", arguments: Backend.allCases)
    func otp50_temporaryShutdown(_ backend: Backend) async throws { try await shutdown(backend, .temporary, "b:1") }

    @Test("OTP 51 faulty_application_shutdown", arguments: Backend.allCases)
    func otp51_faultyApplicationShutdown(_ backend: Backend) async throws {
        // The reason that reaches the top says who has failed, and how.
        try await withBench(backend, .oneForOneTight, Plan("mailer", failingLives: 2...UInt32.max)) { bench in
            await bench.end("mailer", .abnormally)
            await bench.ended { reason in
                guard case .escalated(let text) = reason else { return false }
                return text.contains("mailer") && text.contains("planned")
            }
        }
    }

    @Test("OTP 52 permanent_abnormal", arguments: Backend.allCases)
    func otp52_permanentAbnormal(_ backend: Backend) async throws { try await abnormal(backend, .permanent, "a:2 b:1") }

    @Test("OTP 53 transient_abnormal", arguments: Backend.allCases)
    func otp53_transientAbnormal(_ backend: Backend) async throws { try await abnormal(backend, .transient, "a:2 b:1") }

    @Test("OTP 54 temporary_abnormal", arguments: Backend.allCases)
    func otp54_temporaryAbnormal(_ backend: Backend) async throws { try await abnormal(backend, .temporary, "b:1") }

    private func termination(_ backend: Backend, _ type: RestartType, _ way: OTP.Way, _ picture: String) async throws {
        try await withBench(backend, .oneForOne, Plan("a", type), "b") { bench in
            await bench.end("a", way)
            await bench.ended("a") { $0.isNormal == (way == .normally) }
            await bench.becomes(picture)
        }
    }

    private func abnormal(_ backend: Backend, _ type: RestartType, _ picture: String) async throws {
        // Only a process can exit or be killed.
        for way in [OTP.Way.abnormally] + (backend == .inProcess ? [] : [.exiting(3), .killed]) {
            try await termination(backend, type, way, picture)
        }
    }

    private func shutdown(_ backend: Backend, _ type: RestartType, _ picture: String) async throws {
        try await withBench(backend, .oneForOne, .endingWithShutdown("a", type), "b") { bench in
            await bench.end("a/x", .normally)
            await bench.ended("a") { $0 == .shutdown }
            await bench.becomes(picture)
        }
    }
}
