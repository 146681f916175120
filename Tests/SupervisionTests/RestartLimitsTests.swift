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

    @Test func isolationCanBeChanged() {
        var stage = Stage(intensity: 1, running: Child(id: "a"), Child(id: "b"))
        stage.supervisor.isolateFailures(true)
        for id in ["a", "b", "b"] { stage.crash(id) }
        #expect(stage.state("b") == .stopped && stage.state("a") == .running(2, since: stage.now))
        stage.supervisor.isolateFailures(false)
        stage.crash("a")
        #expect(!stage.supervisor.isEnding)
        stage.crash("a")
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

    /// The ends of a program's life: how long it was ready, or nil, and its reason.
    private static let ends: [(name: String, life: Duration?, reason: ExitReason)] = [
        ("no start", nil, .exited(code: 1)), ("too soon, normally", .milliseconds(900), .normal),
        ("too soon", .milliseconds(900), .exited(code: 1)), ("later, normally", .seconds(2), .normal),
        ("later", .seconds(2), .exited(code: 1)),
    ]

    @Test("Which ends count and are delayed, by the rule", arguments: RestartLimits.Counted.allCases, [1, 2] as [Int])
    func counted(rule: RestartLimits.Counted, intensity: Int) {
        for (name, life, reason) in Self.ends {
            var limits = RestartLimits(intensity: .restarts(intensity), backoff: Backoff(minimum: .seconds(1), jitter: 0))
            (limits.counts, limits.shortestLife) = (rule, .seconds(1))
            var stage = Stage(isolatesFailures: true)
            _ = stage.send(.startRequested(Child(id: "a", isRetriedAtFirstStart: true, restartLimits: limits)))
            var waits: [Duration] = []
            for _ in 0..<4 where stage.state("a") != .stopped {
                if let life {
                    _ = stage.ready("a")
                    stage.now += life
                    _ = stage.exit("a", reason)
                } else {
                    _ = stage.fail("a", reason)
                }
                switch stage.state("a") {
                case .waiting(let time, _):
                    waits.append(time - stage.now)
                    _ = stage.pass(time - stage.now)
                case .stopped: break
                default: waits.append(.zero)
                }
            }
            let isFailedStart = name.hasPrefix("too soon") || life == nil
            let counts = rule == .everyRestart || isFailedStart || rule == .failures && !reason.isNormal
            #expect(waits.count == (counts ? intensity : 4), "\(rule) \(name): \(waits)")
            let isDelayed = rule == .everyRestart || isFailedStart || !reason.isNormal
            let delays: [Duration] = isDelayed ? [.zero, .seconds(1), .seconds(2), .seconds(4)] : [.zero, .zero, .zero, .zero]
            #expect(waits == Array(delays.prefix(waits.count)), "\(rule) \(name)")
        }
    }

    @Test func aNormalEndEndsTheRowAndTheNextFailureIsTheFirstOfOne() {
        var limits = RestartLimits(intensity: .unlimited, backoff: Backoff(minimum: .seconds(1), jitter: 0))
        limits.counts = .failures
        var stage = Stage(running: Child(id: "a", restartLimits: limits))
        _ = stage.exit("a")
        _ = stage.ready("a")
        _ = stage.exit("a")
        guard case .waiting(_, attempt: 2) = stage.state("a") else {
            Issue.record("no second attempt")
            return
        }
        _ = stage.pass(.seconds(1))
        _ = stage.ready("a")
        #expect(stage.exit("a", .normal).last == .start("a", 4, attempt: 1))
        _ = stage.ready("a")
        #expect(stage.exit("a").last == .start("a", 5, attempt: 1))
        _ = stage.ready("a")
        _ = stage.exit("a")
        guard case .waiting(_, attempt: 2) = stage.state("a") else {
            Issue.record("no second attempt of the next row")
            return
        }
    }

    @Test func firstAndFixedDelays() {
        for (first, fixed, expected) in [(3, nil, [3, 1, 2]), (nil, 5, [5, 5, 5]), (3, 5, [3, 5, 5])] as [(Int?, Int?, [Int])] {
            var limits = RestartLimits(intensity: .unlimited, backoff: Backoff(minimum: .seconds(1), jitter: 0))
            (limits.firstDelay, limits.delay) = (first.map { .seconds($0) }, fixed.map { .seconds($0) })
            var stage = Stage(running: Child(id: "a", restartLimits: limits))
            for seconds in expected {
                _ = stage.exit("a")
                guard case .waiting(let time, _) = stage.state("a") else {
                    Issue.record("doesn't wait")
                    return
                }
                #expect(time - stage.now == .seconds(seconds))
                _ = stage.pass(.seconds(seconds))
                _ = stage.ready("a")
            }
        }
    }

    @Test func whereTheFileHasFinalCodesTheseAreFinalAndNoOthers() {
        for (codes, code, isFinal) in [(nil, 125, true), ([], 125, false), ([3], 3, true), ([3], 78, false)] as [(Set<Int32>?, Int32, Bool)]
        {
            var limits = RestartLimits(intensity: .unlimited)
            limits.finalExitCodes = codes
            var stage = Stage(running: Child(id: "a", restartLimits: limits))
            _ = stage.exit("a", .exited(code: code))
            #expect((stage.state("a") == .stopped) == isFinal, "\(code) of \(String(describing: codes))")
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
