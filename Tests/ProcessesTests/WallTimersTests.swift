import ConcurrencySupport
import Testing

@testable import Processes

@Suite("Times of day", .timeLimit(.minutes(1)))
struct WallTimersTests {
    @Test(
        "A time that is waited for without the clock's own timers, for which there are no descriptors, comes all the same; one that is cancelled doesn't"
    )
    func withoutDescriptors() async {
        let isOver = OneShot<Void>()
        let calls = Lock(0)
        let began = WallTimers.now
        WallTimers.schedule(at: began + 2, by: nil) { calls.withLock { $0 += 100 } }.cancel()
        _ = WallTimers.schedule(at: began + 3, by: nil) {
            calls.withLock { $0 += 1 }
            isOver.settle()
        }
        await isOver.value
        #expect(WallTimers.now > began && calls.withLock { $0 } == 1)
    }
}
