import ConcurrencySupport
import Testing
import WireProtocol

@testable import Control
@testable import CoordinatorDaemon

@Suite("Events after a number")
struct EventNumberTests {
    private static let boot = "the other one"

    /// Returns what is sent of five events.
    private static func sent(after number: UInt64?, of boot: String? = nil) async throws -> [ControlEvent] {
        let log = EventLog()
        for _ in 1...5 { log.append(ControlEvent(kind: .paused)) }
        let sent = Lock<[JSONValue]>([])
        let query = EventQuery(after: number, boot: boot == "own" ? log.boot : boot)
        _ = try await log.send(query, to: ItemWriter { items throws(ControlError) in sent.withLock { $0 += items } })
        return try sent.withLock { $0 }.map { try ControlJSON.decode(ControlEvent.self, from: $0) }
    }

    @Test(
        "A number that the daemon hasn't reached, or of another boot, is another daemon's: all events come, after a gap that says so",
        arguments: [(6, nil), (1_000, nil), (.max, nil), (3, boot), (1_000, boot)] as [(UInt64, String?)]
    )
    func another(number: UInt64, boot: String?) async throws {
        let events = try await Self.sent(after: number, of: boot)
        #expect(events.first?.kind == .gap && events.first?.reason == "another daemon runs by now", "\(events)")
        #expect(events.dropFirst().map(\.number) == Array(1...5))
    }

    @Test(
        "After a number of this daemon come the events behind it, and no gap",
        arguments: [(nil, nil), (0, nil), (3, nil), (5, nil), (3, "own"), (1_000, "own")] as [(UInt64?, String?)]
    )
    func own(number: UInt64?, boot: String?) async throws {
        let numbers = try await Self.sent(after: number, of: boot).map(\.number)
        let after = number ?? 0
        #expect(numbers == (1...5).filter { $0 > after })
    }
}
