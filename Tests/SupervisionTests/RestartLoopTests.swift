import Supervision
import Testing

/// OTP's hanging_restart_loop cases: a request is handled between any two attempts.
@Suite struct RestartLoopTests {
    /// The second of three children has crashed, and its starts have failed a hundred times.
    private func stage(_ strategy: Strategy, _ backoff: Backoff) -> Stage {
        var stage = Stage(strategy, backoff: backoff, running: Child(id: "a"), Child(id: "b"), Child(id: "c"))
        var queue = stage.exit("b")
        var failures = 0
        while !queue.isEmpty {
            switch queue.removeFirst() {
            case .start("b", _, _):
                failures += 1
                if failures > 100 { return stage }
                queue += stage.fail("b")
            case .start(let id, let incarnation, _): queue += stage.send(.started(id, incarnation))
            case .stop(let id, let incarnation, _): queue += stage.send(.exited(id, incarnation, .shutdown))
            case .wake(let time):
                if failures == 100 { return stage }
                stage.now = time
                queue += stage.send(.timePassed)
            case .report, .removed, .escalate, .terminated, .autoShutdown, .refused: break
            }
        }
        Issue.record("the loop has ended")
        return stage
    }

    static let backoffs = [Backoff.none, Backoff(jitter: 0)]

    private func endStop(_ stage: inout Stage, _ id: String) {
        if case .stopping = stage.state(id) { _ = stage.exit(id, .shutdown) }
    }

    @Test(arguments: Strategy.allCases, backoffs) func aStopEndsTheLoop(strategy: Strategy, backoff: Backoff) {
        var stage = stage(strategy, backoff)
        _ = stage.send(.stopRequested("b"))
        endStop(&stage, "b")
        #expect(stage.state("b") == .stopped)
        for case .start(let id, _, _) in stage.pass(.seconds(3_600)) { #expect(id != "b") }
        #expect(stage.state("b") == .stopped)
        guard case .start("b", _, attempt: 0)? = stage.send(.startRequested(Child(id: "b"))).first else {
            Issue.record("not started")
            return
        }
    }

    @Test(arguments: Strategy.allCases, backoffs) func aRemovalEndsTheLoop(strategy: Strategy, backoff: Backoff) {
        var stage = stage(strategy, backoff)
        _ = stage.send(.removeRequested("b"))
        endStop(&stage, "b")
        #expect(stage.supervisor.ids == ["a", "c"])
    }

    @Test(arguments: Strategy.allCases, backoffs) func aStartIsNoSecondOne(strategy: Strategy, backoff: Backoff) {
        var stage = stage(strategy, backoff)
        let before = stage.state("b")
        #expect(stage.send(.startRequested(Child(id: "b"))) == [])
        #expect(stage.state("b") == before)
    }

    @Test(arguments: Strategy.allCases, backoffs) func aShutdownEndsTheLoop(strategy: Strategy, backoff: Backoff) {
        var stage = stage(strategy, backoff)
        #expect(stage.settle(stage.send(.shutdownRequested(.shutdown))).last == .terminated(.shutdown))
        #expect(stage.pass(.seconds(3_600)) == [])
    }

    /// Stopped siblings that wait for the one in the loop are as free to go.
    @Test(arguments: backoffs) func aSiblingThatWaitsIsStoppedAndRemoved(backoff: Backoff) {
        for request: Event in [.stopRequested("c"), .removeRequested("c")] {
            var stage = stage(.restForOne, backoff)
            #expect(stage.state("c")?.kind == .waiting)
            #expect(stage.send(request).first == .report("c", 1, .stopped(.shutdown)))
            #expect(stage.state("c") == (request == .stopRequested("c") ? .stopped : nil))
        }
    }
}
