import Supervision
import Testing

/// OTP's significant and nonsignificant cases.
@Suite struct AutoShutdownTests {
    static let asking: [AutoShutdown] = [.anySignificant, .allSignificant]

    private func significant(_ id: String, _ type: RestartType = .transient) -> Child {
        Child(id: id, restart: type, isSignificant: true)
    }

    // MARK: - Which ends count

    @Test(arguments: AutoShutdown.allCases, [RestartType.transient, .temporary])
    func theEndOfANonsignificantChildNeverCounts(autoShutdown: AutoShutdown, type: RestartType) {
        var stage = Stage(autoShutdown: autoShutdown, running: Child(id: "a", restart: type))
        _ = stage.exit("a", .normal)
        #expect(!stage.supervisor.isEnding)
    }

    @Test(arguments: asking, RestartTests.normal + RestartTests.abnormal + RestartTests.permanentFailures)
    func anyEndOfATemporaryChildCounts(autoShutdown: AutoShutdown, reason: ExitReason) {
        var stage = Stage(intensity: 0, autoShutdown: autoShutdown, running: significant("a", .temporary))
        #expect(stage.exit("a", reason).last == .autoShutdown)
    }

    @Test(arguments: asking, RestartTests.normal) func aNormalEndOfATransientChildCounts(autoShutdown: AutoShutdown, reason: ExitReason) {
        var stage = Stage(intensity: 0, autoShutdown: autoShutdown, running: significant("a"))
        #expect(stage.exit("a", reason) == [.report("a", 1, .stopped(reason)), .autoShutdown])
        #expect(stage.send(.startRequested(Child(id: "b"))) == [], "given last of all")
    }

    @Test(arguments: asking, RestartTests.abnormal)
    func anAbnormalEndOfATransientChildIsARestart(autoShutdown: AutoShutdown, reason: ExitReason) {
        var stage = Stage(autoShutdown: autoShutdown, running: significant("a"))
        #expect(stage.exit("a", reason).last == .start("a", 2, attempt: 1))
        #expect(stage.fail("a").last == .start("a", 3, attempt: 2))
        #expect(!stage.supervisor.isEnding)
    }

    /// The child has ended by itself and isn't started again; a group that waits for all would wait for ever.
    @Test(arguments: asking, RestartTests.permanentFailures)
    func aPermanentFailureCounts(autoShutdown: AutoShutdown, reason: ExitReason) {
        var stage = Stage(autoShutdown: autoShutdown, running: significant("a"))
        #expect(stage.exit("a", reason) == [.report("a", 1, .crashed(reason)), .report("a", 1, .gaveUp(reason)), .autoShutdown])
    }

    @Test(arguments: asking, [RestartType.transient, .temporary])
    func whatWasAskedForDoesNotCount(autoShutdown: AutoShutdown, type: RestartType) {
        for request: Event in [.stopRequested("a"), .removeRequested("a")] {
            for reason: ExitReason in [.shutdown, .normal, .failed("x")] {
                var stage = Stage(autoShutdown: autoShutdown, running: significant("a", type))
                _ = stage.send(request)
                _ = stage.exit("a", reason)
                #expect(!stage.supervisor.isEnding)
            }
        }
        var stage = Stage(autoShutdown: autoShutdown, running: significant("a", type))
        _ = stage.send(.restartRequested("a"))
        _ = stage.exit("a", .shutdown)
        _ = stage.ready("a")
        #expect(stage.state("a")?.kind == .running)
        #expect(!stage.supervisor.isEnding)
    }

    @Test(arguments: asking) func aFirstStartThatFailsDoesNotCount(autoShutdown: AutoShutdown) {
        var stage = Stage(autoShutdown: autoShutdown)
        _ = stage.send(.startRequested(significant("a", .temporary)))
        #expect(stage.fail("a").last == .removed("a"))
        #expect(!stage.supervisor.isEnding)
    }

    /// OTP's significant_bystander.
    @Test(arguments: asking, [RestartType.transient, .temporary]) func aBystanderDoesNotCount(
        autoShutdown: AutoShutdown,
        type: RestartType
    ) {
        for strategy in [Strategy.oneForAll, .restForOne] {
            for reason: ExitReason in [.shutdown, .normal, .failed("x")] {
                for isEarly in [false, true] {
                    var stage = Stage(strategy, autoShutdown: autoShutdown)
                    stage.run(Child(id: "p"), significant("a", type), Child(id: "last"))
                    #expect(stage.exit("p").last == .stop("last", 1, .timeout(.seconds(5))))
                    // It ends when it is told to, or just before.
                    if isEarly { _ = stage.exit("a", reason) }
                    _ = stage.exit("last", .shutdown)
                    if !isEarly { _ = stage.exit("a", reason) }
                    #expect(stage.state("p") == .starting(2))
                    #expect(!stage.supervisor.isEnding)
                    _ = stage.ready("p")
                    #expect(stage.state("a") == (type == .temporary ? nil : .starting(2)))
                }
            }
        }
    }

    // MARK: - Any and all

    @Test func theFirstEndIsEnoughForAny() {
        var stage = Stage(autoShutdown: .anySignificant)
        stage.run(Child(id: "a"), significant("b"), significant("c", .temporary), Child(id: "d", shutdown: .brutalKill))
        #expect(stage.exit("b", .normal) == [.report("b", 1, .stopped(.normal)), .stop("d", 1, .brutalKill)])
        #expect(stage.send(.startRequested(Child(id: "e"))) == [])
        #expect(stage.exit("d", .signaled(9)) == [.report("d", 1, .stopped(.signaled(9))), .stop("c", 1, .timeout(.seconds(5)))])
        #expect(
            stage.exit("c", .shutdown) == [.report("c", 1, .stopped(.shutdown)), .removed("c"), .stop("a", 1, .timeout(.seconds(5)))]
        )
        #expect(stage.exit("a", .shutdown) == [.report("a", 1, .stopped(.shutdown)), .autoShutdown])
    }

    @Test func theLastEndIsNeededForAll() {
        var stage = Stage(autoShutdown: .allSignificant)
        stage.run(significant("a"), significant("b", .temporary), significant("c"), Child(id: "d"), Child(id: "e", restart: .transient))
        _ = stage.exit("b", .hung)
        _ = stage.exit("a", .normal)
        _ = stage.exit("e", .normal)
        #expect(!stage.supervisor.isEnding)
        #expect(stage.exit("c", .normal).last == .stop("d", 1, .timeout(.seconds(5))))
        #expect(stage.exit("d", .shutdown).last == .autoShutdown)
    }

    /// OTP counts a child that is being restarted as there, and one that was stopped as not there.
    @Test func allMeansThoseThatLiveOrAreAboutTo() {
        func stage(_ states: (inout Stage) -> Void) -> Stage {
            var stage = Stage(backoff: Backoff(jitter: 0), autoShutdown: .allSignificant, running: significant("a"), significant("b"))
            states(&stage)
            _ = stage.exit("b", .normal)
            return stage
        }
        let starting = stage { _ = $0.exit("a") }
        #expect(starting.state("a")?.kind == .starting && !starting.supervisor.isEnding)
        let waiting = stage {
            _ = $0.exit("a")
            _ = $0.fail("a")
        }
        #expect(waiting.state("a")?.kind == .waiting && !waiting.supervisor.isEnding)
        let restarting = stage { _ = $0.send(.restartRequested("a")) }
        #expect(restarting.state("a")?.kind == .stopping && !restarting.supervisor.isEnding)
        let stopping = stage { _ = $0.send(.stopRequested("a")) }
        #expect(stopping.supervisor.isEnding)
        let stopped = stage {
            _ = $0.send(.stopRequested("a"))
            _ = $0.exit("a", .shutdown)
        }
        #expect(stopped.supervisor.isEnding)
        let removed = stage {
            _ = $0.send(.removeRequested("a"))
            _ = $0.exit("a", .shutdown)
        }
        #expect(removed.supervisor.isEnding)
    }

    @Test func theLastToBeStoppedByRequestDoesNotEndTheGroup() {
        var stage = Stage(autoShutdown: .allSignificant, running: significant("a"), significant("b"))
        _ = stage.exit("a", .normal)
        stage.stop("b")
        #expect(!stage.supervisor.isEnding)
    }

    // MARK: - Finishing

    @Test(arguments: asking, [RestartType.transient, .temporary])
    func aChildThatSaysItHasFinishedCountsWhenItHasEnded(autoShutdown: AutoShutdown, type: RestartType) {
        var stage = Stage(autoShutdown: autoShutdown, running: significant("a", type))
        #expect(stage.send(.finished("a", 7)) == [])
        #expect(stage.send(.finished("a", 1)) == [.stop("a", 1, .timeout(.seconds(5)))])
        #expect(!stage.supervisor.isEnding)
        #expect(stage.exit("a", .shutdown) == [.report("a", 1, .stopped(.shutdown)), .removed("a"), .autoShutdown])
    }

    @Test func afterARequestToStopItIsTooLateToFinish() {
        var stage = Stage(autoShutdown: .anySignificant, running: significant("a"))
        _ = stage.send(.stopRequested("a"))
        #expect(stage.send(.finished("a", 1)) == [])
        #expect(stage.exit("a", .shutdown) == [.report("a", 1, .stopped(.shutdown)), .removed("a")])
    }

    @Test func aChildThatIsWantedAgainWhileItFinishesDoesNotCount() {
        var stage = Stage(autoShutdown: .anySignificant, running: significant("a"))
        _ = stage.send(.finished("a", 1))
        _ = stage.send(.startRequested(significant("a")))
        #expect(stage.exit("a", .shutdown).last == .start("a", 2, attempt: 0))
        _ = stage.ready("a")
        stage.stop("a")
        #expect(!stage.supervisor.isEnding)
    }

    // MARK: - Meeting other ends

    @Test func aShutdownThatIsAskedForMeanwhileIsAnswered() {
        var stage = Stage(autoShutdown: .anySignificant, running: Child(id: "a"), significant("b"))
        _ = stage.exit("b", .normal)
        #expect(stage.send(.shutdownRequested(.normal)) == [])
        #expect(stage.exit("a", .shutdown) == [.report("a", 1, .stopped(.shutdown)), .terminated(.normal)])
    }

    @Test func duringAnEscalationNothingCounts() {
        var stage = Stage(intensity: 0, autoShutdown: .anySignificant, running: significant("a"), Child(id: "b"), Child(id: "c"))
        _ = stage.exit("b")
        _ = stage.exit("a", .normal)
        guard case .escalate = stage.exit("c", .shutdown).last else {
            Issue.record("not escalated")
            return
        }
    }

    @Test func itEndsARestartOfSiblings() {
        var stage = Stage(.restForOne, autoShutdown: .anySignificant, running: significant("a"), Child(id: "b"), Child(id: "c"))
        #expect(stage.exit("b").last == .stop("c", 1, .timeout(.seconds(5))))
        _ = stage.exit("a", .normal)
        #expect(stage.supervisor.isEnding)
        #expect(stage.exit("c", .shutdown) == [.report("c", 1, .stopped(.shutdown)), .autoShutdown])
    }

    /// OTP's significant_escalation: the end of a group is an exit with reason shutdown in the group above.
    @Test(arguments: [true, false]) func theEndOfAGroupCountsAboveIfTheGroupIsSignificant(isSignificant: Bool) {
        var below = Stage(autoShutdown: .anySignificant)
        below.run(significant("worker", .temporary))
        var above = Stage(autoShutdown: .anySignificant)
        above.run(Child(id: "sibling"), Child(id: "group", restart: .transient, shutdown: .infinity, isSignificant: isSignificant))
        #expect(below.exit("worker", .hung).last == .autoShutdown)
        let directives = above.exit("group", .shutdown)
        #expect(directives.first == .report("group", 1, .stopped(.shutdown)))
        #expect(directives.contains(.stop("sibling", 1, .timeout(.seconds(5)))) == isSignificant)
        #expect(above.supervisor.isEnding == isSignificant)
        if isSignificant { #expect(above.exit("sibling", .shutdown).last == .autoShutdown) }
    }

    // MARK: - Refusal

    @Test(arguments: [(AutoShutdown.never, RestartType.transient), (.never, .temporary), (.anySignificant, .permanent)])
    func whatCannotBeSignificantIsRefused(autoShutdown: AutoShutdown, type: RestartType) throws {
        var stage = Stage(autoShutdown: autoShutdown)
        let directives = stage.send(.startRequested(significant("a", type)))
        guard case .refused("a", let error)? = directives.first, directives.count == 1 else {
            Issue.record("not refused: \(directives)")
            return
        }
        #expect(error.code == .invalidSignificance)
        #expect(stage.supervisor.ids == [])
        _ = stage.send(.shutdownRequested(.shutdown))
        #expect(stage.send(.startRequested(significant("a", type))) == [])
    }
}
