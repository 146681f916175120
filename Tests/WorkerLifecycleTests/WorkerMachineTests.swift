import Supervision
import Testing
import WorkerLifecycle

@Suite struct WorkerMachineTests {
    // MARK: Starts

    @Test func aLifeIsSpawnedAnnouncedWelcomedAndTold() {
        var story = Story()
        #expect(story.tell(.startRequested(isRestart: false, timeout: .seconds(30))) == ["spawn"])
        #expect(story.tell(.spawned) == ["announce"])
        #expect(story.tell(.announced) == [])
        #expect(story.tell(.linkAttached(1, refusal: nil)) == ["welcome(1)", "introduce(1)", "tellStart(1)"])
        #expect(story.tell(.ready) == ["startSucceeded"])
        #expect(story.tell(.ready) == [])
        #expect(story.machine.link == 1)
    }

    @Test func aLinkThatComesBeforeTheProcessIsKnownAboveHasToWait() {
        var story = Story()
        story.tell(.startRequested(isRestart: false, timeout: .seconds(30)))
        story.tell(.spawned)
        #expect(story.tell(.linkAttached(1, refusal: nil)) == [])
        #expect(story.machine.link == nil)
        #expect(story.tell(.announced) == ["welcome(1)", "introduce(1)", "tellStart(1)"])
    }

    @Test func aRestartWaitsForItsTurnAndItsTimeBeginsThen() {
        var story = Story()
        #expect(story.tell(.startRequested(isRestart: true, timeout: .seconds(5))) == ["takeTurn"])
        #expect(story.wait(.seconds(60)) == [])
        #expect(story.tell(.turnCame) == ["spawn"])
        story.tell(.spawned)
        story.tell(.announced)
        #expect(story.wait(.seconds(4)) == [])
        #expect(story.wait(.seconds(1)) == ["expectNoLink", "kill"])
    }

    // MARK: Adoption

    @Test func aProcessThatLivesAlreadyIsAwaitedAndToldLikeANewOne() {
        var story = Story()
        story.tell(.startRequested(isRestart: false, timeout: .seconds(30)))
        #expect(story.tell(.adopted) == [])
        #expect(story.tell(.linkAttached(1, refusal: nil)) == ["welcome(1)", "introduce(1)", "tellStart(1)"])
        #expect(story.tell(.ready) == ["startSucceeded"])
        // The kernel tells no status: the worker's own report is the reason, if there is one.
        story.tell(.exitAnnounced(.normal, 1))
        story.tell(.exited(.unknown))
        #expect(story.tell(.cleanedUp) == ["lifeEnded(\(ExitReason.normal))", "gone"])
    }

    @Test func anAdoptedProcessThatDoesntDialIsKilled() {
        var story = Story { $0.link = .seconds(4) }
        story.tell(.startRequested(isRestart: false, timeout: .seconds(30)))
        story.tell(.adopted)
        #expect(story.wait(.seconds(4)) == ["expectNoLink", "kill"])
    }

    @Test func anAdoptedProcessIsToldToStopOnItsFirstLink() {
        var story = Story()
        story.tell(.startRequested(isRestart: false, timeout: .seconds(30)))
        story.tell(.adopted)
        #expect(story.tell(.stopRequested(.timeout(.seconds(5)))) == [])
        let said = story.tell(.linkAttached(1, refusal: nil))
        #expect(said.starts(with: ["welcome(1)", "introduce(1)"]) && said.count == 3)
    }

    @Test func aStopBeforeTheAdoptionKillsTheProcessAtOnce() {
        var story = Story()
        story.tell(.startRequested(isRestart: false, timeout: .seconds(30)))
        story.tell(.stopRequested(.timeout(.seconds(5))))
        #expect(story.tell(.adopted) == ["expectNoLink", "kill"])
        story.tell(.exited(.unknown))
        #expect(story.tell(.cleanedUp) == ["startFailed(Failure.stopped)", "gone"])
    }

    @Test func aStartThatCannotBeSpawnedFailsAtOnce() {
        var story = Story()
        story.tell(.startRequested(isRestart: false, timeout: .seconds(30)))
        #expect(story.tell(.spawnFailed(StoryError())) == ["startFailed(Failure.thrown(an error))", "gone"])
    }

    @Test func aFailedStartIsToldWhenNothingIsLeftOfTheProcess() {
        var story = Story()
        story.spawn()
        story.tell(.linkAttached(1, refusal: nil))
        #expect(story.tell(.startRefused(StoryError())) == ["expectNoLink"])
        #expect(story.tell(.exitAnnounced(.startFailed("x"), 1)) == ["bidFarewell(1, failed to start: x)"])
        #expect(story.tell(.exited(.exited(code: 70))) == ["expectNoLink", "cleanUp(Optional(1))"])
        #expect(story.tell(.cleanedUp) == ["startFailed(Failure.thrown(an error))", "gone"])
    }

    @Test func aWorkerWhoseStartHasFailedHasASecondToEndEvenIfItAnnouncesItsEnd() {
        var story = Story()
        story.spawn()
        story.tell(.linkAttached(1, refusal: nil))
        story.tell(.startRefused(StoryError()))
        story.tell(.exitAnnounced(.startFailed("x"), 1))
        #expect(story.wait(.milliseconds(999)) == [])
        #expect(story.wait(.milliseconds(1)) == ["kill"])
    }

    // MARK: Tickets

    @Test func theExitCodeOfAProcessThatCouldNotTakeItsTicketIsTheReason() {
        var story = Story()
        story.spawn()
        #expect(story.tell(.ticketRefused("closed")) == [])
        story.tell(.exited(.exited(code: 78)))
        #expect(story.tell(.cleanedUp) == ["startFailed(Failure.exited(exited with code 78))", "gone"])
    }

    @Test func aProcessThatHasClosedTheDescriptorOfItsTicketIsKilled() {
        var story = Story()
        story.spawn()
        story.tell(.ticketRefused("closed"))
        #expect(story.wait(.seconds(5)) == ["expectNoLink", "kill"])
        story.tell(.exited(.signaled(9)))
        #expect(story.tell(.cleanedUp).first?.hasPrefix("startFailed(Failure.condemned(failed to start: closed") == true)
    }

    // MARK: Stops

    @Test func aStopDuringAStartIsGivenItsGrace() {
        var story = Story()
        story.spawn()
        story.tell(.linkAttached(1, refusal: nil))
        #expect(story.tell(.stopRequested(.timeout(.seconds(10)))) == ["tellStop(1, Stop(grace: Optional(10.0 seconds), drains: false))"])
        #expect(story.tell(.startRefused(StoryError())) == [])
        #expect(story.wait(.milliseconds(9_999)) == [])
        #expect(story.wait(.milliseconds(1)) == ["terminate(grace: 2.0 seconds)"])
        story.tell(.exited(.signaled(15)))
        #expect(story.tell(.cleanedUp) == ["startFailed(Failure.stopped)", "gone"])
    }

    @Test func aStopIsToldOnTheNextLinkToAWorkerThatHasLostItsLinkDuringItsStart() {
        var story = Story()
        story.spawn()
        story.tell(.linkAttached(1, refusal: nil))
        story.tell(.linkLost(1))
        #expect(story.tell(.stopRequested(.timeout(.seconds(10)))) == [])
        #expect(story.tell(.linkAttached(2, refusal: nil)).last == "tellStop(2, Stop(grace: Optional(10.0 seconds), drains: false))")
    }

    @Test func aWorkerThatNeverHadALinkIsStoppedBySignals() {
        var story = Story()
        story.spawn()
        #expect(story.tell(.stopRequested(.timeout(.seconds(10)))) == ["terminate(grace: 2.0 seconds)"])
    }

    @Test func aProcessThatIsStoppedBeforeItIsKnownAboveIsKilledThenOrASecondLater() {
        var story = Story()
        story.tell(.startRequested(isRestart: false, timeout: .seconds(30)))
        story.tell(.spawned)
        #expect(story.tell(.stopRequested(.infinity)) == [])
        var other = story
        #expect(story.tell(.announced) == ["kill"])
        #expect(other.wait(.seconds(1)) == ["kill"])
    }

    @Test func aProcessThatIsStoppedWhileItIsSpawnedIsKilledWhenItIsKnownAboveOrASecondLater() {
        var story = Story()
        story.tell(.startRequested(isRestart: false, timeout: .seconds(30)))
        story.tell(.stopRequested(.infinity))
        #expect(story.tell(.spawned) == ["announce"])
        var other = story
        #expect(story.tell(.announced) == ["kill"])
        #expect(other.wait(.seconds(1)) == ["kill"])
    }

    @Test func aSecondStopCanOnlyShortenWhatIsLeft() {
        var story = Story()
        story.makeReady()
        story.tell(.stopRequested(.timeout(.seconds(5))))
        #expect(story.tell(.stopRequested(.infinity)) == [])
        #expect(story.tell(.stopRequested(.timeout(.seconds(6)))) == [])
        #expect(story.tell(.stopRequested(.timeout(.seconds(1)))) == ["tellStop(1, Stop(grace: Optional(1.0 seconds), drains: false))"])
        #expect(story.wait(.seconds(1)).contains("terminate(grace: 1.0 seconds)"))
        #expect(story.tell(.stopRequested(.timeout(.seconds(5)))) == [])
        #expect(story.tell(.stopRequested(.brutalKill)) == ["kill"])
    }

    @Test func aStartThatHangsEndsByItsOwnTimeoutWhenItIsStoppedWithoutAGrace() {
        var story = Story()
        story.spawn(timeout: .seconds(8))
        story.tell(.linkAttached(1, refusal: nil))
        story.tell(.stopRequested(.infinity))
        #expect(story.wait(.milliseconds(7_999)) == [])
        #expect(story.wait(.milliseconds(1)) == ["expectNoLink", "kill"])
    }

    // MARK: Links

    @Test func aLostLinkMakesTheCoordinatorUnreachableUntilTheNext() {
        var story = Story()
        story.makeReady()
        #expect(story.tell(.linkLost(1)) == ["becameUnreachable"])
        #expect(story.tell(.linkAttached(2, refusal: nil)) == ["welcome(2)", "introduce(2)", "becameReachable"])
        #expect(story.tell(.linkLost(1)) == [])
    }

    @Test func aLinkThatReplacesAnotherBeforeItsLossIsKnownClosesIt() {
        var story = Story()
        story.makeReady()
        #expect(story.tell(.linkAttached(2, refusal: nil)) == ["close(1)", "welcome(2)", "introduce(2)", "becameReachable"])
        #expect(story.tell(.linkLost(1)) == [])
        #expect(story.machine.link == 2)
    }

    @Test func aWorkerThatHasBeenWithoutALinkForTooLongIsKilledAsHung() {
        var story = Story { $0.link = .seconds(3) }
        story.makeReady()
        story.tell(.linkLost(1))
        #expect(story.wait(.milliseconds(2_999)) == [])
        #expect(story.wait(.milliseconds(1)) == ["expectNoLink", "kill"])
        story.tell(.exited(.signaled(9)))
        #expect(story.tell(.cleanedUp) == ["lifeEnded(hung)", "gone"])
    }

    @Test func aWorkerThatSpeaksAnotherProtocolIsRefusedAndKilled() {
        var story = Story()
        story.spawn()
        #expect(story.tell(.linkAttached(1, refusal: "x")) == ["refuse(1, \"x\")", "expectNoLink", "kill"])
    }

    // MARK: Signs of life

    @Test func aWorkerThatGivesNoSignIsKilledAsHung() {
        var story = Story()
        story.makeReady()
        #expect(story.wait(.seconds(9)) == ["ping(1)", "probeExecutor(1)"] + Array(repeating: "ping(1)", count: 8))
        #expect(story.wait(.seconds(1)) == ["expectNoLink", "kill"])
    }

    @Test func aParentThatWasLateItselfBlamesNoWorker() {
        var story = Story()
        story.makeReady()
        story.oversleep(.seconds(60))
        #expect(story.tell(.timePassed) == ["ping(1)", "probeExecutor(1)"])
        #expect(story.wait(.seconds(9)) == Array(repeating: "ping(1)", count: 9))
        #expect(story.wait(.seconds(1)) == ["expectNoLink", "kill"])
    }

    @Test func aParentThatWasLateItselfLeavesAStartAndALinkMoreTime() {
        var story = Story()
        story.spawn(timeout: .seconds(5))
        story.oversleep(.seconds(60))
        #expect(story.tell(.timePassed).isEmpty)
        // What had come in time is heard now.
        story.tell(.linkAttached(1, refusal: nil))
        #expect(story.tell(.ready) == ["startSucceeded"])
        story.tell(.linkLost(1))
        story.oversleep(.seconds(60))
        #expect(!story.tell(.timePassed).contains("kill"))
        #expect(!story.wait(.seconds(8)).contains("kill"))
        #expect(story.wait(.seconds(2)).contains("kill"))
    }

    @Test func aStartThatIsStillNotReadyAfterItsParentsDelayHasTimedOut() {
        var story = Story()
        story.spawn(timeout: .seconds(5))
        story.oversleep(.seconds(60))
        #expect(story.tell(.timePassed).isEmpty)
        #expect(story.wait(.seconds(3)).isEmpty)
        #expect(story.wait(.seconds(2)) == ["expectNoLink", "kill"])
    }

    @Test func aWorkerThatTheKernelHasKilledForWantOfMemoryIsSaidToBe() {
        var story = Story()
        story.makeReady()
        #expect(story.tell(.exited(.outOfMemory)).contains("cleanUp(Optional(1))"))
        #expect(story.tell(.cleanedUp).contains("lifeEnded(\(ExitReason.outOfMemory))"))
    }

    // MARK: The executor

    @Test func aSilentExecutorIsReportedOnceAndTheWorkerLivesOn() {
        var story = Story()
        story.makeReady()
        #expect(story.beat(10) == ["ping(1)", "probeExecutor(1)"] + Array(repeating: "ping(1)", count: 9))
        #expect(story.machine.executorSilence(now: story.now) == .seconds(9))
        #expect(story.beat(1) == ["noteExecutor(isSilent: true)", "ping(1)"])
        #expect(story.beat(50) == Array(repeating: "ping(1)", count: 50))
        #expect(story.tell(.executorAnswered) == ["noteExecutor(isSilent: false)"])
        #expect(story.machine.executorSilence(now: story.now) == nil)
        #expect(story.beat(1) == ["ping(1)", "probeExecutor(1)"])
        #expect(story.tell(.executorAnswered).isEmpty)
    }

    @Test func aSilentExecutorIsAFaultWhereThatIsWanted() {
        var story = Story { $0.restartsSilentExecutor = true }
        story.makeReady()
        story.beat(10)
        #expect(story.beat(1) == ["expectNoLink", "kill"])
        #expect(story.tell(.exited(.signaled(9))).last == "cleanUp(Optional(1))")
        #expect(story.tell(.cleanedUp) == ["lifeEnded(hung)", "gone"])
    }

    @Test func anExecutorThatAnswersLateIsNeverAFault() {
        var story = Story { $0.restartsSilentExecutor = true }
        story.makeReady()
        for _ in 0..<20 {
            #expect(!story.beat(10).contains("kill"))
            story.tell(.executorAnswered)
        }
    }

    @Test func theProbeIsSentAgainOnTheNextLinkAndTheTimeBeginsAnew() {
        var story = Story { $0.restartsSilentExecutor = true }
        story.makeReady()
        story.beat(9)
        story.tell(.linkLost(1))
        #expect(story.beat(5).isEmpty)
        story.tell(.linkAttached(2, refusal: nil))
        #expect(story.machine.executorSilence(now: story.now) == nil)
        #expect(story.beat(1) == ["ping(2)", "probeExecutor(2)"])
        #expect(!story.beat(9).contains("kill"))
        #expect(story.beat(1).contains("kill"))
    }

    @Test func aParentThatWasLateItselfBlamesNoExecutor() {
        var story = Story { $0.restartsSilentExecutor = true }
        story.makeReady()
        story.beat(9)
        story.oversleep(.seconds(60))
        #expect(story.tell(.timePassed) == ["ping(1)"])
        #expect(!story.beat(9).contains("kill"))
        #expect(story.beat(1).contains("kill"))
    }

    // MARK: Ends

    @Test func theEndThatAWorkerHasAnnouncedIsTheReasonThoughItsLinkGoesWithIt() {
        var story = Story()
        story.makeReady()
        #expect(story.tell(.exitAnnounced(.normal, 1)) == ["becameUnreachable", "bidFarewell(1, normal)"])
        story.tell(.linkLost(1))
        #expect(story.wait(.seconds(10)) == ["kill"])
        #expect(story.tell(.exited(.signaled(9))).last == "cleanUp(nil)")
        #expect(story.tell(.cleanedUp) == ["lifeEnded(normal)", "gone"])
    }

    @Test func aWorkerThatSaysThatItHangsIsKilledForThatReason() {
        var story = Story()
        story.makeReady()
        #expect(story.tell(.exitAnnounced(.hung, 1)) == ["becameUnreachable", "expectNoLink", "kill"])
        story.tell(.exited(.signaled(9)))
        #expect(story.tell(.cleanedUp) == ["lifeEnded(\(ExitReason.hung))", "gone"])
    }

    @Test func theEndThatWasAnnouncedOnALinkThatHasBeenReplacedIsBelieved() {
        var story = Story()
        story.makeReady()
        story.tell(.linkAttached(2, refusal: nil))
        #expect(story.tell(.exitAnnounced(.normal, 1)) == ["becameUnreachable", "bidFarewell(2, normal)"])
    }

    // MARK: Recycling

    @Test func aLifeThatIsDueIsRecycledOnceAndDrained() {
        var story = Story { $0.messages = 2 }
        story.makeReady()
        #expect(story.tell(.messageSent) == [])
        #expect(story.tell(.messageSent) == ["recycle(RecyclingCause.messages(2))"])
        #expect(story.tell(.messageSent) == [])
        #expect(story.tell(.stopRequested(.timeout(.seconds(5)))) == ["tellStop(1, Stop(grace: Optional(5.0 seconds), drains: true))"])
    }

    @Test func aLifeThatIsPausedIsRecycledWhenItIsResumed() {
        var story = Story { $0.age = .milliseconds(500) }
        story.makeReady()
        story.tell(.pauseChanged(true))
        #expect(story.wait(.milliseconds(600)) == [])
        #expect(story.tell(.pauseChanged(false)) == ["recycle(RecyclingCause.age)"])
    }

    // MARK: Spares

    @Test func aSpareIsGivenItsLifeOnTheLinkThatItHas() {
        var story = Story()
        story.spawn(isSpare: true)
        #expect(story.tell(.linkAttached(1, refusal: nil)) == ["welcome(1)"])
        #expect(story.machine.isWaiting)
        #expect(story.tell(.startRequested(isRestart: true, timeout: .seconds(5))) == ["introduce(1)", "tellStart(1)"])
        #expect(story.tell(.ready) == ["startSucceeded"])
    }

    @Test func aSpareThatNeverDialsIsOfNoUse() {
        var story = Story { $0.firstLink = .seconds(5) }
        story.spawn(isSpare: true)
        #expect(story.wait(.seconds(5)) == ["expectNoLink", "kill"])
        story.tell(.exited(.signaled(9)))
        #expect(story.tell(.cleanedUp) == ["gone"])
    }

    @Test func aLifeForASpareThatHasEndedFailsAtOnce() {
        var story = Story()
        story.spawn(isSpare: true)
        story.tell(.exited(.exited(code: 1)))
        story.tell(.cleanedUp)
        #expect(story.tell(.startRequested(isRestart: true, timeout: .seconds(5))) == ["startFailed(Failure.exited(exited with code 1))"])
    }
}
