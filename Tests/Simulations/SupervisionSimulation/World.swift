import SimulationSupport
import Supervision

/// A tree of supervisors and what they supervise, in a time of its own.
///
/// All random numbers depend on the seed, the path and the incarnation alone: a step more or less changes nothing else.
package final class World: SimulatedWorld {
    package static let flag = "--trees"

    /// The life of a child.
    struct Life {
        enum Phase {
            case starting, ready
            /// The life is over, or ending, and its supervisor has not been told.
            case gone
            /// The life's supervisor has been told, or is gone itself.
            case reported
        }

        let place: Place
        /// The number of the supervisor's life.
        let supervisor: Int
        let incarnation: Incarnation
        /// The seed of the random numbers that concern this life.
        let seed: UInt64
        var phase = Phase.starting
        var isHung = false
        var stop: Shutdown?
        /// The reason for which the life ended; nil before its end.
        var reason: ExitReason?
        var failedToStart = false
        /// The number of the supervisor's life that this life is; nil if the child isn't a supervisor.
        var hosted: Int?
    }

    /// The life of a supervisor.
    struct Group {
        let number: Int
        let seed: UInt64
        /// The life that the supervisor is to its own supervisor; nil for the root.
        let life: Int?
        /// The number of the root's life that this is or belongs to; the root has no incarnations.
        let rootLife: Int
        var watched: Watched
        /// Whether the supervisor has ended, or was killed: it receives no event any more.
        var isGone = false
        /// The number of lives under the supervisor that are not reported.
        var openLives = 0
        var wake: Duration?
        var escalations = 0
    }

    enum Item {
        case step(Int)
        case boot(group: Int, slot: Int, ChildSpecification)
        case ready(Int)
        case end(Int, ExitReason)
        case failStart(Int, ExitReason)
        case shutDown(Int)
        case kill(Int)
        case tell(Int)
        case wake(group: Int, Duration)
    }

    let scenario: Scenario
    /// Makes the mutation that stands between a supervisor and the world, anew for every life of every supervisor.
    private let mutation: (() -> Watched.Mutation)?
    private let recordsTrace: Bool
    /// The course of the run so far.
    package private(set) var trace: [String] = []
    /// The events that supervisors have heard of.
    package private(set) var events = 0

    var agenda = Agenda<Item>()
    var time = 0
    /// The time by which the clock has jumped ahead, in microseconds.
    var jumped = 0
    var groups: [Group] = []
    var lives: [Life] = []
    /// The life of each group that is not gone.
    var currentGroup: [Int?]
    /// The life at each place that is not reported.
    var currentLife: [[Int?]]
    var startsFailUntil: [[Int]]
    /// The highest incarnations of a path, from the root on.
    private var highest: [[[Incarnation]]]

    /// An agenda that is longer than this belongs to a world that never comes to rest.
    private static let mostEvents = 20_000

    /// Creates the world of a scenario, with mutated supervisors or real ones.
    package init(_ scenario: Scenario, _ mutation: (() -> Watched.Mutation)?, recordsTrace: Bool) {
        self.scenario = scenario
        self.recordsTrace = recordsTrace
        self.mutation = mutation
        let slots = Place.ids.count
        currentGroup = Array(repeating: nil, count: scenario.groups.count)
        currentLife = Array(repeating: Array(repeating: nil, count: slots), count: scenario.groups.count)
        startsFailUntil = Array(repeating: Array(repeating: -1, count: slots), count: scenario.groups.count)
        highest = Array(repeating: Array(repeating: [], count: slots), count: scenario.groups.count)
        trace.reserveCapacity(recordsTrace ? 1_000 : 0)
    }

    var now: Duration { .microseconds(1_000_000_000 + time + jumped) }

    // MARK: - The course of the world

    /// Lets everything happen, waits for rest, and brings the world to its end.
    package func run() throws(Violation) {
        bringUp(group: 0, for: nil, seed: scenario.seed)
        for (index, step) in scenario.steps.enumerated() {
            if case .has = step.action { continue }
            agenda.add(.step(index), at: step.time)
        }
        try runUntilRest()
        try checkRest()
        if let root = currentGroup[0] {
            note { "the end" }
            try send(.shutdownRequested(.shutdown), to: root)
            try runUntilRest()
        }
        try checkEnd()
    }

    private func runUntilRest() throws(Violation) {
        let most = events + Self.mostEvents
        while let (time, item) = agenda.next() {
            self.time = max(self.time, time)
            guard events < most else { throw Violation(.quiescence, "no rest after \(Self.mostEvents) events") }
            try happen(item)
        }
    }

    /// Checks that, when nothing happens any more, every child that lives is ready, and none waits for anything.
    private func checkRest() throws(Violation) {
        for group in groups where !group.isGone {
            let path = scenario.groups[group.number].path
            for (specification, state) in group.watched.supervisor.children {
                switch state {
                case .running, .stopped: break
                case .starting, .stopping, .waiting: throw Violation(.quiescence, "\(path)/\(specification.id) is \(state) for ever")
                }
            }
        }
        for life in lives where life.phase != .reported && life.phase != .ready {
            throw Violation(.quiescence, "\(scenario.path(life.place)) \(life.incarnation) is \(life.phase) for ever")
        }
    }

    private func checkEnd() throws(Violation) {
        for group in groups {
            let path = scenario.groups[group.number].path
            guard group.isGone else { throw Violation(.quiescence, "\(path) has not ended") }
            guard group.openLives == 0 else { throw Violation(.noLeak, "\(group.openLives) children of \(path) live on") }
            guard group.watched.checker.isOver else { continue }
            let supervisor = group.watched.supervisor
            guard ChildState.Kind.allCases.allSatisfy({ $0 == .stopped || supervisor.count(in: $0) == 0 }) else {
                throw Violation(.noLeak, "\(path) has ended, and in its table are \(supervisor.children.map(\.state))")
            }
            let expected = group.watched.checker.hasEscalated ? 1 : 0
            guard group.life == nil || group.escalations == expected else {
                throw Violation(.escalation, "\(path) told its parent \(group.escalations) times that it has given up, not \(expected)")
            }
        }
        for life in lives where life.phase != .reported {
            throw Violation(.noLeak, "\(scenario.path(life.place)) \(life.incarnation) is \(life.phase) after the end")
        }
    }

    // MARK: - Talking to supervisors

    /// Lets a supervisor hear of an event, and begins to do what it says.
    func send(_ event: Supervisor.Event, to number: Int) throws(Violation) {
        guard !groups[number].isGone else { return }
        events += 1
        if case .timePassed = event { groups[number].wake = nil }
        note { "\(scenario.groups[groups[number].number].path) ← \(event)" }
        var answer: [Supervisor.Directive] = []
        do throws(Violation) {
            try groups[number].watched.handle(event, now: now, answer: &answer)
        } catch {
            for directive in answer { note { "    → \(directive)" } }
            throw Violation(error.invariant, "\(scenario.groups[groups[number].number].path) at \(now): \(error.text)")
        }
        let crash = scenario.crash?.event == events ? scenario.crash : nil
        if crash?.isAfterDirectives == false { return crashed(number) }
        for directive in answer {
            note { "    → \(directive)" }
            try carryOut(directive, of: number)
        }
        if crash != nil { crashed(number) }
    }

    func note(_ text: () -> String) {
        guard recordsTrace else { return }
        trace.append("\(Double(time + jumped) / 1_000) ms: \(Violation.plain(text()))")
    }

    /// Begins a supervisor's life, and with it the starts of its children.
    func bringUp(group: Int, for life: Int?, seed: UInt64) {
        let definition = scenario.groups[group]
        let number = groups.count
        groups.append(
            Group(
                number: group,
                seed: seed,
                life: life,
                rootLife: life.map { groups[lives[$0].supervisor].rootLife } ?? groups.count,
                watched: Watched(
                    definition.policy,
                    seed: seed,
                    isolatesFailures: life == nil && scenario.isolatesFailuresAtRoot,
                    mutation: mutation?()
                )
            )
        )
        currentGroup[group] = number
        var bootTime = time
        for step in scenario.steps {
            guard case .has(let place, let specification) = step.action else { break }
            guard place.group == group else { continue }
            agenda.add(.boot(group: number, slot: place.slot, specification), at: bootTime)
            bootTime += Int(SplitMix64.drawn(seed, 100 &+ UInt64(place.slot)) % 2_000)
        }
    }

    /// Returns a life's incarnation with those of the supervisors above it, root first, which have to grow whenever a path lives again.
    func lineage(of supervisor: Int, _ incarnation: Incarnation) -> [Incarnation] {
        guard let life = groups[supervisor].life else { return [Incarnation(groups[supervisor].rootLife), incarnation] }
        return lineage(of: lives[life].supervisor, lives[life].incarnation) + [incarnation]
    }

    func checkLineage(_ place: Place, _ supervisor: Int, _ incarnation: Incarnation) throws(Violation) {
        if let life = currentLife[place.group][place.slot] {
            throw Violation(.oneLife, "\(scenario.path(place)) lives a second time, besides \(lives[life].incarnation)")
        }
        let lineage = lineage(of: supervisor, incarnation)
        guard highest[place.group][place.slot].lexicographicallyPrecedes(lineage) else {
            throw Violation(.incarnationsGrow, "\(scenario.path(place)) \(lineage) after \(highest[place.group][place.slot])")
        }
        highest[place.group][place.slot] = lineage
    }
}
