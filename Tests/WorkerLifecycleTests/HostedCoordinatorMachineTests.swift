import Supervision
import TestSupport
import Testing
import WorkerLifecycle

/// The coordinator that a worker process hosts, event by event.
@Suite struct HostedCoordinatorMachineTests {
    /// A machine with a clock of its own.
    private struct Bench {
        var machine = HostedCoordinatorMachine()
        var now = Duration.zero

        /// - Returns: the directives in words, since errors can't be compared.
        mutating func send(_ event: HostedCoordinatorMachine.Event, after delay: Duration = .zero) -> [String] {
            now += delay
            return machine.handle(event, now: now).map(\.text)
        }

        mutating func end(
            _ grace: Duration?,
            drains: Bool = false,
            _ reason: ExitReason = .shutdown,
            after delay: Duration = .zero
        ) -> [String] {
            send(.endRequested(.init(grace: grace, drains: drains, reason: reason)), after: delay)
        }

        static var starting: Bench {
            var bench = Bench()
            _ = bench.send(.startRequested)
            return bench
        }

        static var ready: Bench {
            var bench = starting
            _ = bench.send(.ready)
            return bench
        }

        static var leaving: Bench {
            var bench = ready
            _ = bench.send(.ended(.normal))
            _ = bench.send(.runtimeClosed)
            return bench
        }
    }

    private struct Failure: Error, CustomStringConvertible {
        let description = "no luck"
    }

    @Test func wholeLife() {
        var bench = Bench()
        #expect(bench.send(.startRequested) == ["start"])
        #expect(bench.send(.ready) == ["tellReady"])
        #expect(bench.end(.seconds(5)) == ["stop 5.0 seconds"])
        #expect(bench.send(.ended(.shutdown)) == ["closeRuntime"])
        #expect(bench.send(.runtimeClosed) == ["tellEnd shutdown", "countTransmissions"])
        #expect(bench.send(.transmissionsCounted(3)) == ["wake 5.0 seconds"])
        #expect(bench.send(.dismissed) == ["exit shutdown"])
        #expect(bench.send(.dismissed) == [])
    }

    @Test func startThatArrivesAgainIsIgnored() {
        var bench = Bench.starting
        #expect(bench.send(.startRequested) == [])
        #expect(bench.send(.ready) == ["tellReady"])
        #expect(bench.send(.startRequested) == [])
        _ = bench.end(.seconds(5))
        #expect(bench.send(.startRequested) == [])
    }

    @Test func startAfterTheEndIsIgnored() {
        var bench = Bench()
        #expect(bench.end(.seconds(5)) == ["closeRuntime"])
        #expect(bench.send(.startRequested) == [])
        #expect(bench.send(.runtimeClosed) == ["tellEnd shutdown", "countTransmissions"])
    }

    @Test func startThatFailsIsTold() {
        var bench = Bench.starting
        #expect(bench.send(.startFailed(Failure())) == ["tellStartFailed no luck", "closeRuntime"])
        #expect(bench.send(.runtimeClosed) == ["tellEnd failed to start: no luck", "countTransmissions"])
    }

    @Test func startThatIsStoppedFailsForThatReason() {
        var bench = Bench.starting
        #expect(bench.end(.seconds(5)) == ["stop 5.0 seconds"])
        #expect(bench.send(.startFailed(Failure())) == ["closeRuntime"])
        #expect(bench.send(.runtimeClosed) == ["tellEnd shutdown", "countTransmissions"])
    }

    @Test func startThatWinsAgainstItsStopIsTold() {
        var bench = Bench.starting
        _ = bench.end(.seconds(5))
        #expect(bench.send(.ready) == ["tellReady"])
        #expect(bench.send(.ended(.shutdown)) == ["closeRuntime"])
    }

    @Test func startHasNothingToDrain() {
        var bench = Bench.starting
        #expect(bench.end(.seconds(5), drains: true) == ["stop 5.0 seconds"])
    }

    @Test func readyIsToldBeforeTheEnd() {
        var bench = Bench.starting
        #expect(bench.send(.ended(.failed("oh"))) == [])
        #expect(bench.send(.ready) == ["tellReady", "closeRuntime"])
        #expect(bench.send(.runtimeClosed) == ["tellEnd failed: oh", "countTransmissions"])
    }

    @Test func onlyASoonerStopIsHeard() {
        var bench = Bench.ready
        #expect(bench.end(nil) == ["stop forever"])
        #expect(bench.end(nil) == [])
        #expect(bench.end(.seconds(10)) == ["stop 10.0 seconds"])
        #expect(bench.end(.seconds(10), after: .seconds(1)) == [])
        #expect(bench.end(nil) == [])
        // Nine seconds are left.
        #expect(bench.end(.seconds(9)) == [])
        #expect(bench.end(.seconds(8)) == ["stop 8.0 seconds"])
        #expect(bench.end(.zero) == ["stop 0.0 seconds"])
        #expect(bench.end(.zero) == [])
    }

    @Test func drainHasTheTimeOfTheStop() {
        var bench = Bench.ready
        #expect(bench.end(.seconds(10), drains: true) == ["stop 10.0 seconds, draining"])
        #expect(bench.end(.seconds(10), drains: true, after: .seconds(1)) == [])
        #expect(bench.send(.ended(.shutdown)) == ["closeRuntime"])
    }

    @Test func hurryShortensTheDrain() {
        var bench = Bench.ready
        _ = bench.end(.seconds(10), drains: true)
        // A stop with less grace that ends later than the first would is told again on a new link.
        #expect(bench.end(.seconds(6), after: .seconds(5)) == [])
        #expect(bench.end(.seconds(1)) == ["stop 1.0 seconds"])
    }

    @Test(arguments: [
        (ExitReason.shutdown, ExitReason.normal, ExitReason.shutdown),
        (.shutdown, .shutdown, .shutdown),
        (.shutdown, .failed("oh"), .failed("oh")),
        (.shutdown, .stopTimedOut, .stopTimedOut),
        (.failed("the parent is gone"), .shutdown, .failed("the parent is gone")),
        (.failed("the parent is gone"), .failed("oh"), .failed("the parent is gone")),
    ])
    func reasonOfTheEnd(requested: ExitReason, actual: ExitReason, told: ExitReason) {
        var bench = Bench.ready
        _ = bench.end(.seconds(5), requested)
        // A second request doesn't change the reason.
        _ = bench.end(.seconds(1), .normal)
        _ = bench.send(.ended(actual))
        #expect(bench.send(.runtimeClosed) == ["tellEnd \(told)", "countTransmissions"])
        #expect(bench.send(.dismissed) == ["exit \(told)"])
    }

    @Test func parentThatCantBeToldIsntWaitedFor() {
        var bench = Bench.leaving
        #expect(bench.send(.endNotTold) == ["exit normal"])
        #expect(bench.send(.transmissionsCounted(0)) == [])
    }

    @Test func parentIsWaitedForWhileItReads() {
        var bench = Bench.leaving
        #expect(bench.send(.transmissionsCounted(7)) == ["wake 5.0 seconds"])
        #expect(bench.send(.timePassed, after: .seconds(1)) == ["wake 5.0 seconds"])
        #expect(bench.send(.timePassed, after: .seconds(4)) == ["countTransmissions"])
        #expect(bench.send(.timePassed) == [])
        #expect(bench.send(.transmissionsCounted(8)) == ["wake 10.0 seconds"])
        #expect(bench.send(.timePassed, after: .seconds(5)) == ["countTransmissions"])
        #expect(bench.send(.transmissionsCounted(8)) == ["exit normal"])
    }

    // MARK: Random walks

    @Test(arguments: [UInt64(1), 2, 3, 4, 5, .random(in: 6 ... .max)])
    func randomWalks(seed: UInt64) {
        var dice = SeededGenerator(seed: seed, "HostedCoordinatorMachineTests")
        var tally: [String: Int] = [:]
        for walk in 0..<rounds(short: 400, all: 2_000, long: 20_000) {
            var world = FakeProcess()
            for _ in 0..<30 where world.complaints.isEmpty { world.step(&dice) }
            world.bringToAnEnd()
            guard world.complaints.isEmpty else {
                Issue.record("seed \(seed), walk \(walk): \(world.complaints)\n\(world.history.joined(separator: "\n"))")
                return
            }
            tally.merge(world.tally, uniquingKeysWith: +)
        }
        let kinds = [
            "start", "tellReady", "tellStartFailed", "stop", "closeRuntime", "tellEnd", "countTransmissions", "wake", "exit",
        ]
        for kind in kinds { #expect(tally[kind, default: 0] > 0, "walks without \(kind) prove little") }
    }
}

/// A worker process whose coordinator and parent do things late, twice or never, and that keeps books.
private struct FakeProcess {
    private var machine = HostedCoordinatorMachine()
    private var now = Duration.zero
    private var wake: Duration?
    /// What was ordered and isn't done, by kind.
    private var pending: Set<String> = []
    private var transmissions: UInt64 = 0
    /// Whether `ended` was said before the end of the start.
    private var hasEndedEarly = false
    private var isAlive = false
    private var isEndRequested = false
    private var deadline: Duration?
    private var endTold: String?
    private(set) var complaints: [String] = []
    private(set) var history: [String] = []
    private(set) var tally: [String: Int] = [:]

    mutating func step(_ dice: inout SeededGenerator) {
        now += .milliseconds(Int.random(in: 0...2_000, using: &dice))
        if Int.random(in: 0..<3, using: &dice) == 0 { transmissions += 1 }
        let reasons: [ExitReason] = [.normal, .shutdown, .failed("x"), .stopTimedOut]
        let reason = reasons.randomElement(using: &dice) ?? .normal
        switch Int.random(in: 0..<100, using: &dice) {
        case 0..<20: send(.startRequested)
        case 20..<40: endStart(fails: Int.random(in: 0..<4, using: &dice) == 0)
        case 40..<48: endCoordinator(reason)
        case 48..<60:
            let graces: [Duration?] = [nil, .zero, .seconds(1), .seconds(5), .seconds(60)]
            let grace = graces.randomElement(using: &dice) ?? nil
            request(.init(grace: grace, drains: Bool.random(using: &dice), reason: Bool.random(using: &dice) ? .shutdown : .failed("y")))
        case 60..<76: answer("closeRuntime", .runtimeClosed)
        case 76..<84: answer("countTransmissions", .transmissionsCounted(transmissions))
        case 84..<86: answer("tellEnd", .endNotTold)
        case 86..<88: send(.dismissed)
        case 88..<90: send(.timePassed)
        default: passTime()
        }
    }

    /// Everything that was ordered is done, and the parent reads nothing any more.
    mutating func bringToAnEnd() {
        request(.init(grace: .seconds(1), reason: .shutdown))
        for _ in 0..<20 where complaints.isEmpty && tally["exit"] == nil {
            endStart(fails: false)
            endCoordinator(.shutdown)
            answer("closeRuntime", .runtimeClosed)
            answer("countTransmissions", .transmissionsCounted(transmissions))
            passTime()
        }
        if complaints.isEmpty, tally["exit"] != 1 { complaints.append("the process lives for ever in \(machine.state)") }
    }

    private mutating func request(_ request: HostedCoordinatorMachine.EndRequest) {
        isEndRequested = true
        send(.endRequested(request))
    }

    private mutating func endStart(fails: Bool) {
        guard pending.remove("start") != nil else { return }
        // A start that has led to an end hasn't failed.
        if fails, !hasEndedEarly {
            isAlive = false
            send(.startFailed(CancellationError()))
        } else {
            send(.ready)
        }
    }

    private mutating func endCoordinator(_ reason: ExitReason) {
        guard isAlive else { return }
        isAlive = false
        hasEndedEarly = pending.contains("start")
        send(.ended(reason))
    }

    private mutating func answer(_ kind: String, _ event: HostedCoordinatorMachine.Event) {
        if pending.remove(kind) != nil { send(event) }
    }

    private mutating func passTime() {
        guard let wake else { return }
        now = max(now, wake)
        self.wake = nil
        send(.timePassed)
    }

    private mutating func send(_ event: HostedCoordinatorMachine.Event) {
        history.append("\(now) \(event)")
        for directive in machine.handle(event, now: now) {
            history.append("    \(directive.text)")
            if tally["exit"] != nil { complaints.append("\(directive.text) after the exit") }
            note(directive)
            let kind = directive.kind
            pending.insert(kind)
            tally[kind, default: 0] += 1
            if !["wake", "countTransmissions", "stop"].contains(kind), tally[kind] != 1 { complaints.append("\(kind) twice") }
        }
    }

    private mutating func note(_ directive: HostedCoordinatorMachine.Directive) {
        switch directive {
        case .start:
            if isEndRequested { complaints.append("a start after an end was requested") }
            isAlive = true
        case .tellReady: if tally["closeRuntime"] != nil { complaints.append("ready is told after the end") }
        case .tellStartFailed: if tally["tellReady"] != nil { complaints.append("a start has succeeded and failed") }
        case .stop(let grace, let drains):
            if tally["start"] == nil { complaints.append("a stop without a start") }
            if drains, tally["tellReady"] == nil { complaints.append("a start drains") }
            note(grace)
        case .closeRuntime: if isAlive { complaints.append("the runtime is closed under a coordinator") }
        case .tellEnd(let reason):
            if tally["start"] != nil, tally["tellReady"] == nil, tally["tellStartFailed"] == nil, !isEndRequested {
                complaints.append("an end without a beginning")
            }
            endTold = "\(reason)"
        case .countTransmissions: if tally["tellEnd"] == nil { complaints.append("the parent is waited for before it was told") }
        case .wake(let time):
            if time < now { complaints.append("a wake in the past") }
            wake = time
        case .exit(let reason): if endTold != "\(reason)" { complaints.append("exits for \(reason), and told \(endTold ?? "nothing")") }
        }
    }

    private mutating func note(_ grace: Duration?) {
        let time = grace.map { now + $0 }
        if let deadline, time.map({ $0 >= deadline }) ?? true { complaints.append("a stop that isn't sooner") }
        deadline = time
    }
}

extension HostedCoordinatorMachine.Directive {
    fileprivate var kind: String { String(text.prefix { $0 != " " }) }

    fileprivate var text: String {
        switch self {
        case .start: "start"
        case .tellReady: "tellReady"
        case .tellStartFailed(let error): "tellStartFailed \(error)"
        case .stop(let grace, let drains): "stop \(grace.map { "\($0)" } ?? "forever")\(drains ? ", draining" : "")"
        case .closeRuntime: "closeRuntime"
        case .tellEnd(let reason): "tellEnd \(reason)"
        case .countTransmissions: "countTransmissions"
        case .wake(let time): "wake \(time)"
        case .exit(let reason): "exit \(reason)"
        }
    }
}
