import Supervision
import Testing

/// Limits that a child has for itself, and children that are counted apart from their siblings.
@Suite struct RestartLimitsTests {
    @Test func whereFailuresAreIsolatedNoChildTakesARestartFromAnother() {
        var stage = Stage(intensity: 2, isolatesFailures: true, running: Child(id: "healthy"), Child(id: "looper"))
        for _ in 0..<3 { stage.crash("looper") }
        #expect(stage.state("looper") == .stopped)
        for life in 2...3 {
            stage.crash("healthy")
            #expect(stage.state("healthy") == .running(Incarnation(life), since: stage.now))
        }
        #expect(stage.exit("healthy").contains(.report("healthy", 3, .gaveUp(.failed("x")))))
        #expect(!stage.supervisor.isEnding)
    }

    @Test func elsewhereTheIntensityIsSharedAsInOTP() {
        var stage = Stage(intensity: 2, running: Child(id: "healthy"), Child(id: "looper"))
        for _ in 0..<2 { stage.crash("looper") }
        stage.crash("healthy")
        #expect(stage.supervisor.isEnding)
    }

    @Test func aChildWithAnIntensityOfItsOwnIsCountedByItselfEverywhere() {
        var stage = Stage(intensity: 2, running: Child(id: "a"), Child(id: "b", restartLimits: RestartLimits(intensity: 3)))
        for _ in 0..<3 { stage.crash("b") }
        for _ in 0..<2 { stage.crash("a") }
        #expect(!stage.supervisor.isEnding)
        let last = stage.exit("b")
        #expect(last.contains(.report("b", 4, .gaveUp(.failed("x")))))
        _ = stage.exit("a", .shutdown)
        #expect(stage.supervisor.isEnding)
    }

    @Test func aPeriodOfItsOwnIsItsWindow() {
        let limits = RestartLimits(period: .seconds(1))
        for (pause, survives) in [(Duration.seconds(1), false), (.seconds(1) + .nanoseconds(1), true)] {
            var stage = Stage(intensity: 1, isolatesFailures: true, running: Child(id: "a", restartLimits: limits))
            stage.crash("a")
            stage.now += pause
            stage.crash("a")
            #expect((stage.state("a")?.kind == .running) == survives)
        }
    }

    @Test func anUnlimitedChildIsNeverGivenUpAndWaitsLongerEachTime() {
        let backoff = Backoff(minimum: .seconds(1), maximum: .seconds(4), jitter: 0, resetAfter: .seconds(30))
        var stage = Stage(intensity: 0, running: Child(id: "a", restartLimits: RestartLimits(intensity: .unlimited, backoff: backoff)))
        var waits: [Duration] = []
        for _ in 0..<1_000 {
            _ = stage.exit("a")
            if case .waiting(let time, _) = stage.state("a") {
                waits.append(time - stage.now)
                _ = stage.pass(time - stage.now)
            }
            _ = stage.ready("a")
        }
        #expect(stage.state("a")?.incarnation == 1_001)
        #expect(waits.prefix(4) == [.seconds(1), .seconds(2), .seconds(4), .seconds(4)])
        // A long time of being ready makes its failures its past.
        stage.now += .seconds(30)
        #expect(stage.exit("a").last == .start("a", 1_002, attempt: 1))
        // A permanent failure is one nevertheless.
        _ = stage.ready("a")
        #expect(stage.exit("a", .exited(code: 78)).contains(.report("a", 1_002, .gaveUp(.exited(code: 78)))))
    }

    @Test func aBackoffAloneLeavesTheChildAmongItsSiblings() {
        var stage = Stage(intensity: 2)
        stage.run(Child(id: "a"), Child(id: "b", restartLimits: RestartLimits(backoff: Backoff(minimum: .seconds(9), jitter: 0))))
        stage.crash("a")
        _ = stage.exit("b")
        _ = stage.fail("b")
        #expect(stage.supervisor.isEnding)
    }

    @Test func limitsMayChangeWhileAChildLives() {
        var stage = Stage(intensity: 0, isolatesFailures: true, running: Child(id: "a"))
        #expect(stage.send(.specificationChanged(Child(id: "a", restartLimits: RestartLimits(intensity: 1)))) == [])
        stage.crash("a")
        #expect(stage.state("a")?.kind == .running)
        _ = stage.send(.specificationChanged(Child(id: "a")))
        stage.crash("a")
        #expect(stage.state("a") == .stopped)
    }

    @Test func aForgottenChildsRestartsAreForgotten() {
        var stage = Stage(intensity: 1, isolatesFailures: true)
        for _ in 0..<3 {
            stage.run(Child(id: "a"))
            stage.crash("a")
            #expect(stage.state("a")?.kind == .running)
            _ = stage.send(.removeRequested("a"))
            _ = stage.exit("a", .shutdown)
        }
    }

    @Test(
        arguments: [
            (RestartLimits(intensity: -1), .invalidIntensity), (RestartLimits(period: .zero), .invalidPeriod),
            (RestartLimits(backoff: Backoff(minimum: .seconds(2), maximum: .seconds(1))), .invalidBackoff),
        ] as [(RestartLimits, SupervisionError.Code)]
    )
    func whatMakesNoSenseIsRefused(limits: RestartLimits, code: SupervisionError.Code) {
        var stage = Stage()
        guard case .refused("a", let error)? = stage.send(.startRequested(Child(id: "a", restartLimits: limits))).first else {
            Issue.record("not refused")
            return
        }
        #expect(error.code == code)
        #expect(error.message.hasPrefix("child a: "))
        #expect(stage.supervisor.ids.isEmpty)
    }
}
