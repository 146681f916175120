import ConcurrencySupport
import Testing
import WireProtocol

@testable import Coordinators

/// Numbers that a peer may send, and no peer means well with.
@Suite("Maxima: what a peer may claim")
struct MaximaTests {
    @Test("Credit beyond all numbers is harmless, first and later")
    func credit() {
        var windows = SendWindows<Int>()
        let all = CreditWindow(messages: .max, bytes: .max)
        _ = windows.add(all, route: "")
        let isOut = windows.enqueue(1, route: "x", size: 64)
        #expect(isOut)
        for _ in 0..<10 { _ = windows.add(all, route: "x") }
        for _ in 0..<10 { windows.takeBack(.max, route: "x") }
        // No more may be under way than this side lets be: a sixteenth of the messages for a route.
        var left = 0
        for number in 0..<100_000 where windows.enqueue(number, route: "x", size: 1) { left += 1 }
        #expect(left == CreditWindow.link.share.messages)
    }

    @Test("A window of nothing lets nothing leave, and a later one does")
    func noCredit() {
        var windows = SendWindows<Int>(waitsForWindow: true)
        let early = windows.enqueue(1, route: "x", size: 1)
        #expect(!early)
        let none = windows.add(.init(messages: 0, bytes: 0), route: "")
        #expect(none.isEmpty)
        #expect(windows.add(.init(messages: 16, bytes: 1_000), route: "") == [1])
    }

    @Test("A message without credit isn't accepted")
    func received() {
        var credits = ReceiveCredits()
        var taken = 0
        while taken < 100_000, credits.spend("x", 64) { taken += 1 }
        #expect(taken == CreditWindow.link.share.messages)
        for number in 0..<100 { while taken < 100_000, credits.spend("\(number)", 64) { taken += 1 } }
        #expect(taken == CreditWindow.link.messages)
        // A large one may come while anything is left, and one only.
        var other = ReceiveCredits()
        let large = [other.spend("x", 1 << 20), other.spend("x", 64)]
        #expect(large == [true, false])
        var isTaken = false
        for credit in other.release("x", 1 << 20) { isTaken = credit.bytes == 1 << 20 && other.spend("x", 64) }
        #expect(isTaken)
    }

    @Test("Dead letters beyond counting, and of any length, are harmless")
    func deadLetters() {
        let long = String(repeating: "ü", count: 100_000)
        let path = CoordinatorPath("/" + long) ?? .root
        let letter = DeadLetter(name: long, sender: path, target: path, reason: .handlerFailed(long))
        var report = DeadLetterReport(count: 0, letters: [])
        for _ in 0..<3 { report.add(DeadLetterReport(count: .max, letters: Array(repeating: letter, count: 1_000))) }
        #expect(report.count == .max)
        #expect(report.letters.count == DeadLetters.kept)
        for letter in report.letters {
            #expect(letter.name.utf8.count <= 1_100)
            #expect(letter.target == .root)
            #expect(letter.reason.description.utf8.count <= 1_100)
        }
    }

    @Test("Last words of any length are harmless", arguments: [Exit.Kind.failed, .startFailed, .escalated, .init(rawValue: 200)])
    func lastWords(_ kind: Exit.Kind) {
        #expect(ExitReason(Exit(kind: kind, code: .min, message: String(repeating: "ü", count: 500_000))).description.utf8.count <= 1_100)
    }

    @Test("Times before and after all time are harmless")
    func times() {
        let (first, last) = (MonotonicTime(nanoseconds: .min), MonotonicTime.distantFuture)
        #expect(last - first == .nanoseconds(Int64.max))
        #expect(first - last == .nanoseconds(Int64.min))
        #expect(MonotonicTime.now + .milliseconds(Int64.min) < .now)
        #expect(first + .milliseconds(Int64.min) == first)
        #expect(MonotonicTime.now + .milliseconds(Int64.max) == last)
        #expect(Duration.milliseconds(Int64.min).nanosecondsClamped == .min)
        #expect(Duration.milliseconds(Int64.max).millisecondsClamped == UInt32.max - 1)
        for milliseconds in [Int64.min, -1, 0, 1, .max] {
            let request = DismissalRequest(DismissalRequest.operation, ["timeoutMilliseconds": .integer(milliseconds)])
            #expect(request.map { $0.timeout >= .zero && $0.timeout < .seconds(100 * 86_400) } == true)
            #expect(TimeoutBudget(["patienceMilliseconds": .integer(milliseconds)]).duration < .seconds(100 * 86_400))
        }
        Timers.shared.cancel(Timers.shared.schedule(at: last) {})
    }
}
