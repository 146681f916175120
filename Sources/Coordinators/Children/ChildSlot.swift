import ConcurrencySupport
import Processes
import Supervision
import WireProtocol

/// The place of a key among a coordinator's children, which stays while lives come and go.
///
/// A ``ChildRegistration`` is what a request has asked for, and holds until the key is free again; an ``Occupant`` is the life that has it now.
/// The ``Phase`` says which of the two gets a message: the occupant while it's active, else the slot keeps it for the next one. Messages that
/// have waited go before all later ones, and what a lost link gives back goes before those.
struct ChildSlot {
    /// The phase of the present life, and whether messages go to it.
    enum Phase {
        /// There is no life, and the next one is decided upon: messages wait. `nextAttempt`: the time at which it begins, if not at once.
        /// Can transition to: starting, down.
        case vacant(nextAttempt: MonotonicTime?)
        /// A life begins: messages wait. Can transition to: held, exitedEarly, starting, vacant, down.
        case starting(Occupant)
        /// A life has begun, and has ended before the supervision machine was told of its start: messages wait.
        /// Can transition to: held, starting, vacant, down.
        indirect case exitedEarly(Occupant, ExitReason)
        /// The life has begun and gets no messages, because it can't be reached, is being replaced or has crashed: messages wait.
        /// Can transition to: flushing, starting, vacant, down.
        case held(Occupant)
        /// The messages that have waited are being delivered, before any new one. Can transition to: active, held, starting, vacant, down.
        case flushing(Occupant)
        /// Messages go to the host. Can transition to: held, draining, starting, vacant, down.
        case active(Occupant)
        /// The life finishes what it has taken, and no other follows: messages are refused. Can transition to: held, starting, vacant, down.
        case draining(Occupant)
        /// There is no life, and only a request begins one. Can transition to: vacant, starting.
        case down(isFailed: Bool)
    }

    /// A life that has begun, and whose end hasn't been reported.
    struct Occupant {
        let host: any ChildHost
        /// The time at which the life became ready; `nil` before that, and once it has crashed.
        var readySince: MonotonicTime?
    }

    /// The values that hold from one start of the key by a request to the next.
    struct ChildRegistration {
        /// The definition, which an operator or a file may change.
        var definition: ChildDefinition
        // Behind the definition, whose last word is half empty.
        let number: RegistrationNumber
    }

    /// A call that waits for the end of a life that was told to stop.
    struct Stop {
        /// The incarnation that was stopped: a late report about an earlier one isn't the answer.
        let incarnation: Incarnation
        let end: OneShot<Void>
    }

    /// The result that a call gets that waits for the end.
    struct Outcome {
        let end: End
        let result: Result<Answer, any Error>

        func tell() { end.settle(result) }
    }

    typealias Start = OneShot<Result<Void, any Error>>
    typealias End = OneShot<Result<Answer, any Error>>

    var registration: ChildRegistration
    var phase = Phase.vacant(nextAttempt: nil)
    /// The reasons why the child is paused, which are kept through restarts.
    var pauseReasons: PauseReasons = []
    /// The side that has asked for the start; `nil`: supervision itself has decided.
    var startInitiator: Initiator?
    /// The number of the latest life.
    var incarnation: Incarnation = 0
    /// The state that few children have, stored apart so that the slots of the others are small.
    private(set) var storedRecord = LazyStorage<Record>()

    init(_ registration: ChildRegistration) { self.registration = registration }

    /// The calls that wait for the child to be ready.
    var starts: [Start] { storedRecord.existing?.value.starts ?? [] }

    /// Adds a call that waits for the child to be ready.
    mutating func awaitStart() -> Start {
        let start = Start()
        record.starts.append(start)
        return start
    }

    /// Removes and returns the calls that wait for the child to be ready.
    mutating func takeStarts() -> [Start] {
        if storedRecord.isEmpty { return [] }
        defer { record.starts = [] }
        return record.starts
    }

    /// Adds a call that stops the life, and waits for its end.
    mutating func awaitStop(_ stop: Stop, by initiator: Initiator) {
        func add(to record: inout Record) {
            record.stops.append(stop)
            record.stopInitiator = initiator
        }
        add(to: &record)
    }

    /// Notes that a life is told to stop; of several times the first one counts.
    mutating func noteStop(of incarnation: Incarnation, at time: MonotonicTime) {
        guard self.incarnation == incarnation, storedRecord.existing?.value.stoppingSince == nil else { return }
        record.stoppingSince = time
    }

    /// Ends all calls and messages that wait for the slot, which was removed.
    func settle(with error: CoordinatorError) {
        let record = record
        let failure = record.lastError ?? error
        for start in record.starts { start.settle(record.output == nil ? .failure(failure) : .success(())) }
        for end in record.ends { end.settle(record.output.map { .success($0) } ?? .failure(failure)) }
        for stop in record.stops { stop.end.settle(()) }
        for wait in record.endWaits { wait.settle(.asWanted) }
        for message in record.parking.messages { message.envelope.end(.failure(error)) }
    }
}

extension ChildSlot.Phase {
    var life: ChildSlot.Occupant? {
        switch self {
        case .starting(let life), .exitedEarly(let life, _), .held(let life), .flushing(let life), .active(let life), .draining(let life):
            life
        case .vacant, .down: nil
        }
    }

    /// Whether messages and requests with this deadline wait for the next life, or for the present one to take them.
    func isBetweenLives(until deadline: MonotonicTime?) -> Bool {
        switch self {
        case .vacant(nextAttempt: nil), .starting, .exitedEarly, .held: true
        case .vacant(let nextAttempt?): deadline.map { nextAttempt <= $0 } ?? true
        case .flushing, .active, .draining, .down: false
        }
    }

    /// Whether the next life begins later than the deadline.
    func isVacant(beyond deadline: MonotonicTime?) -> Bool {
        if case .vacant = self { !isBetweenLives(until: deadline) } else { false }
    }

    /// Holds back messages from the life from now on; without a life, the next one begins at once.
    mutating func hold() {
        switch self {
        case .starting, .exitedEarly, .held: break
        case .flushing(let life), .active(let life), .draining(let life): self = .held(life)
        case .vacant, .down: self = .vacant(nextAttempt: nil)
        }
    }

    /// Refuses messages from now on, because the life that takes them is to end.
    mutating func drain() {
        switch self {
        case .active(let life), .flushing(let life): self = .draining(life)
        case .vacant, .starting, .exitedEarly, .held, .draining, .down: break
        }
    }

    /// Does the same as ``hold()``, for a life that isn't ready any more.
    mutating func holdUnready() {
        hold()
        if case .held(let life) = self { self = .held(ChildSlot.Occupant(host: life.host)) }
    }
}

// MARK: - Transitions

extension ChildSlot {
    var definition: ChildDefinition { registration.definition }
    /// Whether a child that has crashed isn't restarted, although its rules don't call that end final.
    func isNotRestarted(after reason: ExitReason) -> Bool {
        let rules = registration.definition.specification
        return rules.restart == .temporary && !rules.isFinal(reason)
    }

    /// The present life's host, also while it starts and while it stops.
    var host: (any ChildHost)? { phase.life?.host }

    /// Begins a new registration: nothing of the former one counts, although its life may still be stopping.
    mutating func renew(pausedFor reasons: PauseReasons, by initiator: Initiator) {
        pauseReasons = reasons
        startInitiator = initiator
        if !storedRecord.isEmpty {
            record.output = nil
            record.lastError = nil
            (record.ends, record.isRun, record.isRetired) = ([], false, false)
        }
        phase.hold()
    }

    struct Begun {
        let earlyExit: ExitReason?
        let spares: SparePool?
    }

    /// Notes that the machine is told that the life has begun; messages wait until the machine has reported that.
    mutating func begun(_ incarnation: Incarnation) -> Begun? {
        guard self.incarnation == incarnation else { return nil }
        switch phase {
        case .starting(let life):
            phase = .held(life)
            return Begun(earlyExit: nil, spares: record.spares)
        case .exitedEarly(let life, let reason):
            phase = .held(life)
            return Begun(earlyExit: reason, spares: record.spares)
        case .vacant, .held, .flushing, .active, .draining, .down: return nil
        }
    }

    /// Decides what becomes of a message for the child.
    mutating func accept(_ message: ParkedMessage, at path: CoordinatorPath) -> ChildSupervisor.Delivery {
        switch phase {
        case .active(let life):
            let isTracked = storedRecord.existing?.value.tracksDeliveries ?? false
            if isTracked { record.deliveries += 1 }
            return .delivered(to: life.host, isTracked: isTracked)
        case .draining(let life):
            return message.envelope.isBuiltin
                ? .delivered(to: life.host, isTracked: false) : .refused(CoordinatorError.drains(path))
        case .held where record.isRetired: return .gone
        case .vacant where phase.isVacant(beyond: message.envelope.deadline): return .refused(.restartsLate(path))
        case .starting, .exitedEarly, .held, .flushing, .vacant: break
        case .down(let isFailed):
            guard isFailed else { return .refused(.hasStopped(path)) }
            let cause = record.lastExit.map { ": \($0)" } ?? ""
            return .refused(CoordinatorError(.failed, "\(path) has failed, and isn't restarted any more\(cause)"))
        }
        if record.parking.park(message) { return .parked }
        return .refused(CoordinatorError(.mailboxFull, "as many messages, or bytes of them, wait for \(path) as may"))
    }

    /// Removes and returns the messages to be delivered next, unless a thread delivers already; without any, messages go to the host from
    /// now on.
    mutating func takeParked() -> (any ChildHost, [ParkedMessage])? {
        guard case .flushing(let life) = phase, !record.parking.isBeingDelivered else { return nil }
        guard !record.parking.messages.isEmpty else {
            phase = .active(life)
            return nil
        }
        let messages = record.parking.removeAll()
        record.parking.isBeingDelivered = true
        return (life.host, messages)
    }
}

// MARK: - What few children have

extension ChildSlot {
    /// The parts of a slot that are empty for a child that was started once and runs, and that has no observers.
    struct Record: Emptiable {
        /// The calls that wait for the child to be ready.
        var starts: [Start] = []
        var restarts = 0
        /// The number of lives that were killed, or abandoned, because they didn't stop in time.
        var forcedKills = 0
        /// The number of restarts in a row that the present life is.
        var attempt = 0
        var lastExit: ExitReason?
        var lastError: (any Error)?
        /// The output with which the present life has finished.
        var output: Answer?
        /// The calls that wait for the end of the life that was told to stop, whatever comes after it.
        var stops: [Stop] = []
        var stopInitiator: Initiator?
        /// The time at which the life was told to stop first; `nil` unless it is stopping.
        var stoppingSince: MonotonicTime?
        /// The calls that wait for the child's end for good.
        var ends: [End] = []
        /// Whether the child was started by such a call: it's stopped when none is left.
        var isRun = false
        /// The requests that watch the present life, until they end.
        var watchers: [ObjectIdentifier: Envelope] = [:]
        var parking = MessageParking<ParkedMessage>()
        /// The lock under which pauses and resumes of the child come one after the other; made for the first of them.
        var pauseTurn: AsyncLock?
        /// The lock under which changes of the configuration come one after the other; made for the first of them.
        var configurationTurn: AsyncLock?
        var observers = ChildObservers()
        /// Whether deliveries are counted, because the child ends by itself when it has nothing to do.
        var tracksDeliveries = false
        /// The number of messages that are being handed to the host.
        var deliveries = 0
        /// Whether the child is removed because it had nothing to do: it gets no message any more.
        var isRetired = false
        /// The processes that wait to become the next life.
        var spares: SparePool?
        /// The planned handover to the next life, until that has ended the wait for it.
        var handover: Handover?
        /// Whether an operator has had the present life's process killed.
        var isKilled = false
        /// The way in which the latest life that is over has ended.
        var lastEnd: (incarnation: Incarnation, way: IncarnationEnd)?
        /// The waits until it's known how the present life has ended.
        var endWaits: [OneShot<IncarnationEnd>] = []

        var isEmpty: Bool { starts.isEmpty && isEmptyButForStarts }

        var isEmptyButForStarts: Bool {
            restarts == 0 && forcedKills == 0 && lastExit == nil && lastError == nil && output == nil && stops.isEmpty
                && stopInitiator == nil && stoppingSince == nil && ends.isEmpty && !isRun && !tracksDeliveries
                && watchers.isEmpty && !parking.isBusy && pauseTurn == nil && configurationTurn == nil && observers.isEmpty
                && spares == nil && handover == nil && !isKilled && lastEnd == nil && endWaits.isEmpty
        }
    }

    var record: Record {
        _read { yield storedRecord.value }
        _modify { yield &storedRecord.value }
    }

    // What is asked of each child, most of which have no record: without a copy of the record, nor of an empty one.

    var observers: [ChildObservers.Observer] { storedRecord.existing?.value.observers.all ?? [] }

    var hasParked: Bool { storedRecord.existing?.value.parking.isBusy ?? false }

    var hasSpares: Bool { storedRecord.existing?.value.spares != nil }

    /// Whether the child was started by a call that waits for its end.
    var isRun: Bool { storedRecord.existing?.value.isRun ?? false }

    /// The number of restarts in a row that the present life is.
    var attempt: Int { storedRecord.existing?.value.attempt ?? 0 }

    /// The output with which the present life has finished.
    var output: Answer? { storedRecord.existing?.value.output }

    /// The planned handover to the next life.
    var handover: Handover? { storedRecord.existing?.value.handover }

    /// Changes the slot and its record together, so that the record is moved only once.
    mutating func withRecord<Result>(_ change: (inout ChildSlot, inout Record) -> Result) -> Result {
        var taken = storedRecord
        storedRecord = LazyStorage()
        defer { storedRecord = taken }
        return change(&self, &taken.value)
    }
}

extension ChildSlot.Record {
    /// Notes the end of a life, before what was asked of it is forgotten.
    ///
    /// - Returns: The waits for it, and what they wait for.
    mutating func note(endOf incarnation: Incarnation, _ reason: ExitReason) -> (waits: [OneShot<IncarnationEnd>], way: IncarnationEnd) {
        // A report about a life whose end was reported already, such as that its child is given up.
        if let lastEnd, lastEnd.incarnation == incarnation { return ([], lastEnd.way) }
        let isWanted = stoppingSince != nil || isKilled || output != nil || reason == .shutdown || reason == .normal
        let way = isWanted ? IncarnationEnd.asWanted : .byItself
        if reason.isForced { forcedKills += 1 }
        defer { (lastEnd, endWaits, isKilled) = ((incarnation, way), [], false) }
        return (endWaits, way)
    }

    /// Removes and returns the calls that wait for the end, with their outcomes.
    mutating func takeEnds(otherwise error: CoordinatorError) -> [ChildSlot.Outcome] {
        let result: Result<Answer, any Error> = output.map { .success($0) } ?? .failure(lastError ?? error)
        defer { ends = [] }
        return ends.map { ChildSlot.Outcome(end: $0, result: result) }
    }
}

// MARK: - Description

extension ChildSlot {
    /// The number of restarts in a row with which a child is failing.
    static let failing = 3

    /// Returns the child's state as the operator sees it.
    func state(_ machine: ChildState?) -> CoordinatorState {
        switch machine {
        case .starting where record.attempt >= Self.failing: .failing
        case .starting: record.restarts > 0 ? .restarting : .starting
        case .running: pauseReasons.isEmpty ? .active : .paused
        case .stopping: .stopping
        case .waiting(_, let attempt): attempt >= Self.failing ? .failing : .restarting
        case .stopped, nil:
            switch phase {
            case .down(isFailed: true): .failed
            // The machine knows of the end of the life, which is about to be noted here: until then `lastExit` is that of a former one.
            case .held, .flushing, .active, .draining: .stopping
            case .vacant, .starting, .exitedEarly, .down(isFailed: false): .inactive
            }
        }
    }

    func snapshot(at path: CoordinatorPath, _ machine: ChildState?, now: MonotonicTime) -> CoordinatorSnapshot {
        let place: CoordinatorSnapshot.Host =
            switch definition.kind {
            case .program: .program
            case .coordinator: definition.isInWorker ? .worker : .inProcess
            }
        let next = machine?.nextStart
        let condition = host?.condition
        return CoordinatorSnapshot(
            path: path,
            type: definition.typeName,
            state: state(machine),
            host: place,
            processID: host?.process?.processID,
            processStartTime: host?.process?.startTime,
            incarnation: incarnation,
            restarts: record.restarts,
            forcedKills: record.forcedKills,
            restartAttempt: next?.attempt,
            nextStart: next.map { max(.zero, $0.time - now.sinceOrigin) },
            stopping: machine?.kind == .stopping ? record.stoppingSince.map { max(.zero, now - $0) } : nil,
            stopTimeout: machine?.kind == .stopping ? definition.specification.shutdown.grace : nil,
            uptime: phase.life?.readySince.map { now - $0 },
            lastExit: record.lastExit,
            mailbox: CoordinatorSnapshot.Mailbox(record.parking.place(.life)),
            statusText: condition?.status,
            health: condition?.health
        )
    }
}

extension ChildState {
    /// The time and the number of the next start, while the child waits for it.
    fileprivate var nextStart: (time: Duration, attempt: Int)? {
        if case .waiting(let time, let attempt) = self { (time, attempt) } else { nil }
    }
}

// MARK: - The slots of a coordinator

/// The slots of a coordinator's children, by key.
///
/// Each slot is in a box of its own and changed in place, because a table of a hundred thousand slots has as many empty places, which must
/// be small.
struct ChildSlots: Sendable {
    private struct Entry: Named, Sendable {
        let box: Box<ChildSlot>

        var name: String { box.value.registration.definition.key }
    }

    private var entries: [Entry] = []
    private var places = PlaceIndex<Entry>()
    /// The place that was looked for last: what follows is often about it, and needs no look-up.
    private let latest = Box<Int>(0)
    private var registrations: RegistrationNumber = 0

    /// Returns a copy of a slot; `nil` when there is none.
    subscript(key: String) -> ChildSlot? { box(key)?.value }

    func contains(_ key: String) -> Bool { box(key) != nil }

    /// Returns a slot as it stays in the table, for several changes of it under one lock; `nil` when there is none.
    ///
    /// It's never inlined: it's called from many places.
    @inline(never)
    func box(_ key: String) -> Box<ChildSlot>? {
        if latest.value < entries.count, entries[latest.value].name == key { return entries[latest.value].box }
        return box(HashedName(key))
    }

    func box(_ key: HashedName) -> Box<ChildSlot>? {
        guard let place = places.place(of: key, in: entries) else { return nil }
        latest.value = place
        return entries[place].box
    }

    /// Reads or changes a slot in place.
    ///
    /// - Returns: `nil` when there is none.
    func with<Result>(_ key: String, _ body: (inout ChildSlot) throws -> Result) rethrows -> Result? {
        guard let box = box(key) else { return nil }
        return try body(&box.value)
    }

    /// Gives a key to a child that is started by a request.
    ///
    /// - Parameters:
    ///   - key: The definition's.
    ///   - known: The key's slot, if it has one.
    /// - Returns: The slot, and as it was before; `nil` when there was none.
    mutating func register(
        _ definition: ChildDefinition,
        as key: HashedName,
        in known: Box<ChildSlot>?
    ) -> (Box<ChildSlot>, former: Box<ChildSlot>?) {
        registrations &+= 1
        let registration = ChildSlot.ChildRegistration(definition: definition, number: registrations)
        guard let known else {
            let box = Box(ChildSlot(registration))
            latest.value = entries.count
            entries.append(Entry(box: box))
            places.insert(key, at: entries.count - 1)
            return (box, nil)
        }
        let former = Box(known.value)
        known.value.registration = registration
        return (known, former)
    }

    /// Removes a slot; the last one takes its place.
    mutating func remove(_ key: String) -> Box<ChildSlot>? {
        guard let last = entries.last, let place = places.remove(key, in: entries) else { return nil }
        if place < entries.count - 1 { places.move(last.name, to: place, in: entries) }
        entries.swapAt(place, entries.count - 1)
        return entries.removeLast().box
    }

    mutating func removeAll() -> [ChildSlot] {
        defer { (entries, places) = ([], PlaceIndex()) }
        return entries.map(\.box.value)
    }
}
