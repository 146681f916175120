import Flows
import Testing
import WireProtocol

@Suite("The numbers of flows' messages")
struct FlowNumbersTests {
    @Test("A message that stays open for ever keeps no receiver from taking thousands of others, each of them once")
    func stuck() {
        var numbers = FlowNumbers(from: 7)
        let now = WallTime(nanoseconds: 0)
        var receiver = FlowRecord(
            type: "Flow",
            version: 1,
            id: 1,
            configuration: .null,
            state: JSONText(.null),
            page: nil,
            at: now
        )
        let stuck = numbers.open()
        var (refused, repeated, foreign) = (0, 0, 0)
        for _ in 0..<3_000 {
            let (origin, number) = numbers.open()
            if receiver.inbox.admission(origin, number) != .new { refused += 1 }
            receiver.took(origin, number, .null)
            receiver.forget(below: numbers.floor(of: origin), of: origin)
            // Its reply may have been lost.
            if receiver.inbox.admission(origin, number) != .known(.null) { repeated += 1 }
            if !numbers.contains(origin) { foreign += 1 }
            numbers.settle(origin, number)
        }
        #expect(refused == 0 && repeated == 0 && foreign == 0, "\(refused), \(repeated), \(foreign)")
        #expect(receiver.inbox.count <= Inbox.totalLimit)
        #expect(numbers.floor(of: stuck.origin) == stuck.number, "it's still open")
        numbers.settle(stuck.origin, stuck.number)
        #expect(numbers.contains(stuck.origin) && !numbers.contains(6) && !numbers.contains(1_000))
    }

    @Test("As long as each message comes to its end, one origin is enough, and next to nothing is remembered")
    func orderly() {
        var numbers = FlowNumbers(from: .max)
        for expected in 1...3_000 as ClosedRange<UInt64> {
            let (origin, number) = numbers.open()
            #expect(origin == .max && number == expected)
            numbers.settle(origin, number)
        }
        #expect(numbers.floor(of: .max) == 3_001)
    }
}
