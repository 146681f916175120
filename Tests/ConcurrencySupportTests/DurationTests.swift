import ConcurrencySupport
import Testing

@Suite struct DurationTests {
    @Test func wholeUnits() {
        #expect(Duration.nanoseconds(-7).nanosecondsClamped == -7)
        #expect(Duration.microseconds(1_999).wholeMilliseconds == 1)
        #expect(Duration.microseconds(-1_999).wholeMilliseconds == -1)
        #expect(Duration.microseconds(1_999).millisecondsClamped == 1)
        #expect(Duration.milliseconds(-5).millisecondsClamped == 0)
    }

    @Test func waitsAreRoundedUp() {
        #expect(Duration.zero.millisecondsRoundedUp == 0)
        #expect(Duration.nanoseconds(1).millisecondsRoundedUp == 1)
        #expect(Duration.milliseconds(1).millisecondsRoundedUp == 1)
        #expect((Duration.milliseconds(1) + Duration(secondsComponent: 0, attosecondsComponent: 1)).millisecondsRoundedUp == 2)
        #expect(Duration.milliseconds(-1).millisecondsRoundedUp == 0)
        #expect(Duration.nanoseconds(-1).millisecondsRoundedUp == 0)
    }

    @Test(arguments: [(Int64.max, Int64.max), (Int64.min, Int64.min)])
    func whatIsTooLongIsTheLongest(seconds: Int64, limit: Int64) {
        let duration = Duration(secondsComponent: seconds, attosecondsComponent: 0)
        #expect(duration.nanosecondsClamped == limit)
        #expect(duration.wholeMilliseconds == limit)
        #expect(duration.millisecondsClamped == (seconds < 0 ? 0 : UInt32.max - 1))
        #expect(duration.millisecondsRoundedUp == (seconds < 0 ? 0 : Int32.max))
    }
}
