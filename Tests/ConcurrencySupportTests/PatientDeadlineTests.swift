import ConcurrencySupport
import Testing

@Suite("Deadlines that the own lateness extends") struct PatientDeadlineTests {
    /// Looks in a time that the test moves.
    private struct Look {
        let virtual = VirtualTime()
        var deadline: PatientDeadline
        var isOver = false

        init(_ total: Duration) { deadline = PatientDeadline(total, of: TimeSource(virtual: virtual)) }

        /// Lets time pass in which nothing looks, and looks then.
        mutating func pass(_ duration: Duration) async {
            await virtual.move(by: duration)
            isOver = deadline.look()
        }
    }

    @Test("A look that comes late extends the deadline by the time that was lost, once")
    func lateness() async {
        var look = Look(.seconds(4))
        await look.pass(.seconds(3))
        #expect(!look.isOver && look.deadline.left == .seconds(1))
        // It stands still until five seconds after the time at which it was to look.
        await look.pass(.seconds(6))
        let left = look.deadline.left
        #expect(!look.isOver && look.deadline.lost >= .seconds(5) && left > .zero && left <= .seconds(4))
        await look.pass(.zero)
        #expect(!look.isOver && look.deadline.left == left)
        await look.pass(left)
        #expect(look.isOver)
    }

    @Test("A look that is a little late, as on a busy machine, extends nothing; and what grants nothing isn't extended")
    func tolerance() async {
        var look = Look(.seconds(4))
        await look.pass(.milliseconds(4_090))
        #expect(look.isOver && look.deadline.lost == .zero)
        var nothing = Look(.zero)
        await nothing.pass(.seconds(6))
        #expect(nothing.isOver && nothing.deadline.lost == .zero)
    }

    @Test("A timer fires once after its time, and not when it was cancelled")
    func timer() async {
        let virtual = VirtualTime()
        let time = TimeSource(virtual: virtual)
        let (fired, cancelled) = (OneShot<MonotonicTime>(), OneShot<Void>())
        let first = PatientTimer(.seconds(2), of: time) { fired.settle(time.now) }
        let second = PatientTimer(.seconds(1), of: time) { cancelled.settle() }
        second.cancel()
        await virtual.move(by: .seconds(3))
        #expect(fired.outcome == MonotonicTime(nanoseconds: 2_000_000_000) && cancelled.outcome == nil)
        first.cancel()
    }
}
