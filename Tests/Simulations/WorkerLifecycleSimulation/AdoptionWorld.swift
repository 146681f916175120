import SimulationSupport
import Supervision
import WorkerLifecycle

/// One root after the other in one directory, with the processes that they start.
///
/// Whatever may happen next in a root happens in an order that depends on the seed.
package final class AdoptionWorld: SimulatedWorld {
    package static let flag = "--adoptions"

    typealias Place = AdoptionMachine.Place

    struct Process {
        let path: [String]
        let incarnation: UInt32
        /// `nil`: a plain program, which dies with its root.
        let fingerprint: String?
        let isAdoptable: Bool
        var isAlive = true
        var isHung = false
    }

    /// What a root may do next.
    enum Deed: Hashable {
        case hear(Int)
        case endRollCall
        case begin([String])
        case proceed([String])
        case finishEnd(Int)
        case settle
    }

    /// A start that was requested.
    struct Start {
        let place: Place
        let beginning: AdoptionMachine.Beginning
        /// The process of the life, once there is one; a life in the root's own process has none.
        var process: Int?
        var lives = false
    }

    private let fault: AdoptionFault?
    private let recordsTrace: Bool
    private let scenario: AdoptionScenario
    package private(set) var trace: [String] = []
    package private(set) var events = 0
    private var chance: SplitMix64

    private var processes: [Process] = []
    private var places: [[String]: Place] = [["a"]: .here, ["b"]: .worker(fingerprint: "1"), ["a", "x"]: .worker(fingerprint: "1")]

    // The present root.
    private var machine = AdoptionMachine([:])
    private var deeds: Set<Deed> = []
    private var starts: [[String]: Start] = [:]
    private var answered: Set<Int> = []
    private var ending: Set<Int> = []
    /// The greatest incarnation of each path in the journals that the root has found.
    private var recorded: [[String]: UInt32] = [:]
    private var numbers: [[String]: UInt32] = [:]
    private var lastAdopted: Int?

    /// Creates the world of a scenario, with a fault planted in it or none.
    package init(_ scenario: AdoptionScenario, _ fault: AdoptionFault?, recordsTrace: Bool) {
        self.scenario = scenario
        self.fault = fault
        self.recordsTrace = recordsTrace
        chance = SplitMix64(seed: scenario.seed ^ 0xA)
    }

    private func note(_ text: @autoclosure () -> String) {
        if recordsTrace { trace.append(AdoptionViolation.plain(text())) }
    }

    package func run() throws(AdoptionViolation) {
        beginRoot()
        try goOn(.max)
        for step in scenario.steps {
            note("\(step.number): \(step.action)")
            switch step.action {
            case .replaceRoot(let changes):
                for change in changes { places[change.path] = change.place }
                // What the root had begun is left as it is at this moment.
                for index in processes.indices where processes[index].fingerprint == nil { processes[index].isAlive = false }
                beginRoot()
            case .kill(let path): try kill(path)
            case .hang(let path): if let index = living(at: path).first { processes[index].isHung = true }
            case .goOn: break
            }
            try goOn(Int.random(in: 0...chance.one(of: [2, 8, 100]), using: &chance))
        }
        try goOn(.max)
        try checkRest()
    }

    // MARK: - The root

    private func beginRoot() {
        var orphans: [Int: AdoptionMachine.Orphan] = [:]
        var ended: [[String]: UInt32] = [:]
        recorded = [:]
        // What the former root has seen end isn't in its journal any more.
        for (index, process) in processes.enumerated() where process.isAdoptable {
            guard process.isAlive || starts[process.path]?.process == index else { continue }
            recorded[process.path] = max(recorded[process.path] ?? 0, process.incarnation)
            if process.isAlive {
                orphans[index] = .init(path: process.path, incarnation: process.incarnation, fingerprint: process.fingerprint ?? "")
            } else {
                ended[process.path] = max(ended[process.path] ?? 0, process.incarnation)
            }
        }
        // A worker without a record is ended before anything is started.
        for index in processes.indices where processes[index].isAlive && !processes[index].isAdoptable { processes[index].isAlive = false }
        machine = AdoptionMachine(orphans, ended: ended)
        (starts, answered, ending, numbers, lastAdopted) = ([:], [], [], [:], nil)
        deeds = Set(orphans.keys.filter { !processes[$0].isHung }.map { .hear($0) } + [.endRollCall])
        note("a root begins, with \(orphans.count) orphans")
    }

    /// Lets the root do what it may do next, at most so many times.
    private func goOn(_ count: Int) throws(AdoptionViolation) {
        var left = count
        while left > 0, let deed = next() {
            left -= 1
            events += 1
            deeds.remove(deed)
            note("  \(deed)")
            switch deed {
            case .hear(let id): if processes[id].isAlive, !processes[id].isHung { answer(id) }
            case .endRollCall: endRollCall()
            case .begin(let path): try begin(path)
            case .proceed(let path): try proceed(path)
            case .finishEnd(let id): finishEnd(id)
            case .settle:
                let unclaimed = fault == .forgetsAnUnclaimed ? [] : machine.settle()
                end(unclaimed)
            }
        }
    }

    private func next() -> Deed? {
        let possible = deeds.filter { isPossible($0) }
        return possible.isEmpty ? nil : chance.one(of: possible.sorted { "\($0)" < "\($1)" })
    }

    private func isPossible(_ deed: Deed) -> Bool {
        switch deed {
        case .hear, .finishEnd: true
        // Every worker that can dial does so in time, and only then the tree begins.
        case .endRollCall: !deeds.contains { if case .hear = $0 { true } else { false } }
        case .begin(let path): path.count == 1 || starts[Array(path.dropLast())]?.lives == true
        case .proceed(let path): starts[path]?.beginning.waitsFor.allSatisfy { !ending.contains($0) } ?? false
        case .settle: !deeds.contains { if case .begin = $0 { true } else { false } }
        }
    }

    private func answer(_ id: Int) {
        machine.answer(id)
        answered.insert(id)
    }

    private func endRollCall() {
        let silent = machine.endRollCall()
        if fault != .forgetsASilent { end(silent) }
        for (path, place) in places {
            // A worker has its own children, which are none of the root's.
            if path.count > 1, places[Array(path.dropLast())] != .here { continue }
            _ = place
            deeds.insert(.begin(path))
        }
        deeds.insert(.settle)
    }

    private func begin(_ path: [String]) throws(AdoptionViolation) {
        guard let place = places[path] else { return }
        let fit = fit(for: path, place)
        var beginning = machine.claim(path, as: place)
        let ends = beginning.waitsFor
        switch fault {
        case .adoptsTwice:
            if case .worker = place, beginning.adopts == nil { beginning.adopts = lastAdopted }
        case .adoptsAnother:
            if case .worker = place, beginning.adopts == nil { beginning.adopts = ends.first { processes[$0].path == path } }
        case .adoptsNone:
            if let id = beginning.adopts {
                beginning.adopts = nil
                end([id])
            }
        case .spawnsBeside: beginning.waitsFor = []
        case .forgetsIncarnations: beginning.after = 0
        case .forgetsAnUnclaimed, .forgetsASilent, nil: break
        }
        lastAdopted = beginning.adopts ?? lastAdopted
        end(ends.filter { $0 != beginning.adopts })
        if let fit, beginning.adopts != fit { throw AdoptionViolation(.adopted, "worker \(fit) at \(path) isn't adopted") }
        numbers[path] = beginning.after
        starts[path] = Start(place: place, beginning: beginning)
        deeds.insert(.proceed(path))
    }

    /// Returns the worker that a start must adopt, by what this world knows.
    private func fit(for path: [String], _ place: Place) -> Int? {
        guard case .worker(let fingerprint?) = place else { return nil }
        let present = processes.indices.filter { processes[$0].path == path && processes[$0].isAlive && processes[$0].isAdoptable }
        guard let newest = present.max(by: { processes[$0].incarnation < processes[$1].incarnation }) else { return nil }
        return answered.contains(newest) && !ending.contains(newest) && processes[newest].fingerprint == fingerprint ? newest : nil
    }

    private func proceed(_ path: [String]) throws(AdoptionViolation) {
        guard let start = starts[path] else { return }
        starts[path]?.lives = true
        if let id = start.beginning.adopts {
            guard case .worker(let fingerprint) = start.place, processes[id].fingerprint == fingerprint, processes[id].path == path else {
                throw AdoptionViolation(.fingerprint, "worker \(id) is adopted at \(path) as \(start.place)")
            }
            if starts.values.contains(where: { $0.process == id }) { throw AdoptionViolation(.oneClaim, "worker \(id) has two starts") }
            machine.adopt(id)
            if processes[id].isAlive {
                numbers[path] = processes[id].incarnation
                starts[path]?.process = id
                return try checkOneLife(path)
            }
        }
        try spawn(path, start.place)
    }

    private func spawn(_ path: [String], _ place: Place) throws(AdoptionViolation) {
        let incarnation = (numbers[path] ?? 0) + 1
        numbers[path] = incarnation
        // A worker that was to be adopted and has just died leaves its number to its successor.
        let former = starts[path]?.beginning.adopts == nil ? recorded[path] ?? 0 : 0
        guard incarnation > former else { throw AdoptionViolation(.incarnation, "\(path) has incarnation \(incarnation) again") }
        switch place {
        case .here: starts[path]?.process = nil
        case .program: add(path, Process(path: path, incarnation: incarnation, fingerprint: nil, isAdoptable: false))
        case .worker(let fingerprint):
            add(path, Process(path: path, incarnation: incarnation, fingerprint: fingerprint ?? "-", isAdoptable: fingerprint != nil))
        }
        try checkOneLife(path)
    }

    private func add(_ path: [String], _ process: Process) {
        processes.append(process)
        starts[path]?.process = processes.count - 1
    }

    private func end(_ ids: [Int]) {
        for id in ids where ending.insert(id).inserted { deeds.insert(.finishEnd(id)) }
    }

    private func finishEnd(_ id: Int) {
        processes[id].isAlive = false
        ending.remove(id)
        machine.end(id)
    }

    // MARK: - What is done to processes

    private func kill(_ path: [String]) throws(AdoptionViolation) {
        guard let index = living(at: path).first else { return }
        processes[index].isAlive = false
        // The root notices the end of a process of its own, and starts the next.
        guard let start = starts[path], start.process == index else { return }
        recorded[path] = max(recorded[path] ?? 0, processes[index].incarnation)
        starts[path] = Start(place: start.place, beginning: AdoptionMachine.Beginning(), lives: true)
        if chance.oneIn(2) { try spawn(path, start.place) } else { starts[path]?.process = index }
    }

    private func living(at path: [String]) -> [Int] { processes.indices.filter { processes[$0].path == path && processes[$0].isAlive } }

    // MARK: - Checks

    private func checkOneLife(_ path: [String]) throws(AdoptionViolation) {
        let own = starts[path]?.process
        let isHere = starts[path]?.place == .here
        for (index, process) in processes.enumerated() where process.isAlive && index != own {
            let isInTheWay = isHere ? process.path == path : process.path.starts(with: path)
            if isInTheWay { throw AdoptionViolation(.oneLife, "\(path) begins, and worker \(index) lives at \(process.path)") }
        }
    }

    private func checkRest() throws(AdoptionViolation) {
        for (index, process) in processes.enumerated() where process.isAlive {
            guard starts[process.path]?.process == index else {
                throw AdoptionViolation(.forgotten, "worker \(index) at \(process.path) lives, and is no child of the root")
            }
        }
        for path in places.keys where path.count == 1 || places[Array(path.dropLast())] == .here {
            guard starts[path]?.lives == true else { throw AdoptionViolation(.forgotten, "\(path) isn't started") }
        }
    }
}
