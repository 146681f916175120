import ConcurrencySupport
import TestSupport
import Testing

@testable import Coordinators

#if !SLOW_PATH_ONLY
@Suite("The wait for an answer without giving up the thread", .timeLimit(minutes: 1))
struct BusyWaitTests {
    /// Returns how many of a number of asks have waited.
    ///
    /// - Parameter isAnswered: Whether the answer is there at once; otherwise it comes too late.
    private static func waits(_ wait: BusyWait, of asks: Int, isAnswered: (Int) -> Bool) -> Int {
        var count = 0
        for number in 0..<asks {
            var isFirst = true
            // The time is over before the first look.
            _ = wait.wait(upTo: .zero) {
                if isFirst { count += 1 }
                isFirst = false
                return isAnswered(number)
            }
        }
        return count
    }

    @Test("It ends with the answer, however often")
    func answered() {
        let wait = BusyWait()
        for _ in 0..<5_000 {
            var looks = 0
            _ = wait.wait(upTo: .seconds(60)) {
                looks += 1
                return looks == 3
            }
            #expect(looks == 3)
        }
    }

    @Test("Every sixteenth answer lets other tasks run")
    func yields() {
        let wait = BusyWait()
        #expect((1...64).map { _ in wait.wait(upTo: .seconds(60)) { true } }.filter(\.self).count == 4)
        #expect(!wait.wait(upTo: .zero) { false })
    }

    @Test("A wait that is over much too late is followed by a rest, which grows, until answers come in time again")
    func preempted() {
        let wait = BusyWait()
        #expect(Self.waits(wait, of: 1_025, isAnswered: { _ in false }) == 1)
        #expect(Self.waits(wait, of: 1 + 2_048, isAnswered: { _ in false }) == 1)
        #expect(Self.waits(wait, of: 1 + 4_096, isAnswered: { _ in false }) == 1)
        #expect(Self.waits(wait, of: 1_000, isAnswered: { _ in true }) == 1_000)
        #expect(Self.waits(wait, of: 1_026, isAnswered: { _ in false }) == 2)
    }

    @Test("A wait in vain costs the credit of four answers")
    func late() {
        let wait = BusyWait()
        func isLate() -> Bool {
            var looks = 0
            _ = wait.wait(upTo: .milliseconds(2)) {
                looks += 1
                return false
            }
            return looks > 0
        }
        var count = 0
        while isLate() { count += 1 }
        // A busy machine may interrupt it, which ends it earlier.
        #expect((1...16).contains(count))
    }

    @Test("One task at a time waits so")
    func oneAtATime() {
        let wait = BusyWait()
        _ = wait.wait(upTo: .seconds(60)) {
            _ = wait.wait(upTo: .seconds(60)) {
                Issue.record("a second one waits")
                return true
            }
            return true
        }
    }
}
#endif
