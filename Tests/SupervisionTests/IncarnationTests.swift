import Supervision
import Testing

@Suite struct IncarnationTests {
    @Test func signsOfAnOldLifeAreIgnored() {
        var stage = Stage(running: Child(id: "a"))
        stage.crash("a")
        let state = stage.state("a")
        let old: [Event] = [
            .started("a", 1), .startFailed("a", 1, .hung), .exited("a", 1, .hung), .exited("a", 3, .hung), .exited("a", 0, .hung),
        ]
        for event in old {
            #expect(stage.send(event) == [])
        }
        #expect(stage.state("a") == state)
        #expect(state?.incarnation == 2)
    }

    @Test func aLateExitDoesNotEndTheStopOfItsSuccessor() {
        var stage = Stage(running: Child(id: "a"))
        stage.crash("a")
        _ = stage.send(.stopRequested("a"))
        #expect(stage.send(.exited("a", 1, .shutdown)) == [])
        #expect(stage.state("a") == .stopping(2, then: .stop))
    }

    @Test func numbersAreNotUsedAgainAfterARemoval() {
        var stage = Stage(running: Child(id: "a"))
        stage.crash("a")
        _ = stage.send(.removeRequested("a"))
        #expect(stage.exit("a", .shutdown).last == .removed("a"))
        #expect(stage.send(.startRequested(Child(id: "a"))) == [.start("a", 3, attempt: 0)])
        #expect(stage.send(.startRequested(Child(id: "b"))) == [.start("b", 1, attempt: 0)])
    }

    @Test func numbersAreNotUsedAgainAfterManyRemovals() {
        var stage = Stage()
        var highest: [String: Incarnation] = [:]
        for round in 0..<3 {
            for number in 0..<2_000 {
                let id = "child-\(number)"
                for case .start(_, let incarnation, _) in stage.send(.startRequested(Child(id: id, restart: .temporary))) {
                    #expect(incarnation > highest[id, default: 0], "round \(round)")
                    highest[id] = incarnation
                    _ = stage.send(.exited(id, incarnation, .normal))
                }
            }
        }
        #expect(highest.count == 2_000)
        // Bounded memory must not cost many numbers.
        #expect(highest.values.max() ?? 0 < 20)
    }
}
