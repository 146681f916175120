import Testing

@testable import Coordinators

@Suite("Pool router: which member gets a message")
struct PoolRouterTests {
    private typealias Router = PoolRouter<Int>

    private func router(_ size: Int, capacity: Int = 10, takesTurns: Bool = false) -> Router {
        var router = Router(capacity: capacity, takesTurns: takesTurns)
        router.resize(to: size)
        return router
    }

    @Test("The member that has the fewest messages is chosen")
    func leastLoaded() {
        var router = router(3)
        for _ in 0..<6 { _ = router.assign(.any) { _ in .ready } }
        #expect((0..<3).map { router.load(of: $0) } == [2, 2, 2])
        router.release(1)
        let freed = router.assign(.any) { _ in .ready }
        #expect(freed == 1)
        router.release(2)
        router.release(2)
        let next = (0..<2).map { _ in router.assign(.any) { _ in .ready } }
        #expect(next == [2, 2])
    }

    @Test("Members get messages in turn, whatever they have")
    func turns() {
        var router = router(3, takesTurns: true)
        let chosen = (0..<7).map { _ in router.assign(.any) { _ in .ready } }
        #expect(chosen == [0, 1, 2, 0, 1, 2, 0])
    }

    @Test("No member gets more than it takes, and none that is away or excluded gets any")
    func room() {
        for takesTurns in [false, true] {
            var router = router(3, capacity: 1, takesTurns: takesTurns)
            router.exclude(1)
            let chosen = (0..<2).map { _ in router.assign(.any) { $0 == 2 ? .away : .ready } }
            #expect(chosen == [0, nil])
            let certain = router.assign(.member(0)) { _ in .ready }
            #expect(certain == nil)
            router.release(0)
            let again = router.assign(.member(0)) { _ in .held }
            #expect(again == 0)
        }
    }

    @Test("A member that can't be reached gets only messages that have no choice")
    func held() {
        var router = router(2, capacity: 2)
        let chosen = (0..<3).map { _ in router.assign(.any) { $0 == 0 ? .held : .ready } }
        #expect(chosen == [1, 1, nil])
        let certain = router.assign(.member(0)) { _ in .held }
        #expect(certain == 0)
    }

    @Test("A message that must be alone has a member for itself, which takes others only before and afterwards", arguments: [1, 2, 3])
    func alone(_ size: Int) {
        var router = router(size, capacity: 2)
        for _ in 0..<size { _ = router.assign(.any) { _ in .ready } }
        router.waitAlone(1, nil)
        router.waitAlone(2, nil)
        #expect(router.assignAlone { _ in .ready }.isEmpty)
        // One member is kept free for them, the others go on.
        let others = (0..<size).map { _ in router.assign(.any) { _ in .ready } }
        #expect(others.count { $0 != nil } == size - 1)
        let kept = (0..<size).first { !others.contains($0) } ?? 0
        router.release(kept)
        let first = router.assignAlone { _ in .ready }
        #expect(first.map(\.turn) == [1] && first.map(\.number) == [kept])
        #expect(router.assign(.member(kept)) { _ in .ready } == nil)
        router.release(kept)
        let second = router.assignAlone { _ in .ready }
        #expect(second.map(\.turn) == [2] && !router.isAnyWaitingAlone)
        router.release(kept)
        #expect(router.assign(.member(kept)) { _ in .ready } == kept)
    }

    @Test("One that doesn't wait any more to be alone keeps no member free, and one for a certain member waits for that")
    func aloneNoMore() {
        var router = router(2, capacity: 2)
        for _ in 0..<2 { _ = router.assign(.any) { _ in .ready } }
        router.waitAlone(1, nil)
        #expect(router.assignAlone { _ in .ready }.isEmpty)
        router.remove { $0 == 1 }
        #expect((0..<2).compactMap { _ in router.assign(.any) { _ in .ready } }.count == 2)
        let hash = UInt64(7)
        let place = Router.place(of: hash, among: 2)
        for _ in 0..<2 { router.release(1 - place) }
        router.waitAlone(2, hash)
        #expect(router.assignAlone { _ in .ready }.isEmpty)
        for _ in 0..<2 { router.release(place) }
        #expect(router.assignAlone { _ in .held }.map(\.number) == [place])
    }

    @Test("A message is a suspect from the first death on, and poisoned with the third")
    func suspicion() {
        var suspicion = PoolSuspicion()
        #expect(!suspicion.runsAlone)
        for _ in 1..<PoolSuspicion.limit {
            #expect(suspicion.memberDied() == .again)
            #expect(suspicion.runsAlone)
        }
        #expect(suspicion.memberDied() == .poisoned)
    }

    @Test("A resize leaves a hash at its place, or moves it to one that is new", arguments: 1..<20)
    func hashing(_ size: Int) {
        var moved = 0
        for hash in 0..<2_000 {
            let hash = UInt64(hash) &* 0x9E37_79B9_7F4A_7C15
            let (former, place) = (Router.place(of: hash, among: size), Router.place(of: hash, among: size + 1))
            #expect((0..<size).contains(former))
            if former == place { continue }
            moved += 1
            #expect(place == size)
        }
        // A share of one in size + 1, with much room for chance.
        #expect(moved > 0 && moved < 2 * 2_000 / (size + 1))
    }

    @Test("What waits chooses anew after a resize, in order, and can be removed")
    func waiting() {
        var router = router(1)
        for number in 0..<50 { router.wait(number, UInt64(number)) }
        router.wait(50, nil)
        router.resize(to: 4)
        router.remove { $0 == 7 }
        #expect(router.waitingCount == 50)
        var taken: [Int] = []
        for lane in router.lanes {
            var inLane: [Int] = []
            while let number = router.first(in: lane) {
                inLane.append(number)
                if case .member(let place) = lane { #expect(place == Router.place(of: UInt64(number), among: 4)) }
                router.removeFirst(in: lane)
            }
            #expect(inLane == inLane.sorted())
            taken += inLane
        }
        #expect(taken.sorted() == (0...50).filter { $0 != 7 })
        #expect(router.waitingCount == 0)
    }
}
