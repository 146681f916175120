import Supervision
import Testing

@Suite struct StrategyTests {
    /// Carries out starts and stops until nothing is left to do, and returns what was done.
    private func settle(_ stage: inout Stage, _ directives: [Directive]) -> [String] {
        var queue = directives
        var done: [String] = []
        while !queue.isEmpty {
            switch queue.removeFirst() {
            case .start(let id, let incarnation, _):
                done.append("start \(id)")
                queue += stage.send(.started(id, incarnation))
            case .stop(let id, let incarnation, _):
                done.append("stop \(id)")
                queue += stage.send(.exited(id, incarnation, .shutdown))
            case .removed(let id):
                done.append("removed \(id)")
            case .report, .wake, .escalate, .terminated:
                break
            }
        }
        return done
    }

    @Test func oneForAllRestartsAll() {
        var stage = Stage(.oneForAll, intensity: 1)
        stage.run(Child(id: "a"), Child(id: "b"), Child(id: "c"))
        let directives = stage.exit("b")
        #expect(settle(&stage, directives) == ["stop c", "stop a", "start a", "start b", "start c"])
        #expect(stage.supervisor.children.map(\.state.incarnation) == [2, 2, 2])
        #expect(!stage.supervisor.isEnding, "one restart is counted, not three")
    }

    @Test func restForOneRestartsTheLaterOnes() {
        var stage = Stage(.restForOne)
        stage.run(Child(id: "a"), Child(id: "b"), Child(id: "c"), Child(id: "d"))
        let directives = stage.exit("b")
        #expect(settle(&stage, directives) == ["stop d", "stop c", "start b", "start c", "start d"])
        #expect(stage.supervisor.children.map(\.state.incarnation) == [1, 2, 2, 2])
    }

    @Test func restForOneOfTheLastIsOneForOne() {
        var stage = Stage(.restForOne)
        stage.run(Child(id: "a"), Child(id: "b"))
        let directives = stage.exit("b")
        #expect(settle(&stage, directives) == ["start b"])
    }

    @Test func temporarySiblingsAreStoppedAndForgotten() {
        var stage = Stage(.oneForAll)
        stage.run(Child(id: "a"), Child(id: "b", restart: .temporary), Child(id: "c"))
        let directives = stage.exit("c")
        #expect(settle(&stage, directives) == ["stop b", "removed b", "stop a", "start a", "start c"])
    }

    @Test func stoppedSiblingsStayStopped() {
        var stage = Stage(.oneForAll)
        stage.run(Child(id: "a"), Child(id: "b"), Child(id: "c"))
        let stops = stage.send(.stopRequested("a"))
        _ = settle(&stage, stops)
        let directives = stage.exit("c")
        #expect(settle(&stage, directives) == ["stop b", "start b", "start c"])
        #expect(stage.state("a") == .stopped)
    }

    /// OTP's one_for_all_other_child_fails_restart.
    @Test func whenASiblingFailsToStartTheOthersAreStoppedAgainBeforeTheNextAttempt() {
        var stage = Stage(.oneForAll)
        stage.run(Child(id: "a"), Child(id: "b"))
        _ = stage.exit("a")
        _ = stage.exit("b", .shutdown)
        _ = stage.ready("a")
        let directives = stage.fail("b")
        #expect(directives.last == .stop("a", 2, .timeout(.seconds(5))))
        #expect(settle(&stage, directives) == ["stop a", "start a", "start b"])
    }

    /// OTP's rest_for_one_other_child_fails_restart: those before the one that failed stay.
    @Test func restForOneRetriesFromTheOneThatFailed() {
        var stage = Stage(.restForOne)
        stage.run(Child(id: "a"), Child(id: "b"), Child(id: "c"))
        _ = stage.exit("a")
        _ = stage.exit("c", .shutdown)
        _ = stage.exit("b", .shutdown)
        _ = stage.ready("a")
        let directives = stage.fail("b")
        #expect(settle(&stage, directives) == ["start b", "start c"])
        #expect(stage.supervisor.children.map(\.state.incarnation) == [2, 3, 2])
    }

    @Test func siblingsWaitForTheBackoffAndAreStoppedAtOnce() {
        var stage = Stage(.oneForAll, backoff: Backoff(jitter: 0))
        stage.run(Child(id: "a"), Child(id: "b"))
        let first = stage.exit("a")
        _ = settle(&stage, first)
        let second = stage.exit("a")
        #expect(settle(&stage, second) == ["stop b"])
        #expect(stage.state("b") == .waiting(nextAttempt: stage.now + .milliseconds(100), attempt: 0))
        #expect(stage.pass(.milliseconds(99)) == [.wake(at: stage.now + .milliseconds(1))])
        let due = stage.pass(.milliseconds(1))
        #expect(settle(&stage, due) == ["start a", "start b"])
    }

    @Test func aStopWinsWhileSiblingsAreRestarted() {
        var stage = Stage(.oneForAll)
        stage.run(Child(id: "a"), Child(id: "b"), Child(id: "c"))
        let directives = stage.exit("a")
        #expect(directives.last == .stop("c", 1, .timeout(.seconds(5))))
        #expect(stage.send(.stopRequested("a")) == [.report("a", 1, .stopped(.shutdown))])
        #expect(stage.send(.stopRequested("c")) == [])
        #expect(settle(&stage, directives) == ["stop c", "stop b", "start b"])
        #expect(stage.supervisor.children.map(\.state.kind) == [.stopped, .running, .stopped])
    }

    @Test func aShutdownWinsWhileSiblingsAreRestarted() {
        var stage = Stage(.oneForAll)
        stage.run(Child(id: "a"), Child(id: "b"), Child(id: "c"))
        let directives = stage.exit("a")
        _ = stage.send(.shutdownRequested(.shutdown))
        #expect(settle(&stage, directives) == ["stop c", "stop b"])
        #expect(stage.send(.timePassed) == [])
        #expect(stage.supervisor.isEnding)
    }

    @Test func asiblingThatCrashesBeforeItsTurnCountsNothing() {
        var stage = Stage(.oneForAll, intensity: 1)
        stage.run(Child(id: "a"), Child(id: "b"), Child(id: "c"))
        let directives = stage.exit("a")
        #expect(stage.exit("b") == [.report("b", 1, .crashed(.failed("x")))])
        #expect(settle(&stage, directives) == ["stop c", "start a", "start b", "start c"])
    }

    @Test func escalationStopsTheSiblings() {
        var stage = Stage(.oneForAll, intensity: 0)
        stage.run(Child(id: "a"), Child(id: "b"))
        let directives = stage.exit("a")
        #expect(settle(&stage, directives) == ["stop b"])
        #expect(stage.supervisor.isEnding)
    }
}
