import Acknowledgement
import TestSupport
import Testing

@Suite("The memory of acknowledged messages")
struct TakenMessagesTests {
    private static let count = rounds(short: 100_000, all: 1_000_000, long: 10_000_000)

    @Test("Any number of messages leave nothing behind, whatever the order of their ends")
    func bounded() {
        var floor = SequenceFloor()
        var taken = TakenMessages<UInt64>(since: .zero)
        var window: [UInt64] = []
        var (most, kept) = (0, 0)
        // Without a clock: only the order of times counts.
        let now = Duration.seconds(1)
        for turn in 0..<Self.count {
            let number = floor.open()
            let label = DeliveryLabel(origin: 1, sequence: number, floor: floor.floor, since: nil)
            guard case .new = taken.admit(label, now: now, make: { number }) else {
                Issue.record("\(number) was known")
                return
            }
            window.append(number)
            // A hundred are open, and one of them takes long.
            guard window.count > 100 else { continue }
            let done = window.remove(at: turn % 1_000 == 0 ? 0 : 1)
            taken.ended(DeliveryLabel(origin: 1, sequence: done, floor: 0, since: nil), now: now)
            floor.settle(done)
            (most, kept) = (max(most, taken.remembered), max(kept, floor.count))
        }
        #expect(most <= 2_000 && kept <= 4_000, "\(most) ends, \(kept) numbers")
    }

    @Test("A floor that never rises and origins that say no more don't fill the memory, and what is forgotten is uncertain")
    func forgotten() {
        let birth = Duration.seconds(1)
        var time = birth
        var taken = TakenMessages<UInt64>(since: birth, limit: 100, originsLimit: 8)
        func take(_ origin: UInt64, _ number: UInt64) -> Duration {
            time = time + .milliseconds(1)
            let label = DeliveryLabel(origin: origin, sequence: number, floor: 1, since: nil)
            guard case .new = taken.admit(label, now: time, make: { number }) else {
                Issue.record("\(origin) \(number) was known")
                return time
            }
            taken.ended(label, now: time)
            return time
        }
        func again(_ origin: UInt64, _ number: UInt64, since: Duration) -> String {
            time = time + .milliseconds(1)
            let label = DeliveryLabel(origin: origin, sequence: number, floor: 1, since: since)
            switch taken.admit(label, now: time, make: { number }) {
            case .new: return "new"
            case .known(let number): return "known \(number)"
            case .uncertain: return "uncertain"
            }
        }
        var times: [Duration] = []
        for number in UInt64(1)...1_000 { times.append(take(1, number)) }
        #expect(taken.remembered == 100)
        #expect(again(1, 1_000, since: times[999]) == "known 1000")
        #expect(again(1, 950, since: times[949]) == "known 950")
        #expect(again(1, 1, since: times[0]) == "uncertain")
        // Another origin takes the room of the one that says no more.
        for origin in UInt64(2)...50 { for number in UInt64(1)...10 { _ = take(origin, number) } }
        #expect(taken.remembered <= 100)
        #expect(again(50, 10, since: time) == "known 10")
        #expect(again(1, 1_000, since: times[999]) == "uncertain")
        // What has first left after the last was forgotten can't have been.
        #expect(again(1, 2_000, since: time + .seconds(1)) == "new")
    }

    @Test("Origins that have ended leave nothing: of two thousand lives no more are remembered than have sent within the last minute")
    func endedOrigins() {
        var taken = TakenMessages<UInt64>(since: .zero)
        var most = 0
        for life in UInt64(1)...2_000 {
            let time = Duration.seconds(life)
            // A sender dies with its last messages unsettled, and another one stays.
            for (origin, number) in [(life, 1), (life, 2), (0, life)] {
                let label = DeliveryLabel(origin: origin, sequence: number, floor: origin == 0 ? life : 1, since: nil)
                guard case .new = taken.admit(label, now: time, make: { number }) else {
                    Issue.record("\(origin) \(number) was known")
                    return
                }
                taken.ended(label, now: time)
            }
            most = max(most, taken.originsCount)
        }
        #expect(most <= 63 && taken.originsCount <= 63, "\(most) at most, \(taken.originsCount) in the end")
        #expect(taken.remembered <= 125)
        func again(_ origin: UInt64, _ number: UInt64, since: Duration) -> String {
            let label = DeliveryLabel(origin: origin, sequence: number, floor: 1, since: since)
            switch taken.admit(label, now: .seconds(2_001), make: { number }) {
            case .new: return "new"
            case .known(let number): return "known \(number)"
            case .uncertain: return "uncertain"
            }
        }
        // What was forgotten isn't handled again, what is remembered isn't either, and nothing else is refused.
        #expect(again(1_000, 1, since: .seconds(999)) == "uncertain")
        #expect(again(1_990, 2, since: .seconds(1_989)) == "known 2")
        #expect(again(1_990, 3, since: .seconds(1_989)) == "new")
        #expect(again(5_000, 1, since: .seconds(1_960)) == "new")
    }

    @Test("The floor is the lowest open number")
    func floor() {
        var floor = SequenceFloor()
        #expect(floor.floor == 1)
        let numbers = (0..<1_000).map { _ in floor.open() }
        #expect(numbers == Array(1...1_000) && floor.floor == 1)
        for number in numbers.dropFirst().shuffled() { floor.settle(number) }
        #expect(floor.floor == 1)
        floor.settle(1)
        #expect(floor.floor == 1_001 && floor.count == 0)
        floor.settle(1)
        floor.settle(5_000)
        #expect(floor.floor == 1_001 && floor.open() == 1_001)
    }
}
