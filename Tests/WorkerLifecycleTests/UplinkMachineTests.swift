import TestSupport
import Testing
import WorkerLifecycle

/// A worker's link to its parent, event by event.
@Suite struct UplinkMachineTests {
    typealias Directive = UplinkMachine.Directive

    /// A machine with a clock of its own: 15 s for a handshake, 2 s for a search, 100 ms between dials.
    private struct Bench {
        var machine = UplinkMachine()
        var now = Duration.zero

        mutating func send(_ event: UplinkMachine.Event, after delay: Duration = .zero) -> [Directive] {
            now += delay
            return machine.handle(event, now: now)
        }

        static var greeting: Bench {
            var bench = Bench()
            _ = bench.send(.connectRequested)
            _ = bench.send(.dialled(1))
            return bench
        }

        static var linked: Bench {
            var bench = greeting
            _ = bench.send(.welcomed(1))
            return bench
        }
    }

    @Test func linkIsUsedAfterItsWelcome() {
        var bench = Bench()
        #expect(bench.send(.connectRequested) == [.dial(1, within: .seconds(15))])
        #expect(bench.send(.connectRequested) == [])
        #expect(bench.send(.dialled(1)) == [.greet(1), .wake(at: .seconds(15))])
        #expect(bench.machine.link == nil)
        #expect(bench.send(.welcomed(1)) == [.introduce(1)])
        #expect(bench.machine.link == 1)
        #expect(bench.send(.welcomed(1)) == [])
        #expect(bench.send(.timePassed, after: .seconds(20)) == [])
        #expect(bench.machine.link == 1)
    }

    @Test func firstDialThatFailsEndsTheWorker() {
        var bench = Bench()
        _ = bench.send(.connectRequested)
        #expect(bench.send(.dialFailed(1, "refused")) == [.unreachable("refused")])
        #expect(bench.send(.timePassed, after: .seconds(1)) == [])
        #expect(bench.send(.connectRequested) == [])
    }

    @Test func firstDialOfAnOrphanEndsTheWorker() {
        var bench = Bench()
        _ = bench.send(.connectRequested)
        #expect(bench.send(.parentEnded) == [.unreachable("its process has ended")])
    }

    @Test func welcomeThatIsLateIsReplaced() {
        var bench = Bench.greeting
        #expect(bench.send(.timePassed, after: .seconds(1)) == [.wake(at: .seconds(15))])
        #expect(bench.send(.timePassed, after: .seconds(14)) == [.close(1), .wake(at: .milliseconds(15_100))])
        #expect(bench.send(.linkLost(1)) == [])
        #expect(bench.send(.welcomed(1)) == [])
        #expect(bench.send(.timePassed, after: .milliseconds(100)) == [.dial(2, within: .milliseconds(1_900))])
    }

    @Test func linkThatWasInUseIsDialledAgainAtOnce() {
        var bench = Bench.linked
        #expect(bench.send(.linkLost(7)) == [])
        #expect(bench.send(.linkLost(1)) == [.dial(2, within: .seconds(2))])
        #expect(bench.machine.link == nil)
        #expect(bench.send(.linkLost(1)) == [])
        #expect(bench.send(.dialled(2)) == [.greet(2), .wake(at: .seconds(15))])
        #expect(bench.send(.welcomed(2)) == [.introduce(2)])
        #expect(bench.machine.link == 2)
    }

    @Test func dialsHavePausesUntilTheParentIsGivenUp() {
        var bench = Bench.linked
        _ = bench.send(.linkLost(1))
        for (number, pause) in ([10, 20, 40, 80] + [Int](repeating: 100, count: 18)).enumerated() {
            let dial = UInt64(2 + number)
            #expect(bench.send(.dialFailed(dial, "")) == [.wake(at: bench.now + .milliseconds(pause))])
            #expect(bench.send(.timePassed, after: .milliseconds(pause)) == [.dial(dial + 1, within: .seconds(2) - bench.now)])
        }
        #expect(bench.send(.dialFailed(24, "")) == [.wake(at: .seconds(2))])
        #expect(bench.send(.timePassed, after: .milliseconds(50)) == [.orphaned])
        #expect(bench.send(.timePassed, after: .seconds(1)) == [])
    }

    @Test func aParentInWhosePlaceAnotherMayComeIsSearchedForFromTheBeginning() {
        var limits = UplinkMachine.Limits()
        limits.searchesAtFirst = true
        var bench = Bench(machine: UplinkMachine(limits: limits))
        _ = bench.send(.connectRequested)
        #expect(bench.send(.dialFailed(1, "refused")) == [.wake(at: .milliseconds(10))])
        #expect(bench.send(.timePassed, after: .milliseconds(10)) == [.dial(2, within: .milliseconds(1_990))])
        #expect(bench.machine.mayBeLinked)
        #expect(bench.send(.dialFailed(2, "refused"), after: .milliseconds(1_990)) == [.orphaned])
        #expect(!bench.machine.mayBeLinked)
    }

    @Test func linksWithoutAWelcomeDontLengthenTheSearch() {
        var bench = Bench.linked
        _ = bench.send(.linkLost(1))
        _ = bench.send(.dialled(2), after: .seconds(1))
        #expect(bench.send(.linkLost(2), after: .milliseconds(500)) == [.wake(at: .milliseconds(1_600))])
        #expect(bench.send(.timePassed, after: .milliseconds(100)) == [.dial(3, within: .milliseconds(400))])
        _ = bench.send(.dialled(3))
        #expect(bench.send(.linkLost(3), after: .milliseconds(400)) == [.orphaned])
    }

    @Test func welcomeBeginsTheTimeAnew() {
        var bench = Bench.linked
        _ = bench.send(.linkLost(1))
        _ = bench.send(.dialled(2), after: .seconds(1))
        _ = bench.send(.welcomed(2))
        #expect(bench.send(.linkLost(2), after: .seconds(30)) == [.dial(3, within: .seconds(2))])
    }

    @Test func parentsEndEndsTheSearchAtOnce() {
        var bench = Bench.linked
        // The link's loss follows, and is what counts.
        #expect(bench.send(.parentEnded) == [])
        _ = bench.send(.linkLost(1))
        #expect(bench.send(.parentEnded) == [.orphaned])
        #expect(bench.send(.parentEnded) == [])
    }

    @Test func withoutAGraceTheFirstLossIsTheLast() {
        var limits = UplinkMachine.Limits()
        limits.orphanGrace = .zero
        var bench = Bench(machine: UplinkMachine(limits: limits))
        _ = bench.send(.connectRequested)
        _ = bench.send(.dialled(1))
        _ = bench.send(.welcomed(1))
        #expect(bench.send(.linkLost(1)) == [.orphaned])
    }

    @Test func workerThatEndsDoesntDial() {
        var bench = Bench.linked
        #expect(bench.send(.endRequested) == [])
        #expect(bench.machine.link == 1)
        #expect(bench.machine.isEnding)
        #expect(bench.send(.linkLost(1)) == [.parentLeft])
        #expect(bench.send(.linkLost(1)) == [])
        #expect(bench.send(.timePassed, after: .seconds(1)) == [])
    }

    @Test func workerThatEndsHearsTheWelcomeStill() {
        var bench = Bench.greeting
        #expect(bench.send(.endRequested) == [])
        #expect(bench.send(.timePassed, after: .seconds(15)) == [])
        #expect(bench.send(.welcomed(1)) == [.introduce(1)])
        #expect(bench.machine.link == 1)
    }

    @Test func dialThatComesTooLateIsClosed() {
        var bench = Bench.linked
        _ = bench.send(.linkLost(1))
        #expect(bench.send(.endRequested) == [])
        #expect(bench.send(.dialled(2)) == [.close(2)])
        #expect(bench.send(.welcomed(2)) == [])
        #expect(bench.machine.link == nil)
    }

    @Test func workerThatEndsBeforeItHasDialledNeverDoes() {
        var bench = Bench()
        #expect(bench.send(.endRequested) == [])
        #expect(bench.send(.connectRequested) == [])
    }

    // MARK: Random walks

    @Test(arguments: [UInt64(1), 2, 3, 4, 5, .random(in: 6 ... .max)])
    func randomWalks(seed: UInt64) {
        var dice = SeededGenerator(seed: seed, "UplinkMachineTests")
        var tally: [String: Int] = [:]
        for walk in 0..<rounds(short: 250, all: 1_000, long: 10_000) {
            var parent = FakeParent(&dice)
            for _ in 0..<60 where parent.complaints.isEmpty { parent.step(&dice) }
            parent.hideFromNowOn()
            guard parent.complaints.isEmpty else {
                Issue.record("seed \(seed), walk \(walk): \(parent.complaints)\n\(parent.history.joined(separator: "\n"))")
                return
            }
            tally.merge(parent.tally, uniquingKeysWith: +)
        }
        for kind in ["dial", "greet", "introduce", "close", "unreachable", "orphaned", "parentLeft", "wake"] {
            #expect(tally[kind, default: 0] > 0, "walks without \(kind) prove little")
        }
    }
}

/// A parent that answers late, twice or never, and that keeps books of what the worker does.
private struct FakeParent {
    private var machine: UplinkMachine
    private var now = Duration.zero
    private var wake: Duration?
    private var dial: UInt64?
    /// The links that were greeted and not lost.
    private var links: Set<UInt64> = []
    private var closed: Set<UInt64> = []
    private var introduced: Set<UInt64> = []
    private var isEnding = false
    private var isOver = false
    private(set) var complaints: [String] = []
    private(set) var history: [String] = []
    private(set) var tally: [String: Int] = [:]

    init(_ dice: inout SeededGenerator) {
        var limits = UplinkMachine.Limits()
        limits.orphanGrace = .milliseconds([0, 50, 1_000, 60_000].randomElement(using: &dice) ?? 0)
        machine = UplinkMachine(limits: limits)
        send(.connectRequested)
    }

    mutating func step(_ dice: inout SeededGenerator) {
        now += .milliseconds(Int.random(in: 0...200, using: &dice))
        let stray = UInt64.random(in: 0...8, using: &dice)
        switch Int.random(in: 0..<100, using: &dice) {
        case 0..<30:
            guard let dial else { return }
            self.dial = nil
            // The first dial seldom fails, or nothing would follow.
            let hasFailed = Int.random(in: 0..<(dial == 1 ? 20 : 2), using: &dice) == 0
            send(hasFailed ? .dialFailed(dial, "no") : .dialled(dial))
        case 30..<50: if let link = links.subtracting(closed).sorted().randomElement(using: &dice) { send(.welcomed(link)) }
        case 50..<65: if let link = links.sorted().randomElement(using: &dice) { lose(link) }
        case 65..<70: send(.welcomed(stray))
        case 70..<73: if !links.contains(stray) { send(.linkLost(stray)) }
        case 73..<75: if dial != stray { send(.dialFailed(stray, "stray")) }
        case 75: send(.parentEnded)
        case 76:
            isEnding = true
            send(.endRequested)
        case 77..<82: send(.timePassed)
        default: passTime()
        }
    }

    /// The parent is gone: the worker has to find out by itself.
    mutating func hideFromNowOn() {
        for link in links.sorted() { lose(link) }
        for _ in 0..<2_000 where !isOver && !isEnding {
            if let dial {
                self.dial = nil
                now += .milliseconds(50)
                send(.dialFailed(dial, "gone"))
            } else {
                passTime()
            }
        }
        if !isOver, !isEnding { complaints.append("the worker waits for ever in \(machine.state)") }
    }

    private mutating func passTime() {
        guard let wake else { return }
        now = max(now, wake)
        self.wake = nil
        send(.timePassed)
    }

    private mutating func lose(_ link: UInt64) {
        links.remove(link)
        send(.linkLost(link))
    }

    private mutating func send(_ event: UplinkMachine.Event) {
        history.append("\(now) \(event)")
        let wasOver = isOver
        for directive in machine.handle(event, now: now) {
            history.append("    \(directive)")
            if wasOver, !directive.isClose { complaints.append("\(directive) after the parent was given up") }
            note(directive)
        }
        if let link = machine.link, !introduced.contains(link) { complaints.append("\(link) is used before its introduction") }
    }

    private mutating func note(_ directive: UplinkMachine.Directive) {
        tally[directive.kind, default: 0] += 1
        switch directive {
        case .dial(let id, let time):
            if dial != nil { complaints.append("two dials at a time") }
            if !links.subtracting(closed).isEmpty { complaints.append("a dial beside a link") }
            if isEnding { complaints.append("a dial of a worker that ends") }
            if time <= .zero || time > machine.limits.handshake { complaints.append("a dial within \(time)") }
            dial = id
        case .greet(let link): links.insert(link)
        case .introduce(let link):
            if !links.contains(link) || closed.contains(link) { complaints.append("\(link) is gone, and introduced") }
            if !introduced.insert(link).inserted { complaints.append("\(link) is introduced twice") }
        case .close(let link): closed.insert(link)
        case .unreachable:
            if !introduced.isEmpty { complaints.append("unreachable, although it was reached") }
            isOver = true
        case .orphaned: isOver = true
        case .parentLeft: if !isEnding { complaints.append("the parent left a worker that doesn't end") }
        case .wake(let time):
            if time < now { complaints.append("a wake in the past") }
            wake = time
        }
    }
}

extension UplinkMachine.Directive {
    fileprivate var isClose: Bool {
        if case .close = self { true } else { false }
    }

    fileprivate var kind: String {
        switch self {
        case .dial: "dial"
        case .greet: "greet"
        case .introduce: "introduce"
        case .close: "close"
        case .unreachable: "unreachable"
        case .orphaned: "orphaned"
        case .parentLeft: "parentLeft"
        case .wake: "wake"
        }
    }
}
