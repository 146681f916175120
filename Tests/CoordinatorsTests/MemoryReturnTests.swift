import Testing

@testable import Coordinators

#if !SLOW_PATH_ONLY
@Suite("When a process gives free memory back")
struct MemoryReturnTests {
    @Test("After many ends, and not often, however many there are")
    func schedule() {
        var memory = MemoryReturn()
        var time = Duration.zero
        var returns: [Duration] = []
        // A hundred ends a second, for a minute.
        for _ in 0..<6_000 {
            time += .milliseconds(10)
            if memory.noteEnd(now: time) { returns.append(time) }
        }
        #expect(returns.count == 6 && returns[0] == .milliseconds(10) * MemoryReturn.ends)
        #expect(zip(returns, returns.dropFirst()).allSatisfy { $1 - $0 >= MemoryReturn.interval })
        // One end a minute: nothing is given back before there is something.
        returns = []
        for _ in 0..<2 * MemoryReturn.ends {
            time += .seconds(60)
            if memory.noteEnd(now: time) { returns.append(time) }
        }
        #expect(returns.count <= 2)
    }
}
#endif
