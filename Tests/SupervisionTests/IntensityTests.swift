import Supervision
import Testing

@Suite struct IntensityTests {
    @Test func exactlyTheIntensityIsFineAndOneMoreIsNot() {
        var stage = Stage(intensity: 5, running: Child(id: "a"))
        for attempt in 1...5 {
            #expect(stage.crash("a").last == .start("a", Incarnation(attempt + 1), attempt: attempt))
        }
        let last = stage.exit("a")
        #expect(last.prefix(2) == [.report("a", 6, .crashed(.failed("x"))), .report("a", 6, .gaveUp(.failed("x")))])
        #expect(last.last == .escalate(.escalated("gave up on a, more than 5 restarts in 60.0 seconds: failed: x")))
        #expect(last.count == 3)
    }

    @Test func anIntensityOfZeroAllowsNoRestart() {
        var stage = Stage(intensity: 0, running: Child(id: "a"))
        #expect(stage.exit("a").contains(.report("a", 1, .gaveUp(.failed("x")))))
        #expect(stage.supervisor.isEnding)
    }

    @Test func theWindowSlides() {
        // A restart that is exactly one period old still counts; a nanosecond later it doesn't.
        for (pause, survives) in [(Duration.seconds(60), false), (.seconds(60) + .nanoseconds(1), true)] {
            var stage = Stage(intensity: 2, period: .seconds(60), running: Child(id: "a"))
            stage.crash("a")
            stage.now += .seconds(10)
            stage.crash("a")
            stage.now += pause - .seconds(10)
            stage.crash("a")
            #expect(stage.supervisor.isEnding == !survives)
        }
    }

    @Test func manyRestartsBelowTheIntensityNeverTrip() {
        var stage = Stage(intensity: 5, period: .seconds(60), running: Child(id: "a"), Child(id: "b"))
        for step in 0..<10_000 {
            stage.now += .milliseconds(12_001)
            stage.crash(step.isMultiple(of: 2) ? "a" : "b")
        }
        #expect(!stage.supervisor.isEnding)
    }

    @Test func restartsOfAllChildrenAreCountedTogether() {
        var stage = Stage(intensity: 2, running: Child(id: "a"), Child(id: "b"), Child(id: "c"))
        stage.crash("a")
        stage.crash("b")
        #expect(!stage.supervisor.isEnding)
        stage.crash("c")
        #expect(stage.supervisor.isEnding)
    }

    @Test func failedStartsCount() {
        var stage = Stage(intensity: 3, running: Child(id: "a"))
        _ = stage.exit("a")
        _ = stage.fail("a")
        #expect(stage.fail("a").last == .start("a", 4, attempt: 3))
        #expect(
            stage.fail("a") == [
                .report("a", 4, .startFailed(.startFailed("x"))), .report("a", 4, .gaveUp(.startFailed("x"))),
                .escalate(.escalated("gave up on a, more than 3 restarts in 60.0 seconds: failed to start: x")),
            ]
        )
    }

    @Test func whatIsNoFailureDoesNotCount() {
        var stage = Stage(intensity: 0, running: Child(id: "a"), Child(id: "b", restart: .temporary), Child(id: "c", restart: .transient))
        for _ in 0..<10 {
            _ = stage.send(.restartRequested("a"))
            _ = stage.exit("a", .failed("while stopping"))
            _ = stage.ready("a")
        }
        _ = stage.exit("b", .hung)
        _ = stage.exit("c", .normal)
        #expect(!stage.supervisor.isEnding)
        #expect(stage.state("a")?.kind == .running)
    }

    @Test func givingUpStopsTheOthersInReverseOrderOneByOneAndEscalatesOnce() {
        var stage = Stage(intensity: 0)
        stage.run(Child(id: "a"), Child(id: "b", shutdown: .infinity), Child(id: "c"), Child(id: "d", shutdown: .brutalKill))
        #expect(
            stage.exit("c", .hung) == [.report("c", 1, .crashed(.hung)), .report("c", 1, .gaveUp(.hung)), .stop("d", 1, .brutalKill)]
        )
        #expect(stage.exit("d", .signaled(9)) == [.report("d", 1, .stopped(.signaled(9))), .stop("b", 1, .infinity)])
        #expect(stage.exit("b", .shutdown) == [.report("b", 1, .stopped(.shutdown)), .stop("a", 1, .timeout(.seconds(5)))])
        let last = stage.exit("a", .shutdown)
        #expect(last.count == 2)
        #expect(last.last == .escalate(.escalated("gave up on c, more than 0 restarts in 60.0 seconds: hung")))
        #expect(stage.send(.shutdownRequested(.shutdown)) == [])
        #expect(stage.send(.startRequested(Child(id: "e"))) == [])
        #expect(stage.supervisor.children.map(\.state) == [.stopped, .stopped, .stopped, .stopped])
    }

    @Test func aNewPolicyAppliesToTheNextFailure() {
        var stage = Stage(intensity: 0, running: Child(id: "a"))
        #expect(stage.send(.policyChanged(SupervisionPolicy(intensity: 1))) == [])
        stage.crash("a")
        #expect(stage.state("a")?.kind == .running)
        _ = stage.send(.policyChanged(SupervisionPolicy(intensity: 0)))
        #expect(!stage.supervisor.isEnding)
        stage.crash("a")
        #expect(stage.supervisor.isEnding)
    }
}
