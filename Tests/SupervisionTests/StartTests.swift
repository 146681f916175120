import Supervision
import Testing

@Suite struct StartTests {
    @Test func aStartIsOrderedAndReported() {
        var stage = Stage()
        #expect(stage.send(.startRequested(Child(id: "a"))) == [.start("a", 1, attempt: 0)])
        #expect(stage.state("a") == .starting(1))
        #expect(stage.send(.started("a", 1)) == [.report("a", 1, .started)])
        #expect(stage.state("a") == .running(1, since: stage.now))
        #expect(stage.send(.started("a", 1)) == [])
    }

    @Test func aLivingChildIsNotStartedAgain() {
        var stage = Stage(backoff: Backoff())
        _ = stage.send(.startRequested(Child(id: "a")))
        #expect(stage.send(.startRequested(Child(id: "a", restart: .temporary))) == [])
        _ = stage.ready("a")
        #expect(stage.send(.startRequested(Child(id: "a", restart: .temporary))) == [])
        _ = stage.exit("a")
        _ = stage.exit("a")
        #expect(stage.state("a")?.kind == .waiting)
        #expect(stage.send(.startRequested(Child(id: "a", restart: .temporary))) == [])
        #expect(stage.supervisor.specification(of: "a")?.restart == .permanent)
    }

    @Test(arguments: RestartType.allCases) func aFirstStartThatFailsLeavesNothing(type: RestartType) {
        var stage = Stage()
        _ = stage.send(.startRequested(Child(id: "a", restart: type)))
        #expect(stage.fail("a", .startTimedOut) == [.report("a", 1, .startFailed(.startTimedOut)), .removed("a")])
        #expect(stage.state("a") == nil)
        #expect(stage.supervisor.ids == [])
    }

    @Test func aFirstStartThatIsRetriedIsAFailureLikeAnyOther() {
        var stage = Stage(intensity: 1)
        _ = stage.send(.startRequested(Child(id: "a", isRetriedAtFirstStart: true)))
        #expect(
            stage.fail("a", .startTimedOut) == [
                .report("a", 1, .startFailed(.startTimedOut)), .report("a", 1, .restarting(attempt: 1, at: stage.now)),
                .start("a", 2, attempt: 1),
            ]
        )
        #expect(stage.fail("a").contains(.report("a", 2, .gaveUp(.startFailed("x")))), "it counts")
    }

    @Test func aFirstStartThatIsRetriedFollowsItsRestartType() {
        var stage = Stage()
        _ = stage.send(.startRequested(Child(id: "a", restart: .temporary, isRetriedAtFirstStart: true)))
        #expect(stage.fail("a") == [.report("a", 1, .startFailed(.startFailed("x"))), .removed("a")])
        _ = stage.send(.startRequested(Child(id: "b", isRetriedAtFirstStart: true)))
        let hopeless = ExitReason.exited(code: 78)
        #expect(stage.fail("b", hopeless) == [.report("b", 1, .startFailed(hopeless)), .report("b", 1, .gaveUp(hopeless))])
        #expect(stage.state("b") == .stopped)
    }

    @Test func anExitBeforeReadyIsAFailedStart() {
        var stage = Stage()
        _ = stage.send(.startRequested(Child(id: "a")))
        #expect(stage.exit("a", .exited(code: 0)) == [.report("a", 1, .startFailed(.exited(code: 0))), .removed("a")])
    }

    @Test func aStoppedChildIsStartedWithItsNewSpecification() {
        var stage = Stage(running: Child(id: "a"))
        stage.stop("a")
        #expect(stage.send(.startRequested(Child(id: "a", shutdown: .brutalKill))) == [.start("a", 2, attempt: 0)])
        #expect(stage.ready("a") == [.report("a", 2, .started)])
        #expect(stage.send(.stopRequested("a")) == [.stop("a", 2, .brutalKill)])
    }

    /// OTP's restart_child: the error is returned, the specification stays.
    @Test func aStoppedChildThatFailsToStartStaysStopped() {
        var stage = Stage(running: Child(id: "a"))
        stage.stop("a")
        _ = stage.send(.startRequested(Child(id: "a")))
        #expect(stage.fail("a") == [.report("a", 2, .startFailed(.startFailed("x")))])
        #expect(stage.state("a") == .stopped)
    }

    @Test func aChildThatIsStoppingIsStartedAfterItsEnd() {
        var stage = Stage(running: Child(id: "a"))
        _ = stage.send(.stopRequested("a"))
        #expect(stage.send(.startRequested(Child(id: "a", restart: .transient))) == [])
        #expect(stage.state("a") == .stopping(1, then: .start))
        #expect(stage.exit("a", .shutdown) == [.report("a", 1, .stopped(.shutdown)), .start("a", 2, attempt: 0)])
        #expect(stage.ready("a") == [.report("a", 2, .started)])
        #expect(stage.supervisor.specification(of: "a")?.restart == .transient)
    }

    @Test func aChildThatIsWantedAgainDuringItsRemovalComesLast() {
        var stage = Stage(running: Child(id: "a"), Child(id: "b"))
        _ = stage.send(.removeRequested("a"))
        #expect(stage.send(.startRequested(Child(id: "a"))) == [])
        #expect(stage.exit("a", .shutdown) == [.report("a", 1, .stopped(.shutdown)), .start("a", 2, attempt: 0)])
        #expect(stage.supervisor.ids == ["b", "a"])
        #expect(stage.fail("a") == [.report("a", 2, .startFailed(.startFailed("x"))), .removed("a")])
    }

    @Test func requestsAboutUnknownChildrenMeanNothing() {
        var stage = Stage()
        for event: Event in [
            .stopRequested("a"), .removeRequested("a"), .restartRequested("a"), .started("a", 1), .exited("a", 1, .normal),
        ] {
            #expect(stage.send(event) == [])
        }
    }

    @Test func childrenAreCountedByState() {
        var stage = Stage(running: Child(id: "a"), Child(id: "b"), Child(id: "c"))
        _ = stage.send(.startRequested(Child(id: "d")))
        stage.stop("a")
        _ = stage.send(.stopRequested("b"))
        let counts = ChildState.Kind.allCases.map { stage.supervisor.count(in: $0) }
        #expect(counts == [1, 1, 1, 0, 1])
        #expect(stage.supervisor.children.map(\.specification.id) == ["a", "b", "c", "d"])
        #expect(stage.supervisor.children.map(\.state.kind) == [.stopped, .stopping, .running, .starting])
    }
}
