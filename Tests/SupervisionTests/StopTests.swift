import Supervision
import Testing

@Suite struct StopTests {
    /// One child in each state in which something is still to come.
    enum Scene: CaseIterable {
        case starting, restarting, running, waiting, stoppingToStart

        func stage(_ type: RestartType = .permanent) -> Stage {
            var stage = Stage(backoff: Backoff(jitter: 0))
            if self == .starting {
                _ = stage.send(.startRequested(Child(id: "a", restart: type)))
                return stage
            }
            stage.run(Child(id: "a", restart: type))
            switch self {
            case .starting, .running:
                break
            case .restarting:
                _ = stage.exit("a")
            case .waiting:
                _ = stage.exit("a")
                _ = stage.fail("a")
            case .stoppingToStart:
                _ = stage.send(.restartRequested("a"))
            }
            return stage
        }
    }

    /// Whatever was about to happen: after the stop's end nothing does.
    private func expectQuiet(_ stage: inout Stage) {
        #expect(stage.pass(.seconds(3_600)) == [])
        for life in Incarnation(0)...4 {
            #expect(stage.send(.started("a", life)) == [])
            #expect(stage.send(.exited("a", life, .hung)) == [])
        }
    }

    @Test(arguments: Scene.allCases) func aStopWinsInEveryState(scene: Scene) {
        var stage = scene.stage()
        let life = stage.incarnation("a")
        let directives = stage.send(.stopRequested("a"))
        switch scene {
        case .starting, .restarting, .running:
            #expect(directives == [.stop("a", life, .timeout(.seconds(5)))])
            #expect(stage.send(.started("a", life)) == [], "ready too late")
            #expect(stage.exit("a", .shutdown) == [.report("a", life, .stopped(.shutdown))])
        case .waiting:
            #expect(directives == [.report("a", 2, .stopped(.shutdown))])
        case .stoppingToStart:
            #expect(directives == [])
            #expect(stage.exit("a", .shutdown) == [.report("a", life, .stopped(.shutdown))])
        }
        #expect(stage.state("a") == .stopped)
        expectQuiet(&stage)
    }

    @Test(arguments: Scene.allCases) func aRemovalWinsInEveryState(scene: Scene) {
        var stage = scene.stage()
        var directives = stage.send(.removeRequested("a"))
        if stage.state("a") != nil { directives = stage.exit("a", .shutdown) }
        #expect(directives.last == .removed("a"))
        #expect(stage.state("a") == nil)
        expectQuiet(&stage)
    }

    @Test(arguments: Scene.allCases) func aShutdownWinsInEveryState(scene: Scene) {
        var stage = scene.stage()
        var directives = stage.send(.shutdownRequested(.shutdown))
        if !directives.contains(.terminated(.shutdown)) {
            #expect(stage.state("a") == .stopping(stage.incarnation("a"), then: .stop))
            directives = stage.exit("a", .shutdown)
        }
        #expect(directives.last == .terminated(.shutdown))
        expectQuiet(&stage)
    }

    @Test func atTheEndAllThatAreOnlyStartingAreStoppedAtOnceAndTheOthersInReverseOrder() {
        var stage = Stage(running: Child(id: "a"))
        _ = stage.send(.startRequested(Child(id: "b")))
        stage.run(Child(id: "c"))
        _ = stage.send(.startRequested(Child(id: "d")))
        let patience = Shutdown.timeout(.seconds(5))
        #expect(stage.send(.shutdownRequested(.shutdown)) == [.stop("d", 1, patience), .stop("b", 1, patience)])
        #expect(stage.send(.started("b", 1)) == [], "ready too late")
        #expect(stage.exit("b", .shutdown) == [.report("b", 1, .stopped(.shutdown))])
        #expect(stage.fail("d", .shutdown) == [.report("d", 1, .stopped(.shutdown)), .stop("c", 1, patience)])
        #expect(stage.exit("c", .shutdown) == [.report("c", 1, .stopped(.shutdown)), .stop("a", 1, patience)])
        #expect(stage.exit("a", .shutdown).last == .terminated(.shutdown))
    }

    @Test func aStoppedTemporaryChildIsForgotten() {
        var stage = Stage(running: Child(id: "a", restart: .temporary))
        _ = stage.send(.stopRequested("a"))
        #expect(stage.exit("a", .shutdown) == [.report("a", 1, .stopped(.shutdown)), .removed("a")])
    }

    @Test func anExitWhileStoppingIsTheStopsEndWhateverItsReason() {
        for reason in RestartTests.abnormal + RestartTests.normal + RestartTests.permanentFailures {
            for type in [RestartType.permanent, .transient] {
                var stage = Stage(intensity: 0, running: Child(id: "a", restart: type))
                _ = stage.send(.stopRequested("a"))
                #expect(stage.exit("a", reason) == [.report("a", 1, .stopped(reason))])
                #expect(stage.state("a") == .stopped)
            }
        }
    }

    @Test func stopsAreIdempotent() {
        var stage = Stage(running: Child(id: "a"))
        #expect(stage.send(.stopRequested("a")) == [.stop("a", 1, .timeout(.seconds(5)))])
        #expect(stage.send(.stopRequested("a")) == [])
        _ = stage.exit("a", .shutdown)
        #expect(stage.send(.stopRequested("a")) == [])
        #expect(stage.send(.removeRequested("a")) == [.removed("a")])
        #expect(stage.send(.removeRequested("a")) == [])
    }

    @Test func aRemovalIsNotTakenBackByAStopOrARestart() {
        var stage = Stage(running: Child(id: "a"))
        _ = stage.send(.removeRequested("a"))
        #expect(stage.send(.stopRequested("a")) == [])
        #expect(stage.send(.restartRequested("a")) == [])
        #expect(stage.exit("a", .shutdown) == [.report("a", 1, .stopped(.shutdown)), .removed("a")])
    }

    @Test func aShutdownStopsInReverseStartOrderOneAtATime() {
        var stage = Stage(running: Child(id: "a"), Child(id: "b"), Child(id: "c"), Child(id: "d"))
        // A restart doesn't change the order.
        stage.crash("a")
        stage.stop("c")
        #expect(stage.send(.shutdownRequested(.normal)) == [.stop("d", 1, .timeout(.seconds(5)))])
        #expect(stage.send(.shutdownRequested(.hung)) == [])
        #expect(stage.send(.stopRequested("a")) == [])
        #expect(stage.send(.timePassed) == [])
        #expect(stage.exit("d", .shutdown) == [.report("d", 1, .stopped(.shutdown)), .stop("b", 1, .timeout(.seconds(5)))])
        #expect(stage.exit("b", .shutdown) == [.report("b", 1, .stopped(.shutdown)), .stop("a", 2, .timeout(.seconds(5)))])
        #expect(stage.exit("a", .shutdown) == [.report("a", 2, .stopped(.shutdown)), .terminated(.normal)])
    }

    @Test func aShutdownWithoutChildrenEndsAtOnce() {
        var stage = Stage()
        #expect(stage.send(.shutdownRequested(.normal)) == [.terminated(.normal)])
        #expect(stage.send(.shutdownRequested(.normal)) == [])
    }

    /// OTP's sup_stop_race: children end for all kinds of reasons while their turn has not come.
    @Test func childrenThatEndBeforeTheirTurnAreNotRestarted() {
        let reasons = RestartTests.abnormal + RestartTests.normal + RestartTests.permanentFailures
        for type in RestartType.allCases {
            var stage = Stage(intensity: 0)
            for index in reasons.indices {
                stage.run(Child(id: "\(index)", restart: type))
            }
            stage.run(Child(id: "last"))
            _ = stage.send(.shutdownRequested(.shutdown))
            for (index, reason) in reasons.enumerated() {
                let change: Change = reason.isNormal ? .stopped(reason) : .crashed(reason)
                let expected: [Directive] = [.report("\(index)", 1, change)] + (type == .temporary ? [.removed("\(index)")] : [])
                #expect(stage.exit("\(index)", reason) == expected)
            }
            #expect(stage.exit("last", .shutdown) == [.report("last", 1, .stopped(.shutdown)), .terminated(.shutdown)])
        }
    }

    @Test func aShutdownDuringAnEscalationIsAnswered() {
        var stage = Stage(intensity: 0, running: Child(id: "a"), Child(id: "b"))
        _ = stage.exit("b")
        #expect(stage.send(.shutdownRequested(.shutdown)) == [])
        #expect(stage.exit("a", .shutdown) == [.report("a", 1, .stopped(.shutdown)), .terminated(.shutdown)])
    }

    @Test func aChildThatWasStoppingAlreadyIsWaitedForInItsTurn() {
        var stage = Stage(running: Child(id: "a"), Child(id: "b"))
        _ = stage.send(.restartRequested("b"))
        #expect(stage.send(.shutdownRequested(.shutdown)) == [])
        #expect(stage.exit("b", .shutdown) == [.report("b", 1, .stopped(.shutdown)), .stop("a", 1, .timeout(.seconds(5)))])
    }
}
