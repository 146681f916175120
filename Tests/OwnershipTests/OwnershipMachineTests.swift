import Ownership
import Testing

/// A machine with a clock that the test sets.
private struct Story {
    var machine: OwnershipMachine
    var now = Duration.zero

    init(_ policy: StoreLossPolicy = .fence, timeToLive: Duration = .seconds(3)) {
        machine = OwnershipMachine(terms: LeaseTerms(timeToLive: timeToLive), onStoreLoss: policy, moveLimit: 1, now: .zero)
        _ = tell(.timePassed)
    }

    /// Tells an event, at a time in milliseconds, and returns the directives without wakes.
    mutating func tell(_ event: OwnershipMachine.Event, at time: Int? = nil) -> [OwnershipMachine.Directive] {
        if let time { now = .milliseconds(time) }
        return machine.handle(event, now: now).filter { directive in
            if case .wake = directive { false } else { true }
        }
    }

    /// A node that has lease 7 since time 0, and runs /a in epoch 5.
    static func owner(_ policy: StoreLossPolicy = .fence) -> Story {
        var story = Story(policy)
        _ = story.tell(.joined(lease: 7, sentAt: .zero, granted: .seconds(3)), at: 10)
        _ = story.tell(.assigned("/a", moves: 0))
        _ = story.tell(.claimed("/a", lease: 7, five))
        return story
    }

    var epoch: Epoch? { machine.epoch(of: "/a", at: now) }
}

private let five = Epoch(rawValue: 5)
private let fenced: [OwnershipMachine.Directive] = [.fence("/a", five), .stop("/a", five, drains: false)]

@Suite("A node's membership and the subtrees that it owns")
struct OwnershipMachineTests {
    @Test("A subtree starts when it's assigned, the node has a lease, and the store has given the key")
    func start() {
        var story = Story()
        #expect(story.tell(.assigned("/a", moves: 0)) == [])
        #expect(story.tell(.joined(lease: 7, sentAt: .zero, granted: .seconds(3)), at: 10) == [.claim("/a", lease: 7)])
        #expect(story.epoch == nil)
        #expect(story.tell(.claimed("/a", lease: 7, five)) == [.start("/a", five)])
        #expect(story.epoch == five)
        #expect(story.tell(.claimed("/a", lease: 7, five)) == [], "a doubled answer starts it twice")
    }

    @Test("The deadline is the time of the request, the time to live and no margin")
    func deadline() {
        var story = Story.owner()
        #expect(story.tell(.timePassed, at: 1_000) == [.renew(lease: 7)])
        #expect(story.tell(.timePassed, at: 1_749) == [])
        #expect(story.tell(.timePassed, at: 1_750) == [.renew(lease: 7)], "a try ends after a quarter of the time to live")
        // The answer of the first try, late.
        #expect(story.tell(.renewed(lease: 7, sentAt: .milliseconds(1_000), granted: .seconds(3)), at: 2_400) == [])
        story.now = .milliseconds(3_699)
        #expect(story.epoch == five)
        story.now = .milliseconds(3_700)
        #expect(story.epoch == nil, "before the timer has said so")
        #expect(story.tell(.timePassed) == fenced + [.join])
    }

    @Test("A lease that is granted for less time is trusted for less")
    func shortGrant() {
        var story = Story()
        _ = story.tell(.joined(lease: 7, sentAt: .zero, granted: .seconds(2)), at: 10)
        guard case .member(let lease) = story.machine.state else {
            Issue.record("\(story.machine.state)")
            return
        }
        #expect(lease.deadline == .milliseconds(1_700))
    }

    @Test("A node that was stopped past its deadline fences before it looks at the answers that have come")
    func resume() {
        var story = Story.owner()
        _ = story.tell(.timePassed, at: 1_000)
        let directives = story.tell(.renewed(lease: 7, sentAt: .milliseconds(1_000), granted: .seconds(3)), at: 9_000)
        #expect(directives == fenced + [.join])
        #expect(story.epoch == nil)
        #expect(story.tell(.joined(lease: 8, sentAt: .milliseconds(9_000), granted: .seconds(3))) == [], "the old life isn't over")
        #expect(story.tell(.stopped("/a", five)) == [.revoke(lease: 7), .claim("/a", lease: 8)])
    }

    @Test("A revoked lease ends all epochs first, and then what runs")
    func leaseLost() {
        var story = Story.owner()
        _ = story.tell(.assigned("/b", moves: 0))
        let six = Epoch(rawValue: 6)
        _ = story.tell(.claimed("/b", lease: 7, six))
        #expect(
            story.tell(.leaseLost(lease: 7)) == [
                .fence("/a", five), .fence("/b", six), .stop("/a", five, drains: false), .stop("/b", six, drains: false), .join,
            ]
        )
    }

    @Test(
        "A key that another hand has deleted, replaced or overwritten, or a receiver that knows a later owner, fences its subtree",
        arguments: [
            OwnershipMachine.Event.ownerGone("/a", revision: 9),
            .ownerSeen("/a", Epoch(rawValue: 9), lease: 8),
            .ownerSeen("/a", five, lease: nil),
            .refusedAsStale("/a", Epoch(rawValue: 9)),
        ]
    )
    func foreignHands(event: OwnershipMachine.Event) {
        var story = Story.owner()
        #expect(story.tell(event) == fenced)
        #expect(story.epoch == nil)
        #expect(story.tell(.stopped("/a", five)) == [.claim("/a", lease: 7)])
        #expect(story.tell(.claimed("/a", lease: 7, Epoch(rawValue: 12))) == [.start("/a", Epoch(rawValue: 12))])
    }

    @Test(
        "What is told late of earlier keys changes nothing",
        arguments: [
            OwnershipMachine.Event.ownerGone("/a", revision: 4), .ownerSeen("/a", Epoch(rawValue: 3), lease: 2),
            .ownerSeen("/a", five, lease: 7),
            .refusedAsStale("/a", five), .leaseLost(lease: 6), .stopped("/a", Epoch(rawValue: 3)),
        ]
    )
    func late(event: OwnershipMachine.Event) {
        var story = Story.owner()
        #expect(story.tell(event) == [])
        #expect(story.epoch == five)
    }

    @Test("The answer of a claim whose key was deleted meanwhile doesn't start the subtree")
    func lateClaim() {
        var story = Story()
        _ = story.tell(.joined(lease: 7, sentAt: .zero, granted: .seconds(3)), at: 10)
        _ = story.tell(.assigned("/a", moves: 0))
        _ = story.tell(.ownerGone("/a", revision: 6))
        #expect(story.tell(.claimed("/a", lease: 7, five)) == [.claim("/a", lease: 7)])
    }

    @Test("A claim that isn't answered is repeated even when the assignment has changed, and its key given back")
    func unknownClaim() {
        var story = Story()
        _ = story.tell(.joined(lease: 7, sentAt: .zero, granted: .seconds(3)), at: 10)
        _ = story.tell(.assigned("/a", moves: 0))
        _ = story.tell(.unassigned("/a"))
        #expect(story.tell(.timePassed, at: 760) == [.claim("/a", lease: 7)])
        #expect(story.tell(.claimed("/a", lease: 7, five)) == [.release("/a", five, .handedOver)])
        #expect(story.machine.subtrees.count == 1)
        _ = story.tell(.released("/a", five))
        #expect(story.machine.subtrees.isEmpty)
        // A try that arrives after all that.
        let nine = Epoch(rawValue: 9)
        #expect(story.tell(.ownerSeen("/a", nine, lease: 7)) == [.release("/a", nine, .handedOver)])
    }

    @Test("A hand-over stops the subtree first, and writes until then")
    func handOver() {
        var story = Story.owner()
        #expect(story.tell(.unassigned("/a")) == [.stop("/a", five, drains: true)])
        #expect(story.epoch == five)
        #expect(story.tell(.stopped("/a", five)) == [.release("/a", five, .handedOver)])
        #expect(story.epoch == nil)
        #expect(story.tell(.releaseFailed("/a", five)) == [])
        #expect(story.tell(.timePassed, at: 300) == [.release("/a", five, .handedOver)])
        #expect(story.tell(.released("/a", five)) == [])
    }

    @Test("A path that is stopped on all nodes ends as at a hand-over, and isn't claimed before it's started")
    func stopOnAllNodes() {
        var story = Story.owner()
        #expect(story.tell(.stopRequested("/a")) == [.stop("/a", five, drains: true)])
        #expect(story.tell(.stopRequested("/a")) == [], "told again")
        #expect(story.epoch == five)
        #expect(story.tell(.stopped("/a", five)) == [.release("/a", five, .handedOver)])
        #expect(story.tell(.released("/a", five)) == [])
        // Neither as one that is still assigned, nor as one that is assigned anew.
        #expect(story.tell(.assigned("/a", moves: 0), at: 500) == [])
        #expect(story.tell(.startRequested("/a")) == [.claim("/a", lease: 7)])
        #expect(story.tell(.stopRequested("/a")) == [], "the claim is under way")
        let six = Epoch(rawValue: 6)
        #expect(story.tell(.claimed("/a", lease: 7, six)) == [.release("/a", six, .handedOver)])
        // A stop that is told before the path is assigned.
        #expect(story.tell(.stopRequested("/b")) == [])
        #expect(story.tell(.assigned("/b", moves: 0)) == [])
        #expect(story.tell(.startRequested("/b")) == [.claim("/b", lease: 7)])
    }

    @Test("A node that drains hands all over, and then gives its lease back")
    func drain() {
        var story = Story.owner()
        #expect(story.tell(.drainRequested) == [.stop("/a", five, drains: true)])
        #expect(story.tell(.stopped("/a", five)) == [.release("/a", five, .handedOver)])
        #expect(story.tell(.released("/a", five)) == [.revoke(lease: 7), .left])
        #expect(story.tell(.timePassed, at: 60_000) == [])
    }

    @Test("A drain that meets the deadline is cut short")
    func drainFenced() {
        var story = Story.owner()
        _ = story.tell(.drainRequested)
        #expect(story.tell(.timePassed, at: 5_000) == fenced)
        #expect(story.tell(.stopped("/a", five)) == [.revoke(lease: 7), .left])
    }

    @Test("A subtree that fails moves on, as often as it may")
    func failure() {
        var story = Story.owner()
        #expect(story.tell(.gaveUp("/a", five)) == [.release("/a", five, .failed(moves: 1))])
        _ = story.tell(.unassigned("/a"))
        _ = story.tell(.released("/a", five))
        #expect(story.machine.subtrees.isEmpty)
        _ = story.tell(.assigned("/a", moves: 1))
        let nine = Epoch(rawValue: 9)
        _ = story.tell(.claimed("/a", lease: 7, nine))
        #expect(story.tell(.gaveUp("/a", nine)) == [.release("/a", nine, .givenUp)])
    }

    @Test("A node that freezes goes on past its deadline, and takes nothing new")
    func freeze() {
        var story = Story.owner(.freeze)
        _ = story.tell(.timePassed, at: 1_000)
        _ = story.tell(.timePassed, at: 1_750)
        _ = story.tell(.timePassed, at: 2_500)
        #expect(story.tell(.timePassed, at: 2_700) == [])
        #expect(story.epoch == five)
        // One that was itself stopped takes nothing, also before the machine is told of the time.
        #expect(story.machine.epoch(of: "/a", at: story.now + .seconds(2)) == nil)
        #expect(story.tell(.assigned("/b", moves: 0)) == [])
        #expect(story.tell(.renewed(lease: 7, sentAt: .milliseconds(2_500), granted: .seconds(3))) == [.claim("/b", lease: 7)])
        // The store is back, and has given the lease up.
        _ = story.tell(.timePassed, at: 3_500)
        #expect(story.tell(.leaseLost(lease: 7)) == fenced + [.join])
    }

    @Test("A node that freezes leaves though the store answers no request")
    func leaveWhileFrozen() {
        var story = Story.owner(.freeze)
        for time in [1_000, 1_750, 2_500, 2_700] { _ = story.tell(.timePassed, at: time) }
        #expect(story.tell(.drainRequested) == [.stop("/a", five, drains: true)])
        let left = story.tell(.stopped("/a", five))
        #expect(left.contains(.left) && left.contains(.revoke(lease: 7)))
    }

    @Test("A node that freezes, and was itself stopped, is fenced")
    func freezeAfterAStop() {
        var story = Story.owner(.freeze)
        #expect(story.tell(.timePassed, at: 2_800) == fenced + [.join])
    }
}
