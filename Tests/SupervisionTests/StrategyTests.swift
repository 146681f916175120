import Supervision
import SupervisionSimulation
import Testing

@Suite struct StrategyTests {
    /// Carries out starts and stops until nothing is left to do, and returns what was done.
    private func settle(_ directives: [Directive], in stage: inout Stage) -> [String] {
        stage.settle(directives).compactMap { directive in
            switch directive {
            case .start(let id, _, _): "start \(id)"
            case .stop(let id, _, _): "stop \(id)"
            case .removed(let id): "removed \(id)"
            case .report, .wake, .escalate, .terminated, .autoShutdown, .refused: nil
            }
        }
    }

    @Test func oneForAllRestartsAll() {
        var stage = Stage(.oneForAll, intensity: 1, running: Child(id: "a"), Child(id: "b"), Child(id: "c"))
        #expect(settle(stage.exit("b"), in: &stage) == ["stop c", "stop a", "start a", "start b", "start c"])
        #expect(stage.supervisor.children.map(\.state.incarnation) == [2, 2, 2])
        #expect(!stage.supervisor.isEnding, "one restart is counted, not three")
    }

    @Test func restForOneRestartsTheLaterOnes() {
        var stage = Stage(.restForOne, running: Child(id: "a"), Child(id: "b"), Child(id: "c"), Child(id: "d"))
        #expect(settle(stage.exit("b"), in: &stage) == ["stop d", "stop c", "start b", "start c", "start d"])
        #expect(stage.supervisor.children.map(\.state.incarnation) == [1, 2, 2, 2])
    }

    @Test func restForOneOfTheLastIsOneForOne() {
        var stage = Stage(.restForOne, running: Child(id: "a"), Child(id: "b"))
        #expect(settle(stage.exit("b"), in: &stage) == ["start b"])
    }

    @Test func temporarySiblingsAreStoppedAndForgotten() {
        var stage = Stage(.oneForAll, running: Child(id: "a"), Child(id: "b", restart: .temporary), Child(id: "c"))
        #expect(settle(stage.exit("c"), in: &stage) == ["stop b", "removed b", "stop a", "start a", "start c"])
    }

    /// OTP's tree: a child that was terminated is there again after a restart of all.
    @Test func stoppedSiblingsAreBroughtBack() {
        var stage = Stage(.oneForAll, running: Child(id: "a"), Child(id: "b", restart: .transient), Child(id: "c"))
        _ = settle(stage.send(.stopRequested("a")), in: &stage)
        _ = stage.exit("b", .normal)
        #expect(settle(stage.exit("c"), in: &stage) == ["start a", "start b", "start c"])
    }

    @Test func restForOneBringsBackOnlyTheLaterOnes() {
        var stage = Stage(.restForOne, running: Child(id: "a"), Child(id: "b"), Child(id: "c"))
        for id in ["a", "c"] {
            _ = settle(stage.send(.stopRequested(id)), in: &stage)
        }
        #expect(settle(stage.exit("b"), in: &stage) == ["start b", "start c"])
        #expect(stage.state("a") == .stopped)
    }

    @Test func aSiblingWhoseStopIsUnderWayIsBroughtBackAndAnotherStopWins() {
        for isStoppedAgain in [false, true] {
            var stage = Stage(.oneForAll, running: Child(id: "a"), Child(id: "b"))
            _ = stage.send(.stopRequested("b"))
            _ = stage.exit("a")
            if isStoppedAgain { _ = stage.send(.stopRequested("b")) }
            #expect(settle(stage.exit("b", .shutdown), in: &stage) == ["start a"] + (isStoppedAgain ? [] : ["start b"]))
        }
    }

    /// A restart that takes in an earlier one brings back only those that it concerns itself.
    @Test func aStopDuringARestartWinsOverTheRestartThatTakesItIn() {
        var stage = Stage(.restForOne, running: Child(id: "a"), Child(id: "b"))
        let directives = stage.exit("a")
        _ = stage.send(.stopRequested("a"))
        stage.run(Child(id: "new"))
        _ = stage.exit("new")
        #expect(settle(directives, in: &stage) == ["stop b", "start b", "start new"])
        #expect(stage.state("a") == .stopped)
    }

    /// A child that was forgotten and has come again is another one: the restart doesn't concern it.
    @Test func aNewChildOfAnOldIdHasNoPartInARestart() {
        var stage = Stage(.oneForAll, running: Child(id: "a"), Child(id: "b", restart: .transient), Child(id: "c"))
        let directives = stage.exit("a")
        _ = stage.send(.removeRequested("b"))
        _ = stage.exit("b", .shutdown)
        stage.run(Child(id: "b", restart: .transient))
        #expect(stage.exit("b", .normal) == [.report("b", 2, .stopped(.normal))])
        #expect(settle(directives, in: &stage) == ["stop c", "start a", "start c"])
        #expect(stage.state("b") == .stopped)
    }

    @Test func aChildThatIsForgottenAsARestartBeginsHasNoPartInIt() {
        let backoff = Backoff(minimum: .seconds(10), maximum: .seconds(10), jitter: 0)
        var stage = Stage(.oneForAll, backoff: backoff, running: Child(id: "a"), Child(id: "b"), Child(id: "c"))
        _ = stage.exit("a")
        _ = stage.exit("c", .shutdown)
        // Made temporary while it stops for the others, it's to be started with them.
        #expect(stage.send(.startRequested(Child(id: "b", restart: .temporary))).isEmpty)
        _ = stage.exit("b", .shutdown)
        _ = stage.send(.restartRequested("c"))
        _ = stage.ready("c")
        // The next restart forgets it, and it comes again before its turn would have come.
        #expect(stage.fail("a").contains(.removed("b")))
        #expect(stage.send(.startRequested(Child(id: "b"))) == [.start("b", 2, attempt: 0)])
        _ = stage.ready("b")
        _ = stage.exit("c", .shutdown)
        #expect(stage.state("b")?.kind == .running)
        #expect(stage.pass(.seconds(10)) == [.start("a", 3, attempt: 2)])
    }

    @Test func aStopBetweenTwoAttemptsWinsOverTheNext() {
        var stage = Stage(.restForOne, running: Child(id: "a"), Child(id: "b"), Child(id: "c"), Child(id: "d"))
        _ = stage.exit("a")
        _ = stage.send(.stopRequested("a"))
        _ = stage.exit("d", .shutdown)
        _ = stage.send(.stopRequested("d"))
        _ = stage.exit("c", .shutdown)
        #expect(stage.exit("b", .shutdown).last == .start("b", 2, attempt: 0))
        #expect(settle(stage.fail("b"), in: &stage) == ["start b", "start c", "start d"])
        #expect(stage.state("a") == .stopped)
    }

    @Test func aSiblingThatFailedForGoodIsNotBroughtBack() {
        var stage = Stage(.oneForAll, running: Child(id: "a"), Child(id: "b"))
        _ = stage.exit("a", .exited(code: 78))
        #expect(settle(stage.exit("b"), in: &stage) == ["start b"])
        #expect(stage.state("a") == .stopped)
        // A request is a new beginning.
        stage.run(Child(id: "a"))
        _ = settle(stage.send(.stopRequested("a")), in: &stage)
        #expect(settle(stage.exit("b"), in: &stage) == ["start a", "start b"])
    }

    /// OTP's terminate_children: a child that ended before its turn to be stopped is started with the others, whatever its reason.
    @Test func aSiblingThatEndsNormallyBeforeItsTurnIsStartedWithTheOthers() {
        var stage = Stage(.oneForAll, running: Child(id: "a", restart: .transient), Child(id: "b"), Child(id: "c"))
        let directives = stage.exit("b")
        #expect(stage.exit("a", .normal) == [.report("a", 1, .stopped(.normal))])
        #expect(settle(directives, in: &stage) == ["stop c", "start a", "start b", "start c"])
    }

    /// OTP's temporary_bystander.
    @Test(arguments: [Strategy.oneForAll, .restForOne]) func aTemporaryBystanderIsNotStartedAgain(strategy: Strategy) {
        for isFirst in [true, false] {
            var stage = Stage(strategy)
            let temporary = Child(id: "t", restart: .temporary)
            let permanent = Child(id: "p")
            if isFirst { stage.run(temporary, permanent) } else { stage.run(permanent, temporary) }
            let directives = stage.exit("p")
            let isAffected = strategy == .oneForAll || !isFirst
            #expect(settle(directives, in: &stage) == (isAffected ? ["stop t", "removed t", "start p"] : ["start p"]))
            #expect(stage.state("t")?.kind == (isAffected ? nil : .running))
        }
    }

    /// OTP's one_for_all_escalation and rest_for_one_escalation: the one whose starts fail takes the others with it.
    @Test(arguments: [Strategy.oneForAll, .restForOne]) func aSiblingThatCannotBeStartedEscalates(strategy: Strategy) {
        var stage = Stage(strategy, intensity: 4, running: Child(id: "a"), Child(id: "b"))
        let directives = stage.settle(stage.exit("a")) { directive in
            guard case .start("b", let life, _) = directive else { return directive.usualAnswer }
            return .startFailed("b", life, .startFailed("x"))
        }
        let reason = "gave up on b, more than 4 restarts in 60.0 seconds: failed to start: x"
        #expect(directives.last == .escalate(.escalated(reason)))
        #expect(stage.supervisor.isEnding)
        #expect(stage.supervisor.children.allSatisfy { $0.state == .stopped })
    }

    /// OTP's one_for_all_other_child_fails_restart.
    @Test func whenASiblingFailsToStartTheOthersAreStoppedAgainBeforeTheNextAttempt() {
        var stage = Stage(.oneForAll, running: Child(id: "a"), Child(id: "b"))
        _ = stage.exit("a")
        _ = stage.exit("b", .shutdown)
        _ = stage.ready("a")
        let directives = stage.fail("b")
        #expect(directives.last == .stop("a", 2, .timeout(.seconds(5))))
        #expect(settle(directives, in: &stage) == ["stop a", "start a", "start b"])
    }

    /// OTP's rest_for_one_other_child_fails_restart: those before the one that failed stay.
    @Test func restForOneRetriesFromTheOneThatFailed() {
        var stage = Stage(.restForOne, running: Child(id: "a"), Child(id: "b"), Child(id: "c"))
        _ = stage.exit("a")
        _ = stage.exit("c", .shutdown)
        _ = stage.exit("b", .shutdown)
        _ = stage.ready("a")
        #expect(settle(stage.fail("b"), in: &stage) == ["start b", "start c"])
        #expect(stage.supervisor.children.map(\.state.incarnation) == [2, 3, 2])
    }

    @Test func siblingsWaitForTheBackoffAndAreStoppedAtOnce() {
        var stage = Stage(.oneForAll, backoff: Backoff(jitter: 0), running: Child(id: "a"), Child(id: "b"))
        _ = settle(stage.exit("a"), in: &stage)
        #expect(settle(stage.exit("a"), in: &stage) == ["stop b"])
        #expect(stage.state("b") == .waiting(nextAttempt: stage.now + .milliseconds(100), attempt: 0))
        #expect(stage.pass(.milliseconds(99)) == [.wake(at: stage.now + .milliseconds(1))])
        #expect(settle(stage.pass(.milliseconds(1)), in: &stage) == ["start a", "start b"])
    }

    /// The row of failures ends with a life of that length, whatever ends the life.
    @Test(arguments: [Duration.seconds(29), .seconds(30)]) func aLongLifeThatASiblingEndsIsTheEndOfTheRow(life: Duration) {
        var stage = Stage(.oneForAll, running: Child(id: "a"), Child(id: "b"))
        for _ in 0..<3 { _ = settle(stage.exit("a"), in: &stage) }
        _ = stage.pass(life)
        let starts = stage.settle(stage.exit("b")).filter { if case .start = $0 { true } else { false } }
        // B has lived as long, and fails for the first time.
        #expect(starts == [.start("a", 5, attempt: life < .seconds(30) ? 3 : 0), .start("b", 5, attempt: 1)])
        #expect(stage.exit("a").contains(.report("a", 5, .restarting(attempt: life < .seconds(30) ? 4 : 1, at: stage.now))))
    }

    @Test func aStopWinsWhileSiblingsAreRestarted() {
        var stage = Stage(.oneForAll, running: Child(id: "a"), Child(id: "b"), Child(id: "c"))
        let directives = stage.exit("a")
        #expect(directives.last == .stop("c", 1, .timeout(.seconds(5))))
        #expect(stage.send(.stopRequested("a")) == [.report("a", 1, .stopped(.shutdown))])
        #expect(stage.send(.stopRequested("c")) == [])
        #expect(settle(directives, in: &stage) == ["stop c", "stop b", "start b"])
        #expect(stage.supervisor.children.map(\.state.kind) == [.stopped, .running, .stopped])
    }

    @Test func aShutdownWinsWhileSiblingsAreRestarted() {
        var stage = Stage(.oneForAll, running: Child(id: "a"), Child(id: "b"), Child(id: "c"))
        let directives = stage.exit("a")
        _ = stage.send(.shutdownRequested(.shutdown))
        #expect(settle(directives, in: &stage) == ["stop c", "stop b"])
        #expect(stage.send(.timePassed) == [])
        #expect(stage.supervisor.isEnding)
    }

    @Test func asiblingThatCrashesBeforeItsTurnCountsNothing() {
        var stage = Stage(.oneForAll, intensity: 1, running: Child(id: "a"), Child(id: "b"), Child(id: "c"))
        let directives = stage.exit("a")
        #expect(stage.exit("b") == [.report("b", 1, .crashed(.failed("x")))])
        #expect(settle(directives, in: &stage) == ["stop c", "start a", "start b", "start c"])
    }

    @Test func escalationStopsTheSiblings() {
        var stage = Stage(.oneForAll, intensity: 0, running: Child(id: "a"), Child(id: "b"))
        #expect(settle(stage.exit("a"), in: &stage) == ["stop b"])
        #expect(stage.supervisor.isEnding)
    }
}
