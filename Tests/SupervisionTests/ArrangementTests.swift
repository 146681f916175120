import Supervision
import Testing

/// The start order, which its owner may change while children live.
@Suite struct ArrangementTests {
    @Test func childrenEndInTheReverseOfTheNewOrder() {
        var stage = Stage()
        for id in ["a", "b", "c", "d"] { stage.run(Child(id: id)) }
        stage.supervisor.arrange(["d", "a", "unknown", "b"])
        #expect(stage.supervisor.ids == ["c", "d", "a", "b"], "what isn't named comes first")
        _ = stage.send(.shutdownRequested(.shutdown))
        var stopped: [String] = []
        while let id = stage.supervisor.children.last(where: { $0.state.kind == .stopping })?.specification.id {
            stopped.append(id)
            _ = stage.exit(id, .shutdown)
        }
        #expect(stopped == ["b", "a", "d", "c"])
        #expect(stage.supervisor.isEnding)
    }

    @Test func siblingsThatAreRestartedTogetherFollowTheNewOrder() {
        var stage = Stage(.restForOne)
        for id in ["a", "b", "c"] { stage.run(Child(id: id)) }
        stage.supervisor.arrange(["c", "b", "a"])
        _ = stage.exit("c")
        #expect(stage.supervisor.children.filter { $0.state.kind == .stopping }.map(\.specification.id) == ["a"])
        #expect(stage.state("b") == .running(1, since: stage.now))
    }

    @Test func eventsAfterwardsFindTheirChildren() {
        var stage = Stage()
        for number in 0..<100 { stage.run(Child(id: "\(number)")) }
        for number in stride(from: 0, to: 100, by: 2) {
            _ = stage.send(.stopRequested("\(number)")); _ = stage.exit("\(number)", .shutdown)
        }
        for number in stride(from: 0, to: 100, by: 4) { _ = stage.send(.removeRequested("\(number)")) }
        stage.supervisor.arrange((0..<100).reversed().map(String.init))
        #expect(stage.supervisor.ids == (0..<100).reversed().filter { $0 % 4 != 0 }.map(String.init))
        for number in stride(from: 1, to: 100, by: 2) {
            _ = stage.send(.stopRequested("\(number)"))
            _ = stage.exit("\(number)", .shutdown)
            #expect(stage.state("\(number)") == .stopped)
        }
    }
}
