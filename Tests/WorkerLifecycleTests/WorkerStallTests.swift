import Supervision
import Testing
import WorkerLifecycle

/// The owner of a worker stands still in the midst of each time that the worker is given: that time goes on where it was.
@Suite("A parent that stands still blames no worker")
struct WorkerStallTests {
    /// All that a worker has to do in time.
    enum Deadline: CaseIterable {
        case spawn, start, firstLinkOfSpare, linkOfAdopted, link, sign, executor, stop, stopDuringStart, endlessStopDuringStart,
            departure, failedStart, refusedTicket, stopBeforeAnnounced

        /// The time that it's given.
        var limit: Duration {
            switch self {
            case .spawn, .start, .endlessStopDuringStart: .seconds(30)
            case .firstLinkOfSpare: .seconds(20)
            case .link, .linkOfAdopted, .sign, .executor, .departure: .seconds(10)
            case .stop, .stopDuringStart: .seconds(8)
            case .refusedTicket: .seconds(5)
            case .failedStart, .stopBeforeAnnounced: .seconds(4)
            }
        }

        var story: Story {
            var story = Story { limits in
                limits.failedStart = .seconds(4)
                limits.restartsSilentExecutor = self == .executor
            }
            switch self {
            case .spawn: story.tell(.startRequested(isRestart: false, timeout: limit))
            case .start: story.spawn(timeout: limit)
            case .firstLinkOfSpare: story.spawn(isSpare: true)
            case .linkOfAdopted:
                story.tell(.startRequested(isRestart: false, timeout: .seconds(60)))
                story.tell(.adopted)
            case .link:
                story.makeReady()
                story.tell(.linkLost(1))
            case .sign, .executor: story.makeReady()
            case .stop:
                story.makeReady()
                story.tell(.stopRequested(.timeout(limit)))
            case .stopDuringStart:
                story.spawn(timeout: .seconds(60))
                story.tell(.linkAttached(1, refusal: nil))
                story.tell(.stopRequested(.timeout(limit)))
            case .endlessStopDuringStart:
                story.spawn(timeout: limit)
                story.tell(.linkAttached(1, refusal: nil))
                story.tell(.stopRequested(.infinity))
            case .departure:
                story.makeReady()
                story.tell(.exitAnnounced(.normal, 1))
            case .failedStart:
                story.spawn()
                story.tell(.startRefused(StoryError()))
            case .refusedTicket:
                story.spawn()
                story.tell(.ticketRefused("it has closed it"))
            case .stopBeforeAnnounced:
                story.tell(.startRequested(isRestart: false, timeout: .seconds(60)))
                story.tell(.spawned)
                story.tell(.stopRequested(.timeout(.seconds(60))))
            }
            return story
        }
    }

    /// Lets seconds pass in which the worker does everything but what it has to, and returns whether a verdict has come.
    private func pass(_ seconds: Int, _ deadline: Deadline, _ story: inout Story) -> Bool {
        var said: [String] = []
        for _ in 0..<seconds {
            said += story.wait(.seconds(1))
            // Only the sign of life is what a worker owes that is ready.
            if deadline != .sign { said += story.tell(.heard) }
        }
        return isJudged(said, story)
    }

    private func isJudged(_ said: [String], _ story: Story) -> Bool {
        if case .spawning(let spawning) = story.machine.state, spawning.condemnation != nil { return true }
        return said.contains { $0 == "kill" || $0.hasPrefix("terminate") }
    }

    @Test(
        "The time goes on where it was, whether the wake or something else is heard first after the stall",
        arguments: Deadline.allCases,
        [nil, WorkerMachine.Event.pauseChanged(false)]
    )
    func stall(_ deadline: Deadline, _ first: WorkerMachine.Event?) {
        var story = deadline.story
        let half = Int(deadline.limit.components.seconds) / 2
        #expect(!pass(half, deadline, &story))
        story.oversleep(deadline.limit * 3)
        if let first { #expect(!isJudged(story.tell(first), story)) }
        #expect(!isJudged(story.tell(.timePassed), story))
        // What has no time of its own but an interval has all of it again.
        let left = Int(deadline.limit.components.seconds) - half
        #expect(!pass(left - 2, deadline, &story), "it has the rest of its time")
        #expect(pass(half + 3, deadline, &story), "and no more")
    }

    @Test("A time that begins with the first thing that is heard after a stall isn't extended by that")
    func later() {
        var story = Story()
        story.makeReady()
        story.beat(3)
        story.oversleep(.seconds(60))
        story.tell(.stopRequested(.timeout(.seconds(5))))
        story.tell(.timePassed)
        #expect(!story.beat(4).contains { $0.hasPrefix("terminate") })
        #expect(story.beat(1).contains { $0.hasPrefix("terminate") })
    }

    @Test("After a stall a second stop can still only shorten what is left")
    func shortened() {
        var story = Story { $0.termination = .seconds(12) }
        story.spawn(timeout: .seconds(60))
        #expect(story.tell(.stopRequested(.timeout(.seconds(60)))) == ["terminate(grace: 12.0 seconds)"])
        story.oversleep(.seconds(60))
        story.tell(.timePassed)
        // It has had none of its twelve seconds.
        #expect(story.tell(.stopRequested(.timeout(.seconds(3)))) == ["terminate(grace: 3.0 seconds)"])
    }
}
