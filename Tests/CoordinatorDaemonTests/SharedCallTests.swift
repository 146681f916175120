import ConcurrencySupport
import TestSupport
import Testing

@testable import CoordinatorDaemon

@Suite("Calls whose results are shared", .timeLimit(minutes: 1))
struct SharedCallTests {
    @Test("Callers that come while a call runs share the next one, and no caller gets an older result")
    func sharing() async throws {
        let began = Lock(0)
        let asked = Lock(0)
        let (gate, opener) = AsyncStream.makeStream(of: Void.self)
        let call = SharedCall {
            let number = began.withLock { began in
                began += 1
                return began
            }
            if number == 1 { for await _ in gate {} }
            return number
        }
        let ask = { @Sendable in
            asked.withLock { $0 += 1 }
            return try await call.value()
        }
        async let first = call.value()
        try await eventually("the first has begun") { began.withLock { $0 } == 1 }
        try await withThrowingTaskGroup(of: Int.self) { group in
            for _ in 0..<100 { group.addTask(operation: ask) }
            // They wait for the first: it's let go once some of them do.
            try await eventually("some wait") { asked.withLock { $0 } > 50 }
            opener.finish()
            for try await number in group { #expect(number >= 2 && number <= 3) }
        }
        #expect(try await first == 1)
        #expect(began.withLock { $0 } <= 3)
    }
}
