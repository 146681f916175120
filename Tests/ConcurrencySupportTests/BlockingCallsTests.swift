import ConcurrencySupport
import Testing

@Suite("Calls that may block")
struct BlockingCallsTests {
    @Test("Of each subject one runs at a time: those that follow wait until their deadline, and other subjects don't")
    func subjects() async throws {
        let calls = BlockingCalls()
        let gate = Semaphore()
        for _ in 0..<2 {
            await #expect(throws: BlockingCalls.Failure.self) {
                try await calls.run("hung", within: .milliseconds(10)) { gate.wait() }
            }
        }
        #expect(calls.count == 1)
        #expect(try await calls.run("other") { 1 } == 1)
        async let next = calls.run("hung") { 2 }
        gate.post()
        #expect(try await next == 2)
        #expect(calls.count == 0)
    }

    @Test("A value that comes after it was given up is cleared away")
    func late() async throws {
        let (made, late) = (OneShot<Int>(), OneShot<Int>())
        let pending = PendingValue(in: OwnedTasks()) {
            await made.value
        } late: {
            late.settle($0)
        }
        pending.giveUp(CancellationError())
        await #expect(throws: CancellationError.self) { try await pending.value }
        made.settle(5)
        #expect(await late.value == 5)
    }
}
