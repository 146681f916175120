import Supervision
import Testing

@Suite struct RestartTests {
    static let abnormal: [ExitReason] = [
        .failed("x"), .exited(code: 1), .exited(code: 75), .signaled(9), .hung, .startFailed("x"), .startTimedOut, .stopTimedOut,
        .memoryExceeded(bytes: 2, limit: 1), .killed(after: .seconds(1)), .outOfMemory, .escalated("x"), .unknown,
    ]
    static let normal: [ExitReason] = [.normal, .shutdown, .exited(code: 0)]
    static let permanentFailures: [ExitReason] = [.exited(code: 78), .exited(code: 125)]

    enum Sequel { case restarted, stopped, forgotten }

    typealias Row = (type: RestartType, reasons: [ExitReason], sequel: Sequel)

    /// What becomes of a child that has ended by itself.
    static let sequels: [Row] = [
        (.permanent, normal + abnormal, .restarted), (.permanent, permanentFailures, .stopped),
        (.transient, abnormal, .restarted), (.transient, normal + permanentFailures, .stopped),
        (.temporary, normal + abnormal + permanentFailures, .forgotten),
    ]

    @Test(arguments: sequels) func aChildThatEndsIsRestartedOrKeptOrForgotten(row: Row) {
        for reason in row.reasons {
            // Only a restart counts.
            var stage = Stage(intensity: row.sequel == .restarted ? 1 : 0, running: Child(id: "a", restart: row.type), Child(id: "b"))
            var expected: [Directive] = [.report("a", 1, reason.isNormal ? .stopped(reason) : .crashed(reason))]
            if reason.isPermanentFailure { expected.append(.report("a", 1, .gaveUp(reason))) }
            switch row.sequel {
            case .restarted: expected += [.report("a", 1, .restarting(attempt: 1, at: stage.now)), .start("a", 2, attempt: 1)]
            case .stopped: break
            case .forgotten: expected.append(.removed("a"))
            }
            #expect(stage.exit("a", reason) == expected)
            switch row.sequel {
            case .restarted: #expect(stage.ready("a") == [.report("a", 2, .restarted)])
            case .stopped:
                #expect(stage.state("a") == .stopped)
                #expect(stage.send(.startRequested(Child(id: "a"))) == [.start("a", 2, attempt: 0)])
            case .forgotten: #expect(stage.state("a") == nil)
            }
            #expect(stage.state("b")?.kind == .running)
        }
    }

    @Test func aPermanentFailureOfARestartIsNotRetried() {
        var stage = Stage(running: Child(id: "a"))
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
        var stage = Stage(running: Child(id: "a", restart: type))
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
        var stage = Stage(running: Child(id: "a"), Child(id: "b"), Child(id: "c"))
        let before = [stage.state("a"), stage.state("c")]
        stage.crash("b")
        #expect([stage.state("a"), stage.state("c")] == before)
        #expect(stage.supervisor.ids == ["a", "b", "c"])
    }

    @Test func aRequestedRestartIsAStopAndANewLife() {
        var stage = Stage(intensity: 0, running: Child(id: "a", shutdown: .infinity))
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
        var stage = Stage(running: Child(id: "a"))
        stage.stop("a")
        #expect(stage.send(.restartRequested("a")) == [.start("a", 2, attempt: 0)])
    }

    @Test func aRequestedRestartCutsTheBackoffShort() {
        var stage = Stage(backoff: Backoff(jitter: 0), running: Child(id: "a"))
        _ = stage.exit("a")
        _ = stage.fail("a")
        #expect(stage.state("a") == .waiting(nextAttempt: stage.now + .milliseconds(100), attempt: 2))
        #expect(stage.send(.restartRequested("a")) == [.start("a", 3, attempt: 0)])
        #expect(stage.pass(.seconds(1)) == [])
        // It starts the count anew: the next failure is met at once.
        #expect(stage.fail("a").last == .start("a", 4, attempt: 1))
    }

    @Test func aRequestedRestartOfATemporaryChildThatFailsForgetsIt() {
        var stage = Stage(running: Child(id: "a", restart: .temporary))
        _ = stage.send(.restartRequested("a"))
        _ = stage.exit("a", .shutdown)
        #expect(stage.fail("a") == [.report("a", 2, .startFailed(.startFailed("x"))), .removed("a")])
    }

    @Test func aRequestedRestartAfterAStopRequestWinsAsTheLaterWish() {
        var stage = Stage(running: Child(id: "a"))
        _ = stage.send(.stopRequested("a"))
        #expect(stage.send(.restartRequested("a")) == [])
        #expect(stage.exit("a", .shutdown).last == .start("a", 2, attempt: 0))
    }
}
