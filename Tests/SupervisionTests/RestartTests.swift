import Supervision
import Testing

@Suite struct RestartTests {
    static let abnormal: [ExitReason] = [
        .failed("x"), .exited(code: 1), .exited(code: 75), .signaled(9), .hung, .startFailed("x"), .startTimedOut, .stopTimedOut,
        .escalated("x"), .unknown,
    ]
    static let normal: [ExitReason] = [.normal, .shutdown, .exited(code: 0)]
    static let permanentFailures: [ExitReason] = [.exited(code: 78), .exited(code: 125)]

    @Test(arguments: normal) func aPermanentChildIsRestartedAfterANormalExit(reason: ExitReason) {
        var stage = Stage()
        stage.run(Child(id: "a"))
        #expect(
            stage.exit("a", reason) == [
                .report("a", 1, .stopped(reason)), .report("a", 1, .restarting(attempt: 1, at: stage.now)), .start("a", 2, attempt: 1),
            ]
        )
        #expect(stage.ready("a") == [.report("a", 2, .restarted)])
    }

    @Test(arguments: abnormal, [RestartType.permanent, .transient])
    func anAbnormalExitIsFollowedByARestart(reason: ExitReason, type: RestartType) {
        var stage = Stage()
        stage.run(Child(id: "a", restart: type))
        #expect(
            stage.exit("a", reason) == [
                .report("a", 1, .crashed(reason)), .report("a", 1, .restarting(attempt: 1, at: stage.now)), .start("a", 2, attempt: 1),
            ]
        )
    }

    @Test(arguments: normal) func aTransientChildIsKeptAsStoppedAfterANormalExit(reason: ExitReason) {
        var stage = Stage()
        stage.run(Child(id: "a", restart: .transient))
        #expect(stage.exit("a", reason) == [.report("a", 1, .stopped(reason))])
        #expect(stage.state("a") == .stopped)
    }

    @Test(arguments: normal) func aTemporaryChildIsForgottenAfterANormalExit(reason: ExitReason) {
        var stage = Stage()
        stage.run(Child(id: "a", restart: .temporary))
        #expect(stage.exit("a", reason) == [.report("a", 1, .stopped(reason)), .removed("a")])
        #expect(stage.state("a") == nil)
    }

    @Test(arguments: abnormal) func aTemporaryChildIsForgottenAfterAnAbnormalExit(reason: ExitReason) {
        var stage = Stage(intensity: 0)
        stage.run(Child(id: "a", restart: .temporary))
        #expect(stage.exit("a", reason) == [.report("a", 1, .crashed(reason)), .removed("a")])
    }

    @Test(arguments: permanentFailures, [RestartType.permanent, .transient])
    func aPermanentFailureIsNotRestarted(reason: ExitReason, type: RestartType) {
        var stage = Stage(intensity: 0)
        stage.run(Child(id: "a", restart: type), Child(id: "b"))
        #expect(stage.exit("a", reason) == [.report("a", 1, .crashed(reason)), .report("a", 1, .gaveUp(reason))])
        #expect(stage.state("a") == .stopped)
        #expect(stage.state("b")?.kind == .running)
        #expect(stage.send(.startRequested(Child(id: "a"))) == [.start("a", 2, attempt: 0)])
    }

    @Test(arguments: permanentFailures) func aTemporaryChildIsForgottenAfterAPermanentFailure(reason: ExitReason) {
        var stage = Stage()
        stage.run(Child(id: "a", restart: .temporary))
        #expect(stage.exit("a", reason) == [.report("a", 1, .crashed(reason)), .report("a", 1, .gaveUp(reason)), .removed("a")])
    }

    @Test func aPermanentFailureOfARestartIsNotRetried() {
        var stage = Stage()
        stage.run(Child(id: "a"))
        _ = stage.exit("a")
        #expect(
            stage.fail("a", .exited(code: 78)) == [
                .report("a", 2, .startFailed(.exited(code: 78))), .report("a", 2, .gaveUp(.exited(code: 78))),
            ]
        )
        #expect(stage.state("a") == .stopped)
    }

    @Test(arguments: [RestartType.permanent, .transient], [ExitReason.startTimedOut, .exited(code: 0)])
    func aRestartThatFailsIsRetried(type: RestartType, reason: ExitReason) {
        var stage = Stage()
        stage.run(Child(id: "a", restart: type))
        _ = stage.exit("a")
        for attempt in 2...10 {
            let life = Incarnation(attempt)
            #expect(
                stage.exit("a", reason) == [
                    .report("a", life, .startFailed(reason)), .report("a", life, .restarting(attempt: attempt, at: stage.now)),
                    .start("a", life + 1, attempt: attempt),
                ]
            )
        }
        #expect(stage.ready("a") == [.report("a", 11, .restarted)])
    }

    @Test func oneForOneLeavesSiblingsAlone() {
        var stage = Stage()
        stage.run(Child(id: "a"), Child(id: "b"), Child(id: "c"))
        let before = [stage.state("a"), stage.state("c")]
        _ = stage.exit("b")
        _ = stage.ready("b")
        #expect([stage.state("a"), stage.state("c")] == before)
        #expect(stage.supervisor.ids == ["a", "b", "c"])
    }

    @Test func aRequestedRestartIsAStopAndANewLife() {
        var stage = Stage(intensity: 0)
        stage.run(Child(id: "a", shutdown: .infinity))
        #expect(stage.send(.restartRequested("a")) == [.stop("a", 1, .infinity)])
        #expect(stage.send(.restartRequested("a")) == [])
        #expect(stage.exit("a", .shutdown) == [.report("a", 1, .stopped(.shutdown)), .start("a", 2, attempt: 0)])
        #expect(stage.ready("a") == [.report("a", 2, .restarted)])
    }

    @Test func aRequestedRestartAppliesToAStartToo() {
        var stage = Stage()
        _ = stage.send(.startRequested(Child(id: "a")))
        #expect(stage.send(.restartRequested("a")) == [.stop("a", 1, .timeout(.seconds(5)))])
        #expect(stage.exit("a", .shutdown) == [.report("a", 1, .stopped(.shutdown)), .start("a", 2, attempt: 0)])
    }

    @Test func aRequestedRestartStartsAStoppedChildAtOnce() {
        var stage = Stage()
        stage.run(Child(id: "a"))
        _ = stage.send(.stopRequested("a"))
        _ = stage.exit("a", .shutdown)
        #expect(stage.send(.restartRequested("a")) == [.start("a", 2, attempt: 0)])
    }

    @Test func aRequestedRestartCutsTheBackoffShort() {
        var stage = Stage(backoff: Backoff(jitter: 0))
        stage.run(Child(id: "a"))
        _ = stage.exit("a")
        _ = stage.fail("a")
        #expect(stage.state("a") == .waiting(nextAttempt: stage.now + .milliseconds(100), attempt: 2))
        #expect(stage.send(.restartRequested("a")) == [.start("a", 3, attempt: 0)])
        #expect(stage.pass(.seconds(1)) == [])
        // It starts the count anew: the next failure is met at once.
        #expect(stage.fail("a").last == .start("a", 4, attempt: 1))
    }

    @Test func aRequestedRestartOfATemporaryChildThatFailsForgetsIt() {
        var stage = Stage()
        stage.run(Child(id: "a", restart: .temporary))
        _ = stage.send(.restartRequested("a"))
        _ = stage.exit("a", .shutdown)
        #expect(stage.fail("a") == [.report("a", 2, .startFailed(.startFailed("x"))), .removed("a")])
    }

    @Test func aRequestedRestartAfterAStopRequestWinsAsTheLaterWish() {
        var stage = Stage()
        stage.run(Child(id: "a"))
        _ = stage.send(.stopRequested("a"))
        #expect(stage.send(.restartRequested("a")) == [])
        #expect(stage.exit("a", .shutdown).last == .start("a", 2, attempt: 0))
    }
}
