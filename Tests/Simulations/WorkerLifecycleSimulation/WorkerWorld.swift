import SimulationSupport
import Supervision
import WorkerLifecycle

/// A parent with one path, the processes that have its life or wait for it, and the kernel below them, in a time of their own.
///
/// All random numbers depend on the seed and on the number of the process alone: a step more or less changes nothing else about a process.
package final class WorkerWorld: SimulatedWorld {
    package static let flag = "--workers"

    enum Item {
        case step(Int)
        /// The parent goes on after a delay.
        case resume
        // What the parent does and hears; it waits while the parent is delayed.
        case event(host: Int, WorkerMachine.Event)
        case up(link: Int, Up)
        case perform(host: Int)
        case spawn(host: Int)
        case ticket(host: Int)
        case cleanedUp(host: Int)
        case wake(host: Int, Duration)
        case pool(SparePoolMachine.Event)
        case poolWake(Duration)
        case beginLife
        // What the workers and the kernel do.
        case down(link: Int, Down)
        case act(host: Int, Act)
        case signal(host: Int, isKill: Bool)
    }

    /// A frame that a worker sends, or the loss of its link.
    enum Up {
        case hello, pong, executorPong, ready, lost
        case startRefused
        case exited(ExitReason)
    }

    /// A frame that a worker is sent, or the loss of its link.
    enum Down {
        case welcome, start, ping, probe, farewell, lost
        case stop(WorkerMachine.Stop)
    }

    let scenario: WorkerScenario
    private let mutations: Mutations?
    private let recordsTrace: Bool
    package private(set) var trace: [String] = []
    /// The events that the machines have heard of.
    package private(set) var events = 0

    private var agenda = Agenda<Item>()
    private(set) var time = 0
    var hosts: [Host] = []
    var links: [Link] = []
    /// The tokens that are left for spawning.
    var bucket: TokenBucket

    // The pool.
    var pool: PoolSubject
    var poolChecker: PoolChecker
    private var poolWake: Duration?
    var hostOfSpare: [SparePoolMachine.SpareID: Int] = [:]

    // The parent.
    var isWanted = true
    var isPaused = false
    var current: Int?
    var lives = 0
    private var busyUntil = 0
    private var backlog: [Item] = []
    /// The time for which the parent has been delayed so far.
    private(set) var lateness = 0

    var spawnsFailUntil = 0
    var announcementsUntil = 0
    var nextTraits: Set<WorkerScenario.Trait> = []
    private(set) var isCalm = false

    /// More events than this belong to a world that never comes to rest.
    private static let mostEvents = 30_000

    /// Creates the world of a scenario, with faults planted in it or none.
    package init(_ scenario: WorkerScenario, _ mutations: Mutations?, recordsTrace: Bool) {
        self.scenario = scenario
        self.mutations = mutations
        self.recordsTrace = recordsTrace
        bucket = scenario.bucket
        pool = PoolSubject(machine: SparePoolMachine(target: scenario.spares), mutation: mutations?.pool?())
        poolChecker = PoolChecker(target: scenario.spares)
    }

    var now: Duration { Self.duration(time) }

    static func duration(_ time: Int) -> Duration { .microseconds(1_000_000_000 + time) }

    func note(_ text: () -> String) {
        guard recordsTrace else { return }
        trace.append("\(Double(time) / 1_000) ms: \(WorkerViolation.plain(text()))")
    }

    func add(_ item: Item, after delay: Int = 0) {
        agenda.add(item, at: time + delay)
    }

    func add(_ item: Item, at moment: Duration) {
        agenda.add(item, at: max(time, (moment - Self.duration(0)).wholeMicroseconds))
    }

    // MARK: - The course of the world

    /// Lets everything happen, waits until the world has recovered, and brings it to its end.
    package func run() throws(WorkerViolation) {
        add(.pool(.fillRequested(after: .zero)))
        add(.beginLife)
        for (index, step) in scenario.steps.enumerated() { agenda.add(.step(index), at: step.time) }
        try run(until: scenario.steps.last?.time ?? 0)
        note { "nothing hinders the world any more" }
        isCalm = true
        nextTraits = []
        try recover()
        note { "the life is stopped" }
        isWanted = false
        if let current { add(.event(host: current, .stopRequested(.timeout(.seconds(1))))) }
        try run(until: time + 75_000_000)
        try checkPool()
        note { "the pool is closed" }
        add(.pool(.closeRequested))
        try run(until: .max)
        try checkEnd()
    }

    /// Waits until the life is ready, a minute more for each process that behaves badly or hangs: such a spare may become the life in turn, and
    /// take a start's time and that of a silence until it's replaced.
    private func recover() throws(WorkerViolation) {
        let minutes = 1 + hosts.count { (!$0.traits.isEmpty || $0.worker.isHung) && $0.kernel != .confirmed }
        for minute in 1...minutes {
            try run(until: max(time, busyUntil) + 60_000_000)
            do throws(WorkerViolation) {
                return try checkLife()
            } catch {
                if minute == minutes { throw error }
            }
        }
    }

    private func run(until end: Int) throws(WorkerViolation) {
        while let (time, item) = agenda.next(until: end) {
            self.time = max(self.time, time)
            guard events < Self.mostEvents else { throw WorkerViolation(.quiescence, "no rest after \(Self.mostEvents) events") }
            try meet(item)
        }
        if end < .max { time = max(time, end) }
    }

    /// Lets something happen, or puts it off until the parent has time.
    private func meet(_ item: Item) throws(WorkerViolation) {
        switch item {
        case .resume:
            guard time >= busyUntil else { return }
            let due = backlog
            backlog = []
            for item in due { try happen(item) }
        case .event, .up, .perform, .spawn, .ticket, .cleanedUp, .wake, .pool, .poolWake, .beginLife:
            if busyUntil > time || !backlog.isEmpty { backlog.append(item) } else { try happen(item) }
        case .step, .down, .act, .signal:
            try happen(item)
        }
    }

    func delayParent(for duration: Int) {
        let until = time + duration
        guard until > busyUntil else { return }
        lateness += until - max(busyUntil, time)
        busyUntil = until
        add(.resume, after: duration)
    }

    private func happen(_ item: Item) throws(WorkerViolation) {
        switch item {
        case .resume: break
        case .step(let index): step(scenario.steps[index])
        case .event(let host, let event): try send(event, to: host)
        case .up(let link, let up): try hear(up, on: link)
        case .perform(let host): try perform(host)
        case .spawn(let host): try spawn(host)
        case .ticket(let host): try giveTicket(host)
        case .cleanedUp(let host):
            hosts[host].hasDescendants = false
            try send(.cleanedUp, to: host)
        case .wake(let host, let moment): if hosts[host].wake == moment { try send(.timePassed, to: host) }
        case .pool(let event): try send(event)
        case .poolWake(let moment): if poolWake == moment { try send(.timePassed) }
        case .beginLife: try beginLife()
        case .down(let link, let down): tell(down, on: link)
        case .act(let host, let act): self.act(act, host)
        case .signal(let host, let isKill): signal(host, isKill: isKill)
        }
    }

    // MARK: - Talking to the machines

    func makeHost(spare: SparePoolMachine.SpareID?) -> Int {
        let number = hosts.count
        let seed = SplitMix64.drawn(scenario.seed, UInt64(number))
        var traits = nextTraits
        nextTraits = []
        if scenario.rarity > 0, !isCalm {
            for (index, trait) in WorkerScenario.Trait.allCases.enumerated()
            where SplitMix64.drawn(seed, 1_000 + UInt64(index)) % UInt64(scenario.rarity) == 0 {
                traits.insert(trait)
            }
        }
        let subject = WorkerSubject(machine: WorkerMachine(limits: scenario.limits), mutation: mutations?.worker?())
        hosts.append(Host(seed: seed, spare: spare, traits: traits, subject: subject, checker: WorkerChecker(scenario.limits)))
        note { "worker \(number) is new" + (traits.isEmpty ? "" : ": \(traits.map { "\($0)" }.sorted().joined(separator: ", "))") }
        return number
    }

    /// Lets a machine hear of an event, and begins to do what it says.
    func send(_ event: WorkerMachine.Event, to host: Int) throws(WorkerViolation) {
        events += 1
        if case .timePassed = event { hosts[host].wake = nil }
        noteBound(event, host)
        note { "worker \(host) ← \(event)" }
        let directives = hosts[host].subject.handle(event, now: now)
        for directive in directives { note { "    → \(directive)" } }
        do throws(WorkerViolation) {
            try hosts[host].checker.enter(event, directives, now: now)
        } catch {
            throw WorkerViolation(error.invariant, "worker \(host) at \(now): \(error.text)")
        }
        hosts[host].queue.append(directives)
        if scenario.lag == 0 { try perform(host) } else { add(.perform(host: host), after: scenario.lag) }
    }

    /// Notes the time by which a stop has to end, according to its ladder.
    private func noteBound(_ event: WorkerMachine.Event, _ host: Int) {
        guard case .stopRequested(let shutdown) = event, let grace = shutdown.grace else { return }
        let ladder = (grace + min(grace, scenario.limits.termination)).wholeMicroseconds
        // The kernel's time, that of what is done about the end, and that of a process that isn't known above.
        let bound = time + ladder + 4_500_000 - lateness
        hosts[host].stopBound = min(hosts[host].stopBound ?? bound, bound)
    }

    private func perform(_ host: Int) throws(WorkerViolation) {
        guard !hosts[host].queue.isEmpty else { return }
        for directive in hosts[host].queue.removeFirst() { try carryOut(directive, of: host) }
    }

    /// Lets the pool hear of an event.
    func send(_ event: SparePoolMachine.Event) throws(WorkerViolation) {
        events += 1
        if case .timePassed = event { poolWake = nil }
        note { "pool ← \(event)" }
        let directives = pool.handle(event, now: now)
        for directive in directives { note { "    → \(directive)" } }
        do throws(WorkerViolation) {
            try poolChecker.enter(event, directives, now: now)
        } catch {
            throw WorkerViolation(error.invariant, "the pool at \(now): \(error.text)")
        }
        for directive in directives { try carryOut(directive) }
    }

    private func carryOut(_ directive: SparePoolMachine.Directive) throws(WorkerViolation) {
        switch directive {
        case .takeTurn(let id): add(.pool(.turnCame(id)), at: bucket.takeToken(now: now))
        case .launch(let id):
            let host = makeHost(spare: id)
            hostOfSpare[id] = host
            try send(.spareRequested, to: host)
        case .discard(let id): if let host = hostOfSpare[id] { add(.event(host: host, .discarded)) }
        case .wake(let moment):
            poolWake = moment
            add(.poolWake(moment), at: moment)
        case .closed:
            for host in hosts where host.spare != nil && !host.isTaken && host.kernel != .none && host.kernel != .confirmed {
                throw WorkerViolation(.closing, "a spare is there when the pool is closed")
            }
        }
    }

    // MARK: - Checks

    private func checkLife() throws(WorkerViolation) {
        // A life that ages is replaced for ever, and one that is stopped without a grace may take for ever.
        guard isWanted, scenario.limits.age == nil, let current else { return }
        let checker = hosts[current].checker
        guard checker.stop == nil || checker.stop?.end != nil else { return }
        guard checker.canBeReached, checker.order == .none else {
            throw WorkerViolation(.recovery, "worker \(current) isn't ready though nothing hinders it: \(checker.phase), \(checker.start)")
        }
    }

    private func checkPool() throws(WorkerViolation) {
        if let current { throw WorkerViolation(.stopEnds, "worker \(current) hasn't ended") }
        guard poolChecker.isClosing || poolChecker.idle.count == scenario.spares else {
            throw WorkerViolation(.recovery, "\(poolChecker.idle.count) of \(scenario.spares) spares")
        }
        for host in hosts.indices where hosts[host].kernel == .alive || hosts[host].kernel == .dead {
            guard let spare = hosts[host].spare, poolChecker.stages[spare] == .idle else {
                throw WorkerViolation(.noLeak, "worker \(host) is neither the life nor a spare, and lives")
            }
        }
    }

    private func checkEnd() throws(WorkerViolation) {
        guard poolChecker.isClosed else { throw WorkerViolation(.closing, "the pool hasn't been closed") }
        for (number, host) in hosts.enumerated() {
            guard host.kernel == .none || host.kernel == .confirmed, !host.hasDescendants else {
                throw WorkerViolation(.noLeak, "worker \(number) is \(host.kernel) after the end")
            }
            guard host.checker.told.gone else { throw WorkerViolation(.noLeak, "worker \(number) isn't told gone") }
        }
    }
}
