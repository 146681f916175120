import Supervision
import Testing

@Suite struct BackoffTests {
    @Test func theSequenceDoublesFromTheSecondRestartUpToTheMaximum() {
        let backoff = Backoff()
        let milliseconds = [0, 100, 200, 400, 800, 1_600, 3_200, 6_400, 12_800, 25_600, 30_000, 30_000]
        for (index, delay) in milliseconds.enumerated() {
            #expect(backoff.delay(attempt: index + 1, random: 0) == .milliseconds(delay))
        }
        #expect(backoff.delay(attempt: 0, random: 0) == .zero)
        #expect(backoff.delay(attempt: .max, random: 0) == .seconds(30))
    }

    @Test func jitterTakesUpToItsShare() {
        let backoff = Backoff()
        #expect(backoff.delay(attempt: 3, random: 0.5) == .milliseconds(150))
        #expect(backoff.delay(attempt: 3, random: 1) == .milliseconds(100))
        #expect(Backoff(jitter: 0).delay(attempt: 3, random: 0.9) == .milliseconds(200))
    }

    @Test func extremeNumbersDoNotOverflow() {
        let longest = Duration.seconds(Int64.max / 2)
        #expect(Backoff(minimum: .seconds(1), maximum: longest, factor: 1e18).delay(attempt: 50, random: 0) == longest)
        #expect(Backoff(factor: 1).delay(attempt: .max, random: 0) == .milliseconds(100))
        #expect(Backoff.none.delay(attempt: 9, random: 0.5) == .zero)
    }

    @Test(arguments: [UInt64(0), 1, 2, 3, 4]) func aCrashLoopIsHeldBackWithinTheJittersBounds(seed: UInt64) {
        var stage = Stage(backoff: Backoff(), seed: seed, running: Child(id: "a"))
        var reason: [Directive] = stage.exit("a")
        var delays: [Duration] = []
        for attempt in 1...14 {
            let full = Backoff().delay(attempt: attempt, random: 0)
            guard case .report("a", _, .restarting(attempt, let at)) = reason[1] else {
                Issue.record("no restart \(attempt) in \(reason)")
                return
            }
            delays.append(at - stage.now)
            #expect(at - stage.now >= full / 2)
            #expect(at - stage.now <= full)
            if attempt > 1 {
                #expect(reason.last == .wake(at: at))
                #expect(stage.pass(at - stage.now - .nanoseconds(1)) == [.wake(at: at)])
                #expect(stage.pass(.nanoseconds(1)) == [.start("a", Incarnation(attempt + 1), attempt: attempt)])
            }
            reason = stage.fail("a")
        }
        #expect(delays[0] == .zero)
        // The longest delays differ by chance alone.
        #expect(Set(delays.suffix(3)).count == 3)
    }

    @Test func theSameSeedGivesTheSameDelaysAndAnotherSeedOthers() {
        func delays(seed: UInt64) -> [Directive] {
            var stage = Stage(backoff: Backoff(), seed: seed, running: Child(id: "a"))
            var all = stage.exit("a")
            for _ in 0..<10 {
                all += stage.fail("a")
                all += stage.pass(.seconds(30))
            }
            return all
        }
        #expect(delays(seed: 1) == delays(seed: 1))
        #expect(delays(seed: 1) != delays(seed: 2))
    }

    @Test func failuresAreForgottenAfterLongEnoughAReadiness() {
        for (ready, attempt) in [(Duration.seconds(30), 1), (.seconds(30) - .nanoseconds(1), 3)] {
            var stage = Stage(backoff: Backoff(jitter: 0), running: Child(id: "a"))
            stage.crash("a")
            _ = stage.exit("a")
            _ = stage.pass(.milliseconds(100))
            _ = stage.ready("a")
            stage.now += ready
            #expect(
                stage.exit("a")[1]
                    == .report("a", 3, .restarting(attempt: attempt, at: stage.now + (attempt == 1 ? .zero : .milliseconds(200))))
            )
        }
    }

    @Test func aLongStartIsNoReadiness() {
        var stage = Stage(backoff: Backoff(jitter: 0), running: Child(id: "a"))
        _ = stage.exit("a")
        stage.now += .seconds(100)
        #expect(stage.fail("a")[1] == .report("a", 2, .restarting(attempt: 2, at: stage.now + .milliseconds(100))))
    }

    @Test func theWakeIsTheSoonestDeadlineAndIsSaidOnce() {
        var stage = Stage(backoff: Backoff(jitter: 0), running: Child(id: "a"), Child(id: "b"), Child(id: "c"))
        for id in ["a", "b", "c"] {
            stage.crash(id)
        }
        let start = stage.now
        #expect(stage.exit("a").last == .wake(at: start + .milliseconds(100)))
        _ = stage.exit("b")
        _ = stage.pass(.milliseconds(100))
        // a fails to start and now waits longer than c, which fails for the second time only.
        #expect(stage.fail("a").last == .wake(at: start + .milliseconds(300)))
        #expect(stage.exit("c").last == .wake(at: start + .milliseconds(200)))
        #expect(stage.ready("b") == [.report("b", 3, .restarted)])
        #expect(stage.pass(.milliseconds(100)) == [.start("c", 3, attempt: 2), .wake(at: start + .milliseconds(300))])
    }

    @Test func aCancelledDeadlineWakesNobodyUp() {
        var stage = Stage(backoff: Backoff(jitter: 0), running: Child(id: "a"))
        _ = stage.exit("a")
        _ = stage.fail("a")
        #expect(stage.send(.stopRequested("a")) == [.report("a", 2, .stopped(.shutdown))])
        #expect(stage.pass(.milliseconds(100)) == [])
        #expect(stage.state("a") == .stopped)
    }

    @Test func manyThatWaitAreStartedInTheOrderOfTheirDeadlines() {
        var stage = Stage(backoff: Backoff(minimum: .seconds(1)))
        var deadlines: [Duration: String] = [:]
        for number in 0..<200 {
            let id = "child-\(number)"
            stage.run(Child(id: id))
            _ = stage.exit(id)
            _ = stage.fail(id)
            if case .waiting(let time, _) = stage.state(id) { deadlines[time] = id }
        }
        #expect(deadlines.count == 200)
        let inOrder = deadlines.sorted { $0.key < $1.key }
        for (index, (time, id)) in inOrder.enumerated() {
            let directives = stage.pass(time - stage.now)
            let next = index + 1 < inOrder.count ? [Directive.wake(at: inOrder[index + 1].key)] : []
            #expect(directives == [.start(id, 3, attempt: 2)] + next)
        }
    }

    /// A child that waits again must not be started by the appointment that it had before.
    @Test func anOldAppointmentDoesNotCutANewOneShort() {
        var stage = Stage(backoff: Backoff(minimum: .seconds(1), jitter: 0), running: Child(id: "a"), Child(id: "b"))
        let start = stage.now
        // b waits until 1 s, so that a's appointment for 1.1 s is not the next one when it is cancelled.
        _ = stage.exit("b")
        _ = stage.fail("b")
        stage.now += .milliseconds(100)
        _ = stage.exit("a")
        #expect(stage.fail("a").last == .report("a", 2, .restarting(attempt: 2, at: start + .milliseconds(1_100))))
        stage.now += .milliseconds(400)
        _ = stage.send(.restartRequested("a"))
        // At once, since the request started the count anew; then it waits until 1.5 s.
        _ = stage.fail("a")
        _ = stage.fail("a")
        #expect(stage.pass(.milliseconds(500)) == [.start("b", 3, attempt: 2), .wake(at: start + .milliseconds(1_500))])
        #expect(stage.pass(.milliseconds(100)) == [.wake(at: start + .milliseconds(1_500))])
        #expect(stage.pass(.milliseconds(400)) == [.start("a", 5, attempt: 2)])
    }
}
