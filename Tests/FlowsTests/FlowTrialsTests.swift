import ConcurrencySupport
import Flows
import TestSupport
import Testing

/// Worlds in which flows end their process, one life after the other, by a clock of milliseconds.
@Suite("Trials of flows whose work may have ended a process")
struct FlowTrialsTests {
    struct World: CustomTestStringConvertible {
        var name: String
        var flows: Int
        /// The flows whose work ends the process, with the time that it takes for that.
        var poison: [Int: Int] = [:]
        /// The time that the work of the others takes.
        var length = 1...1
        /// The time until a flow's coordinator is ready.
        var arrival = 0...0
        /// The time after which something else ends the process.
        var accident: Int?
        /// The time that a note takes.
        var note = 1
        var lives = 60

        var testDescription: String { name }
    }

    static let worlds: [World] = [
        World(name: "one among forty", flows: 40, poison: [3: 1]),
        World(name: "two at once", flows: 40, poison: [3: 1, 5: 1]),
        World(name: "five at once", flows: 40, poison: [1: 1, 7: 2, 9: 1, 21: 5, 39: 1], lives: 120),
        World(name: "one whose work takes longer than a trial", flows: 12, poison: [4: 300], length: 1_000...1_000),
        World(name: "one that takes its time among others that take theirs", flows: 30, poison: [7: 2_000], length: 10...4_000),
        World(name: "one among a thousand that come late", flows: 1_000, poison: [900: 5], length: 1...50, arrival: 0...3_000),
        World(name: "one that comes late itself", flows: 3, poison: [2: 1], arrival: 600...900),
        World(name: "slow notes", flows: 20, poison: [11: 3], length: 1...300, note: 400),
        World(name: "an accident at once", flows: 8, length: 1_000...1_000, accident: 50, lives: 40),
        World(name: "an accident a moment later", flows: 8, length: 1_000...1_000, accident: 150, lives: 40),
        World(name: "an accident, and one alone", flows: 1, length: 1_100...1_700, arrival: 0...400, accident: 610, note: 39, lives: 40),
        World(name: "an accident late", flows: 30, length: 500...5_000, accident: 1_300, lives: 40),
        World(name: "an accident, and work that is soon done", flows: 200, length: 1...30, arrival: 0...200, accident: 260, lives: 40),
    ]

    /// What happens in a life.
    private enum Event { case wants(Int), ends(Int), dies(Int?), passed(Int), noted(FlowTrials.Note) }

    @Test("The one that ends its process is found and parked, however late it does, and no other is", arguments: worlds)
    func survives(_ world: World) {
        check(world, seeds: rounds(short: 3, all: 10, long: 500))
    }

    @Test("So it is in worlds of all kinds")
    func random() {
        let seed = UInt64.random(in: .min ... .max)
        var chance = SeededGenerator(seed: seed)
        for number in 0..<rounds(short: 60, all: 300, long: 3_000) {
            var world = World(name: "", flows: Int.random(in: 1...80, using: &chance), lives: 150)
            let shortest = Int.random(in: 1...3_000, using: &chance)
            world.length = shortest...(shortest + Int.random(in: 0...3_000, using: &chance))
            world.arrival = 0...Int.random(in: 0...400, using: &chance)
            world.note = Int.random(in: 1...50, using: &chance)
            if number % 3 == 0 {
                (world.accident, world.lives) = (Int.random(in: 1...4_000, using: &chance), 60)
            } else {
                for _ in 0..<Int.random(in: 1...3, using: &chance) {
                    world.poison[Int.random(in: 0..<world.flows, using: &chance)] = Int.random(in: 1...4_000, using: &chance)
                }
            }
            world.name = "seed \(seed), number \(number): \(world)"
            check(world, seeds: 1)
        }
    }

    private func check(_ world: World, seeds: Int) {
        for seed in 0..<UInt64(seeds) {
            var chance = SeededGenerator(seed: seed)
            var left = Set(0..<world.flows)
            var interruptions = [Int: Int]()
            var parked: Set<Int> = []
            var note: FlowTrials.Note?
            var lives = 0
            var isCalm = false
            while !isCalm, lives < world.lives {
                lives += 1
                isCalm = live(world, &left, &interruptions, &parked, &note, &chance)
            }
            #expect(parked.isSubset(of: world.poison.keys), "\(world.name), seed \(seed), after \(lives) lives")
            #expect(
                world.accident != nil || isCalm && parked == Set(world.poison.keys),
                "\(world.name), seed \(seed): \(interruptions) after \(lives) lives"
            )
        }
    }

    /// - Returns: Whether the process comes to rest.
    private func live(
        _ world: World,
        _ left: inout Set<Int>,
        _ interruptions: inout [Int: Int],
        _ parked: inout Set<Int>,
        _ note: inout FlowTrials.Note?,
        _ chance: inout SeededGenerator
    ) -> Bool {
        let working = left.subtracting(parked).sorted()
        var trials = FlowTrials(after: note, working.map { FlowTrials.Work(key: "\($0)", isFirst: true) })
        note = trials?.note
        if let culprit = trials?.culprit.flatMap({ Int($0) }) {
            interruptions[culprit, default: 0] += 1
            if interruptions[culprit, default: 0] >= 3 { parked.insert(culprit) }
        }
        let again = Lock<[Int]>([])
        var (now, events) = (0, [(time: Int, event: Event)]())
        func add(_ event: Event, after time: Int) { events.append((now + time, event)) }
        func carryOut(_ effects: FlowTrials.Effects) {
            if let noted = effects.note { add(.noted(noted), after: world.note) }
            if let timer = effects.timer { add(.passed(timer.number), after: Int(timer.time / .milliseconds(1))) }
            if effects.isOver { trials = nil }
            for goOn in effects.goOn { goOn() }
        }
        for flow in working where !parked.contains(flow) { add(.wants(flow), after: Int.random(in: world.arrival, using: &chance)) }
        // The first process of a world with accidents dies by one, too.
        if let accident = world.accident { add(.dies(nil), after: accident) }
        while let next = events.indices.min(by: { events[$0].time < events[$1].time }) {
            let (time, event) = events.remove(at: next)
            now = time
            switch event {
            case .wants(let flow):
                if let (isAdmitted, effects) = trials?.admits("\(flow)", works: true, otherwise: { again.withLock { $0.append(flow) } }) {
                    carryOut(effects)
                    guard isAdmitted else { break }
                }
                if let delay = world.poison[flow] {
                    add(.dies(flow), after: delay)
                } else {
                    add(.ends(flow), after: Int.random(in: world.length, using: &chance))
                }
            case .ends(let flow):
                left.remove(flow)
                if let effects = trials?.hasEnded("\(flow)") { carryOut(effects) }
            case .passed(let number): if let effects = trials?.hasPassed(number) { carryOut(effects) }
            case .noted(let noted):
                note = noted
                if let effects = trials?.hasNoted() { carryOut(effects) }
            case .dies: return false
            }
            for flow in again.withLock({ flows in
                defer { flows = [] }; return flows
            }) { add(.wants(flow), after: 0) }
        }
        return true
    }
}
