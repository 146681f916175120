import Testing
import WorkerLifecycle

@Suite struct SparePoolMachineTests {
    private var pool = SparePoolMachine(target: 2)
    private var now = Duration.seconds(100)

    private mutating func tell(_ event: SparePoolMachine.Event) -> [SparePoolMachine.Directive] { pool.handle(event, now: now) }

    /// Brings two spares to where they wait.
    private mutating func fill() {
        _ = tell(.fillRequested(after: .zero))
        for id in pool.stages.keys.sorted() {
            _ = tell(.turnCame(id))
            _ = tell(.launched(id))
        }
    }

    @Test mutating func isFilledWhenALifeHasHadItsTime() {
        #expect(tell(.fillRequested(after: .milliseconds(20))) == [.wake(at: now + .milliseconds(20))])
        now += .milliseconds(20)
        #expect(tell(.timePassed) == [.takeTurn(1), .takeTurn(2)])
        #expect(tell(.turnCame(2)) == [.launch(2)])
        #expect(tell(.launched(2)) == [])
        #expect(pool.idle == [2])
    }

    @Test mutating func aTurnThatHadToBeWaitedForIsUsed() {
        _ = tell(.fillRequested(after: .zero))
        now += .seconds(600)
        #expect(tell(.turnCame(1)) == [.launch(1)])
        #expect(!pool.isOver)
    }

    @Test mutating func theFirstThatDiesIsReplacedAtOnceAndTheNextLater() {
        fill()
        #expect(tell(.ended(1)) == [.takeTurn(3)])
        #expect(tell(.ended(2)) == [.wake(at: now + .milliseconds(400))])
    }

    @Test mutating func aSpareThatCannotBeLaunchedIsTriedAgain() {
        _ = tell(.fillRequested(after: .zero))
        _ = tell(.turnCame(1))
        #expect(tell(.launchFailed(1)) == [.takeTurn(3)])
        #expect(tell(.ended(1)) == [])
        _ = tell(.turnCame(2))
        #expect(tell(.launchFailed(2)) == [.wake(at: now + .milliseconds(400))])
    }

    @Test mutating func aSpareWhoseEndIsToldBeforeItsLaunchIsReplaced() {
        _ = tell(.fillRequested(after: .zero))
        _ = tell(.turnCame(1))
        #expect(tell(.ended(1)) == [.takeTurn(3)])
        #expect(tell(.launched(1)) == [])
        #expect(pool.idle == [])
    }

    @Test mutating func aWakeThatComesTooEarlyIsAskedForAgain() {
        let time = now + .seconds(1)
        _ = tell(.fillRequested(after: .seconds(1)))
        now += .milliseconds(500)
        #expect(tell(.timePassed) == [.wake(at: time)])
    }

    @Test mutating func isClosedWhenNothingIsLeftOfItsSpares() {
        fill()
        _ = tell(.taken(1))
        _ = tell(.fillRequested(after: .zero))
        _ = tell(.turnCame(3))
        #expect(tell(.closeRequested) == [.discard(2)])
        #expect(tell(.launched(3)) == [.discard(3)])
        #expect(tell(.ended(3)) == [])
        #expect(tell(.ended(2)) == [.closed])
        #expect(tell(.closeRequested) == [])
        #expect(tell(.fillRequested(after: .zero)) == [])
    }
}
