import ConcurrencySupport
import TestSupport
import Testing

@Suite("A failure that comes and goes", .timeLimit(minutes: 1))
struct TroubleTests {
    private final class Told: Sendable {
        private let lines = Lock<[String]>([])
        var all: [String] { lines.withLock { $0 } }

        func trouble(calm: Duration) -> Trouble<String> {
            Trouble(calm: calm) { [self] change in
                lines.withLock { lines in
                    switch change {
                    case .began(let cause): lines.append("began \(cause)")
                    case .ended(let cause, let failures, let lost): lines.append("ended \(cause) \(failures) \(lost)")
                    }
                }
            }
        }
    }

    @Test("is told once, however often it comes and goes within the calm")
    func flapping() {
        let told = Told()
        let trouble = told.trouble(calm: .seconds(600))
        trouble.succeeded()
        for number in 0..<100 {
            trouble.failed("\(number)")
            trouble.succeeded(lost: 1)
        }
        #expect(told.all == ["began 0"])
    }

    @Test("is over after the calm, with what it has cost; the next one is another")
    func over() async throws {
        let told = Told()
        let trouble = told.trouble(calm: .milliseconds(1))
        for _ in 0..<3 { trouble.failed("a") }
        trouble.succeeded(lost: 7)
        try await eventually("it's over") { told.all.last == "ended a 3 7" }
        trouble.failed("b")
        #expect(told.all == ["began a", "ended a 3 7", "began b"])
    }
}
