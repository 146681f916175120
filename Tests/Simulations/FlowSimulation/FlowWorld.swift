import Flows
import SimulationSupport
import Supervision
import WireProtocol

/// Durable flows on stores of their own, the services that their pages use, and the messages between them.
///
/// The services and the order in which a life does its work are this world's; the record, with its inbox, is real.
package final class FlowWorld: SimulatedWorld {
    package static let flag = "--flows"

    /// What is on disk.
    struct Disk {
        var record: FlowRecord
        /// The opening of the store that may write.
        var opening: UInt64
    }

    /// A process that has opened the store of a flow.
    struct Life {
        let flow: Int
        let opening: UInt64
        var record: FlowRecord
        var isAlive = true
        /// Whether an attempt is under way.
        var isWorking = false
        /// The times at which messages have left and weren't answered yet.
        var left: [Message: Int] = [:]
        var nextNumber: UInt64 = 1
        let born: Int
        let bornWall: WallTime
    }

    /// The identity of a message.
    struct Message: Hashable {
        let origin: UInt64
        let number: UInt64
    }

    enum Event {
        case attemptEnds(life: Int, FlowRecord.Work, isKnown: Bool)
        case effect(key: String, isUndo: Bool)
        case arrives(Message, floor: UInt64, at: Int, FlowScenario.Request, from: Int?)
        case answer(Message, to: Int?)
        case begin(flow: Int)
    }

    /// What a service knows of a key.
    enum Effect { case done, undone }

    /// What a page does, the same at each attempt of a showing.
    enum Decision: Int, CaseIterable { case stay, show, showAndSend, finish, unwind, sendLater }

    private let scenario: FlowScenario
    private let fault: FlowFault?
    private let recordsTrace: Bool
    package private(set) var trace: [String] = []
    package private(set) var events = 0
    private var chance: SplitMix64
    private var agenda = Agenda<Event>()
    private var time = 1
    private var clockOffset = 1_000
    private var commits = 0
    private var openings: UInt64 = 0
    private var hasFaults = true

    private var disks: [Disk] = []
    private var lives: [Life] = []
    private var effects: [String: Effect] = [:]
    /// The keys under which a commit has said that there is work.
    private var begun: Set<String> = []
    private var sent: [Message: WallTime] = [:]
    private var cancelled: Set<Message> = []
    private var answered: Set<Message> = []
    /// The messages from outside that aren't answered, by the number of each.
    private var asks: [UInt64: (flow: Int, request: FlowScenario.Request)] = [:]
    private var askCount: UInt64 = 0
    private static let outside: UInt64 = 1_000_000

    /// Creates the world of a scenario, with a fault planted in it or none.
    package init(_ scenario: FlowScenario, _ fault: FlowFault?, recordsTrace: Bool) {
        (self.scenario, self.fault, self.recordsTrace) = (scenario, fault, recordsTrace)
        chance = SplitMix64(seed: SplitMix64.drawn(scenario.seed, 1))
    }

    private var wall: WallTime { WallTime(nanoseconds: Int64(time + clockOffset) * 1_000_000_000) }

    private func note(_ text: @autoclosure () -> String) { if recordsTrace { trace.append("\(time): \(text())") } }

    private func number(_ purpose: String) -> UInt64 {
        SplitMix64.drawn(scenario.seed, purpose.utf8.reduce(14_695_981_039_346_656_037) { ($0 ^ UInt64($1)) &* 1_099_511_628_211 })
    }

    // MARK: The course of the world

    /// Runs the world to its end.
    package func run() throws(FlowViolation) {
        for flow in 0..<FlowScenario.flows {
            let state = JSONText(.object([:]))
            let record = FlowRecord(
                type: "Flow",
                version: 1,
                id: UInt64(flow),
                configuration: .null,
                state: state,
                page: JSONText(.integer(0)),
                at: wall
            )
            disks.append(Disk(record: record, opening: 0))
            noteWork(of: record)
            begin(flow)
        }
        for step in scenario.steps {
            note("step \(scenario.describe(step))")
            try carryOut(step.action)
            try goOn(Int.random(in: 0...6, using: &chance))
        }
        hasFaults = false
        for round in 0..<400 {
            try goOn(10)
            for flow in disks.indices where round % 5 == 4 { try help(flow) }
            if disks.allSatisfy({ $0.record.isOver && $0.record.outgoing.isEmpty }), asks.isEmpty { return try checkEnd() }
        }
        throw FlowViolation(.ends, "\(disks.map(\.record.standing)), asks: \(asks.count)")
    }

    private func goOn(_ ticks: Int) throws(FlowViolation) {
        for _ in 0..<ticks {
            time += 1
            while let (_, event) = agenda.next(until: time) { try handle(event) }
            for life in lives.indices where lives[life].isAlive {
                try send(life)
                try work(life)
            }
            for (number, ask) in asks.sorted(by: { $0.key < $1.key }) where (UInt64(time) + number) % 7 == 0 {
                let message = Message(origin: Self.outside, number: number)
                post(.arrives(message, floor: asks.keys.min() ?? 1, at: ask.flow, ask.request, from: nil))
            }
        }
    }

    private func post(_ event: Event) { agenda.add(event, at: time + Int.random(in: 1...4, using: &chance)) }

    private func carryOut(_ action: FlowScenario.Action) throws(FlowViolation) {
        switch action {
        case .ask(let flow, let request):
            askCount += 1
            asks[askCount] = (flow, request)
        case .kill(let flow): for life in lives.indices where lives[life].flow == flow { end(life) }
        case .steal(let flow): begin(flow)
        case .setClock(let seconds): clockOffset += seconds
        case .retry(let flow): try change(flow) { $0.retry(at: wall) }
        case .skip(let flow):
            // An operator skips what is parked, or hangs, after a look at the service.
            guard let life = owner(of: flow), lives[life].record.parking != nil || lives[life].isWorking else { return }
            try skip(life)
        case .cancel(let flow): try change(flow) { $0.change(FlowRecord.Change([.unwind(because: "cancelled")]), at: wall) }
        case .goOn: break
        }
    }

    /// Does what an operator does about a flow that doesn't go on.
    private func help(_ flow: Int) throws(FlowViolation) {
        let record = disks[flow].record
        if record.parking != nil { return try carryOut(.retry(flow: flow)) }
        if record.work == nil, !record.isOver { try carryOut(.cancel(flow: flow)) }
    }

    /// The owner of a flow, to which operators turn.
    private func owner(of flow: Int) -> Int? {
        lives.indices.last { lives[$0].flow == flow && lives[$0].isAlive && isOwner($0) }
    }

    private func change(_ flow: Int, _ body: (inout FlowRecord) -> Void) throws(FlowViolation) {
        guard let life = owner(of: flow) else { return }
        var next = lives[life].record
        body(&next)
        _ = try commit(life, next)
    }

    private func skip(_ life: Int) throws(FlowViolation) {
        var next = lives[life].record
        var parked = next
        parked.retry(at: wall)
        guard let work = parked.work else { return }
        // The operator sees to it that the service has done, or undone, what the flow is told.
        let does = decision(key(of: work, life)) != .unwind
        if does { effects[key(of: work, life)] = isUndo(work) ? .undone : .done }
        next.skip(FlowRecord.Change(does ? [] : [.unwind(because: "skipped")]), at: wall)
        _ = try commit(life, next)
    }

    private func isUndo(_ work: FlowRecord.Work) -> Bool { if case .undo = work { true } else { false } }

    // MARK: Lives

    private func begin(_ flow: Int) {
        openings += 1
        disks[flow].opening = openings
        note("life \(lives.count) of \(flow)")
        var record = disks[flow].record
        record.interrupted(before: openings, limit: 5, at: wall)
        lives.append(Life(flow: flow, opening: openings, record: disks[flow].record, born: time, bornWall: wall))
        // Only a kill is an interruption, and only the first life knows none; the commit is like any other.
        if lives.count > FlowScenario.flows { _ = try? commit(lives.count - 1, record) }
    }

    private func end(_ life: Int) {
        guard lives[life].isAlive else { return }
        lives[life].isAlive = false
        note("life \(life) ends")
        // One that isn't the owner any more has a successor.
        if isOwner(life) { post(.begin(flow: lives[life].flow)) }
    }

    private func isOwner(_ life: Int) -> Bool { lives[life].opening == disks[lives[life].flow].opening }

    private func hasOwner(_ flow: Int) -> Bool { lives.indices.contains { lives[$0].flow == flow && lives[$0].isAlive && isOwner($0) } }

    private func noteWork(of record: FlowRecord) {
        for showing in record.showings where showing.phase != .waiting { begun.insert("\(record.id)/\(showing.number)") }
    }

    /// - Returns: Whether the life goes on with the record.
    private func commit(_ life: Int, _ next: FlowRecord, left: Message? = nil) throws(FlowViolation) -> Bool {
        guard lives[life].isAlive else { return false }
        commits += 1
        events += 1
        let flow = lives[life].flow
        let dies = hasFaults && scenario.death?.commit == commits
        if dies, scenario.death?.isAfter == false {
            end(life)
            return false
        }
        if !isOwner(life) {
            guard fault == .trustsAnyOwner else {
                end(life)
                return false
            }
            throw FlowViolation(.owner, "life \(life) has written after another has opened the store")
        }
        let former = disks[flow].record
        disks[flow].record = next
        lives[life].record = next
        note("commit \(commits) of \(life): \(next.standing), \(next.showings.map { "\($0.number)\($0.phase)\($0.isPopped ? "-" : "")" })")
        noteWork(of: next)
        let before = Set(former.outgoing.map(identity)), after = Set(next.outgoing.map(identity))
        for message in next.outgoing where !before.contains(identity(message)) { sent[identity(message)] = message.due }
        for message in before.subtracting(after) where message != left { cancelled.insert(message) }
        for (message, count) in next.state.value.objectValue ?? [:] where count != .integer(1) {
            throw FlowViolation(.once, "\(message) was handled \(count) times")
        }
        if dies {
            end(life)
            return false
        }
        return true
    }

    private func identity(_ message: FlowRecord.Outgoing) -> Message { Message(origin: message.origin, number: message.number) }

    private func handle(_ event: Event) throws(FlowViolation) {
        switch event {
        case .attemptEnds(let life, let work, let isKnown): try attemptEnds(life, work, isKnown)
        case .effect(let key, let isUndo): effect(key, isUndo)
        case .arrives(let message, let floor, let flow, let request, let sender):
            guard let life = lives.indices.last(where: { lives[$0].flow == flow && lives[$0].isAlive }) else { return }
            try take(message, floor, life, request, from: sender)
        case .answer(let message, let life):
            answered.insert(message)
            guard let life else { return asks[message.number] = nil }
            guard lives[life].isAlive else { return }
            var next = lives[life].record
            next.left(message.origin, message.number, at: wall)
            _ = try commit(life, next, left: message)
        case .begin(let flow): if !hasOwner(flow) { begin(flow) }
        }
    }

    // MARK: Pages

    private func key(of work: FlowRecord.Work, _ life: Int) -> String {
        let showing = work.showing
        let attempt = fault == .newKeys ? "/\(showing.failures)" : ""
        return "\(lives[life].flow)/\(showing.number)\(attempt)"
    }

    private func decision(_ key: String) -> Decision {
        let place = key.split(separator: "/").prefix(2).joined(separator: "/")
        // Short flows: a later page goes on less often.
        let all: [Decision] = [.stay, .show, .show, .showAndSend, .finish, .unwind, .sendLater]
        return all[Int(number("decision \(place)") % UInt64(all.count))]
    }

    /// The effect of an attempt at its service, which knows its key.
    private func effect(_ key: String, _ isUndo: Bool) {
        note("\(isUndo ? "undo" : "do") \(key)")
        if isUndo {
            if effects[key] == .done { effects[key] = .undone }
        } else if effects[key] == nil {
            effects[key] = .done
        }
    }

    private func chosenWork(_ record: FlowRecord) -> FlowRecord.Work? {
        guard let work = record.work else { return nil }
        switch (work, fault) {
        case (.perform(let showing), .undoesTheUnknown) where showing.isPopped: return .undo(showing)
        case (.undo, .undoesUpwards): return record.showings.first { $0.isPopped && $0.phase == .performed }.map { .undo($0) }
        default: return work
        }
    }

    private func work(_ life: Int) throws(FlowViolation) {
        let record = lives[life].record
        guard !lives[life].isWorking, let work = chosenWork(record), work.showing.resumption ?? .distantPast <= wall else { return }
        let showing = work.showing
        if fault == .dropsTheUnknown, case .perform = work, showing.isPopped {
            var next = record
            next.performed(showing.number, FlowRecord.Change([.unwind(because: "dropped")]), at: wall)
            _ = try commit(life, next)
            return
        }
        try begin(work, life)
    }

    private func begin(_ work: FlowRecord.Work, _ life: Int) throws(FlowViolation) {
        let (record, showing, key) = (lives[life].record, work.showing, key(of: work, life))
        lives[life].isWorking = true
        events += 1
        let doesNothing = decision(key) == .unwind
        switch work {
        case .undo:
            if effects[key] == nil { throw FlowViolation(.known, "\(key) is undone, and may not have been done") }
            if record.showings.contains(where: { $0.isPopped && $0.number > showing.number }) {
                throw FlowViolation(.order, "\(key) is undone before a page above it")
            }
        case .perform:
            let below = record.showings.prefix { $0.number < showing.number }
            let isInOrder = showing.isPopped || below.allSatisfy { $0.phase == .performed && !$0.isPopped }
            if !isInOrder || !showing.isPopped && record.showings.contains(where: \.isPopped) {
                throw FlowViolation(.order, "\(key) begins before those that come first")
            }
        }
        if !begun.contains("\(record.id)/\(showing.number)") { throw FlowViolation(.effects, "\(key) begins, and no commit says so") }
        let isKnown = !hasFaults || !chance.oneIn(3)
        let duration = Int.random(in: 1...4, using: &chance)
        if !doesNothing || isUndo(work) {
            // What isn't known may come later, or never.
            if isKnown {
                agenda.add(.effect(key: key, isUndo: isUndo(work)), at: time)
            } else if !chance.oneIn(3) {
                agenda.add(.effect(key: key, isUndo: isUndo(work)), at: time + Int.random(in: 1...15, using: &chance))
            }
        }
        agenda.add(.attemptEnds(life: life, work, isKnown: isKnown), at: time + duration)
    }

    private func attemptEnds(_ life: Int, _ work: FlowRecord.Work, _ isKnown: Bool) throws(FlowViolation) {
        lives[life].isWorking = false
        guard lives[life].isAlive else { return }
        let showing = work.showing
        var next = lives[life].record
        guard isKnown else {
            let isSkipped = !work.isSame(as: next.pending)
            let failed = fault == .failsWhatWasSkipped ? next.pending ?? work : work
            next.failed(failed, "no answer", at: wall) { $0 <= 3 ? wall + .seconds(1 << ($0 - 1)) : nil }
            if isSkipped, next != lives[life].record {
                throw FlowViolation(.order, "a failure at page \(showing.number) counts, which was skipped")
            }
            _ = try commit(life, next)
            return
        }
        switch work {
        case .perform:
            let change = change(after: showing, life)
            let current = next.showings.first { $0.number == showing.number }
            let isLeft = current?.isPopped != false || next.standing != .open
            let pages = next.pages.count
            next.performed(showing.number, change, at: wall)
            if isLeft, fault == .showsWhatWasLeft { next.change(change, at: wall) }
            if isLeft, next.pages.count > pages { throw FlowViolation(.order, "page \(showing.number) was popped, and has shown another") }
        case .undo:
            if fault == .undoesTheUnknown { next.performed(showing.number, FlowRecord.Change(), at: wall) }
            next.undone(showing.number, at: wall)
        }
        if fault == .beginsEarly, let early = next.work {
            let former = lives[life].record
            lives[life].record = next
            if early.showing.resumption == nil { try begin(early, life) }
            lives[life].record = former
        }
        _ = try commit(life, next)
    }

    private func change(after showing: FlowRecord.Showing, _ life: Int) -> FlowRecord.Change {
        let next = JSONValue.integer(Int64(showing.number))
        switch decision("\(lives[life].flow)/\(showing.number)") {
        case .stay: return FlowRecord.Change()
        case .show: return FlowRecord.Change([.show(JSONText(next))])
        case .showAndSend: return FlowRecord.Change([.send(message(life, .nothing, after: 0)), .show(JSONText(next))])
        case .finish: return FlowRecord.Change([.finish(next)])
        case .unwind: return FlowRecord.Change([.unwind(because: "declined")])
        case .sendLater: return FlowRecord.Change([.send(message(life, .show, after: 5))])
        }
    }

    // MARK: Messages

    private func message(_ life: Int, _ request: FlowScenario.Request, after seconds: Int) -> FlowRecord.Outgoing {
        defer { lives[life].nextNumber += 1 }
        let number = lives[life].nextNumber
        // Every other one goes to the flow itself.
        let target = number % 2 == 0 ? lives[life].flow : 1 - lives[life].flow
        let body: JSONValue = .array([.integer(Int64(target)), .string("\(request)")])
        return FlowRecord.Outgoing(
            origin: lives[life].opening,
            number: number,
            name: "\(request)",
            message: body,
            due: wall + .seconds(seconds)
        )
    }

    private func send(_ life: Int) throws(FlowViolation) {
        for entry in lives[life].record.outgoing {
            let message = identity(entry)
            let isDue: Bool =
                switch fault {
                case .countsByUptime: .seconds(time - lives[life].born) >= entry.due - lives[life].bornWall
                default: entry.departure <= wall
                }
            guard isDue, time - (lives[life].left[message] ?? -10) > 6 else { continue }
            if wall < entry.due, isOwner(life) {
                throw FlowViolation(.early, "\(message) is due at \(entry.due), and leaves at \(wall)")
            }
            lives[life].left[message] = time
            let target = Int(entry.message[0]?.integerValue ?? 0)
            let request = FlowScenario.Request.allCases.first { "\($0)" == entry.message[1]?.stringValue } ?? .nothing
            let floor = lives[life].record.outgoing.lazy.filter { $0.origin == message.origin }.map(\.number).min() ?? 1
            post(.arrives(message, floor: floor, at: target, request, from: life))
            guard fault == .dropsOutgoing else { continue }
            var next = lives[life].record
            next.left(message.origin, message.number, at: wall)
            guard try commit(life, next, left: message) else { return }
        }
    }

    private func take(
        _ message: Message,
        _ floor: UInt64,
        _ life: Int,
        _ request: FlowScenario.Request,
        from sender: Int?
    ) throws(FlowViolation) {
        var next = lives[life].record
        let isOwn = next.outgoing.contains { identity($0) == message }
        switch next.inbox.admission(message.origin, message.number) {
        case .known, .forgotten: return post(.answer(message, to: sender))
        case .full: return
        case .new: break
        }
        // A message of the flow's own that isn't there any more was handled.
        if !isOwn, let sender, lives[sender].flow == lives[life].flow { return }
        var state = next.state.value.objectValue ?? [:]
        let former = state["\(message)"]?.integerValue ?? 0
        state["\(message)"] = .integer(former + 1)
        next.change(FlowRecord.Change(state: JSONText(.object(state)), edits(request, life)), at: wall)
        if fault == .finishesEarly, case .finishing = next.standing, case .perform(let showing)? = next.work {
            next.performed(showing.number, FlowRecord.Change(), at: wall)
        }
        if fault == .answersEarly { post(.answer(message, to: sender)) }
        if fault == .takesLate, !isOwn { guard try commit(life, next) else { return } }
        if isOwn {
            next.left(message.origin, message.number, at: wall)
        } else {
            if fault != .forgetsTaken { next.took(message.origin, message.number, .null) }
            if fault != .remembersAll { next.forget(below: floor, of: message.origin) }
        }
        guard try commit(life, next, left: isOwn ? message : nil) else { return }
        if floor > 1, case .known = next.inbox.admission(message.origin, floor - 1) {
            throw FlowViolation(.forgotten, "a message below the floor \(floor) is remembered")
        }
        if !isOwn { post(.answer(message, to: sender)) } else if sender == nil { answered.insert(message) }
    }

    private func edits(_ request: FlowScenario.Request, _ life: Int) -> [FlowRecord.Edit] {
        switch request {
        case .show: [.show(JSONText(.integer(-1)))]
        case .pop: [.pop]
        case .unwind: [.unwind(because: "asked")]
        case .finish: [.finish(.null)]
        case .send: [.send(message(life, .nothing, after: 0))]
        case .sendLater: [.send(message(life, chance.one(of: [.pop, .show, .nothing]), after: Int.random(in: 1...30, using: &chance)))]
        case .cancelSent: [.cancel(["nothing", "pop"])]
        case .nothing: []
        }
    }

    // MARK: The end

    private func checkEnd() throws(FlowViolation) {
        let handled = Set(disks.flatMap { ($0.record.state.value.objectValue ?? [:]).keys })
        for (message, _) in sent where !cancelled.contains(message) && !handled.contains("\(message)") {
            throw FlowViolation(.handled, "\(message) was sent and never handled")
        }
        for message in answered where !handled.contains("\(message)") {
            throw FlowViolation(.handled, "\(message) was answered and never handled")
        }
        // What is on its way to the services arrives.
        while let (_, event) = agenda.next() { if case .effect(let key, let isUndo) = event { effect(key, isUndo) } }
        for (flow, disk) in disks.enumerated() {
            let standing = Set(disk.record.showings.filter { $0.phase == .performed }.map { "\(flow)/\($0.number)" })
            if case .unwound = disk.record.standing, !standing.isEmpty { throw FlowViolation(.effects, "unwound with \(standing)") }
            for (key, effect) in effects where key.hasPrefix("\(flow)/") && effect == .done && !standing.contains(key) {
                throw FlowViolation(.effects, "\(key) has been done, and the flow doesn't know: \(disk.record.standing)")
            }
            for key in standing where effects[key] != .done {
                throw FlowViolation(.effects, "\(key) is said to be done, and isn't: \(effects[key].map { "\($0)" } ?? "never")")
            }
        }
    }
}
