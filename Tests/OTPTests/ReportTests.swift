import Coordinators
import Fixtures
import TestSupport
import Testing

/// `format_log`: what is said about children, to people.
@Suite("OTP reports", .timeLimit(minutes: 3))
struct ReportTests {
    private static let reasons: [ExitReason] = [
        .normal, .shutdown, .failed("x"), .exited(code: 3), .signaled(9), .hung, .startFailed("x"), .startTimedOut, .stopTimedOut,
        .memoryExceeded(bytes: 2, limit: 1), .killed(after: .seconds(1)), .outOfMemory, .escalated("x"), .unknown,
    ]

    @Test(
        "OTP 89 format_log_1",
        .skips(.inProcess, .worker, because: "the words for a reason are the same wherever the child lives"),
        arguments: Backend.allCases
    )
    func otp89_formatLog1(_ backend: Backend) throws {
        guard try Skips.fits(backend) else { return }
        let texts = Self.reasons.map(\.description)
        #expect(Set(texts).count == texts.count, "each reason has words of its own")
        for text in texts { #expect(!text.isEmpty && !text.contains("\n")) }
        #expect(ExitReason.failed("no disk").description.contains("no disk"))
    }

    @Test("OTP 90 format_log_2", arguments: Backend.allCases)
    func otp90_formatLog2(_ backend: Backend) async throws {
        // However deep it happened, the top hears it in one line: the child, the limit, the reason.
        let inner = Plan.supervisor("inner", .oneForOneTight, restart: .transient, "x")
        try await withBench(backend, .oneForOneTight, inner) { bench in
            for life in 1...2 {
                await bench.becomes("x:1", of: "inner")
                await bench.end("inner/x", .abnormally)
                await bench.becomes("x:2", of: "inner")
                await bench.end("inner/x", .abnormally)
                if life == 1 { await bench.becomes("inner:2") }
            }
            await bench.ended { reason in
                let text = reason.description
                let parts = ["inner", "1 restarts in 600.0 seconds", "x", "told to fail"]
                return !text.contains("\n") && parts.allSatisfy { text.contains($0) }
            }
        }
    }
}
