import Acknowledgement
package import ConcurrencySupport
package import Flows
import WireProtocol

/// The place where durable flows are kept.
///
///     await context.provide(\.flows, .sqlite(at: "/var/lib/shop/orders.sqlite"))
///
/// The coordinator that provides a store owns it: the keys of the flows are their paths below it. It opens the store, which no other process may have
/// open, and starts the flows that have something to do, each by the ``Coordinator/open(section:)`` of its parent. As long as it lives, flows below
/// another coordinator of the process that provides the store, too, are refused with `storeInUse`: they would have the same keys.
///
/// A store is a value of one process. A durable coordinator in a worker needs one that is provided in that worker.
public struct FlowStore: Sendable {
    let core: FlowStoreCore

    /// What keeps the rows.
    package var storage: any FlowStorage { core.storage }

    package init(_ storage: any FlowStorage) { core = FlowStoreCore(storage) }

    init(keeping core: FlowStoreCore) { self.core = core }

    /// A reference to a store that doesn't keep it.
    package struct Reference: Sendable {
        private weak let core: FlowStoreCore?

        package init(_ store: FlowStore) { core = store.core }

        /// The store, as long as somebody keeps it.
        package var store: FlowStore? { core.map { FlowStore(keeping: $0) } }
    }

    /// Creates a store in memory, for tests: it survives the coordinators, and not the process.
    public static func inMemory() -> FlowStore { FlowStore(MemoryFlowStorage()) }
}

extension DependencyKeys {
    /// The store of durable flows.
    public var flows: DependencyKey<FlowStore> { .init() }
}

/// What keeps the rows of a store.
///
/// One suite of tests, `FlowStoreContract`, runs on each kind.
package protocol FlowStorage: AnyObject, Sendable {
    /// Whether the rows lie on this machine alone.
    var isLocal: Bool { get }
    /// Opens the store for this process alone.
    ///
    /// - Throws: `storeInUse`, `storeCorrupt`.
    func open() async throws -> FlowOpening
    /// Notes what the next opening is to know if this process ends without closing the store; `nil`: nothing.
    func note(_ note: [UInt8]?) async throws
    /// Returns the row of a flow; `nil` if there is none.
    func row(of key: String) async throws -> FlowRow?
    /// Writes a row, if the one before has the number before; when it returns, that is on disk.
    ///
    /// - Parameter keepsPlace: Whether the row before has the same status and the same time of what is due.
    /// - Throws: `peerLost` when somebody else has written the row; `storeFull`, and nothing is written; what one of the writes throws.
    func commit(_ row: FlowRow, _ writes: [any Sendable], keepsPlace: Bool) async throws
    /// Deletes the rows of flows that are over, have nothing to send, and were changed last before a time.
    func forget(before time: WallTime) async throws
    /// Returns the keys of flows that have something to do by a time, the longest due first.
    func due(by time: WallTime) async throws -> [String]
    /// Returns the time of the row that is due next after a time.
    func nextDue(after time: WallTime) async throws -> WallTime?
    /// Returns the rows that are asked for, in the order of their keys.
    func rows(_ query: FlowQuery) async throws -> [FlowRow]
    /// Returns the numbers of the flows that aren't over, and of those that have something to do by a time.
    func summary(at time: WallTime) async throws -> FlowSummary
    /// Closes the store after all that was asked of it before; it can be opened again at once.
    ///
    /// - Returns: What is settled when it's closed.
    func close() -> OneShot<Void>
}

extension FlowStorage {
    package func commit(_ row: FlowRow, _ writes: [any Sendable]) async throws { try await commit(row, writes, keepsPlace: false) }

    /// Returns the rows of flows in the order of their keys.
    package func rows(after key: String?, limit: Int) async throws -> [FlowRow] {
        try await rows(FlowQuery(selection: nil, at: .distantPast, after: key, limit: limit))
    }

    /// Reads rows, as many at a time as the query says, until a function wants no more.
    ///
    /// - Parameter take: Takes a row, or returns false: nothing more is read then.
    /// - Returns: Whether all were taken.
    func scan(_ query: FlowQuery, _ take: (FlowRow) -> Bool) async throws -> Bool {
        var query = query
        while true {
            let rows = try await rows(query)
            for row in rows { guard take(row) else { return false } }
            guard rows.count == query.limit, let last = rows.last else { return true }
            query.after = last.key
        }
    }
}

/// The rows that are asked for of a store.
package struct FlowQuery: Sendable {
    /// The flows that are meant; `nil`: all.
    package let selection: FlowStore.Selection?
    /// The time at which flows have something to do, or not.
    package let time: WallTime
    /// The path to which the flows belong, or below which they are; `nil`: all.
    package let prefix: String?
    /// The key after which they begin; empty: all.
    package fileprivate(set) var after: String
    /// The number of rows at most.
    package let limit: Int

    package init(selection: FlowStore.Selection?, at time: WallTime, below prefix: String? = nil, after: String? = nil, limit: Int = 64) {
        (self.selection, self.time, self.prefix, self.after, self.limit) = (selection, time, prefix, after ?? "", limit)
    }

    /// Whether a row is one of those.
    func includes(_ row: FlowRow) -> Bool {
        guard after.precedes(row.key), prefix.map({ row.key == $0 || row.key.hasPrefix("\($0)/") }) ?? true else { return false }
        return switch selection {
        case nil: true
        case .parked: row.status == .parked
        case .due: row.due.map { $0 <= time } ?? false
        case .open: !row.isOver
        case .finished: row.isOver
        }
    }
}

/// The numbers of a store's flows.
package struct FlowSummary: Sendable, Hashable {
    /// The flows that aren't over, by status.
    package var counts: [FlowStore.Description.Status: Int] = [:]
    /// The number of flows that have something to do.
    package var due = 0
    /// The time from which on the first of them has had it.
    package var oldestDue: WallTime?

    package init() {}
}

/// An opening of a store.
package struct FlowOpening: Sendable, Hashable {
    /// A random number that no other opening has.
    package let origin: UInt64
    /// Whether the process that had it open before has ended without closing it.
    package let isAfterEnd: Bool
    /// What that process has noted.
    package let note: [UInt8]?
    /// The flow whose work has ended that process, if no other can have.
    package internal(set) var culprit: String?

    package init(origin: UInt64 = .random(in: 1 ... .max), isAfterEnd: Bool = false, note: [UInt8]? = nil) {
        (self.origin, self.isAfterEnd, self.note) = (origin, isAfterEnd, note)
    }
}

/// A flow as a store keeps it.
package struct FlowRow: Sendable, Hashable {
    /// The flow's path below the owner of the store.
    package let key: String
    /// The number of commits.
    package let sequence: UInt64
    package let status: FlowStore.Description.Status
    /// The time from which on it has something to do; `nil`: it waits.
    package let due: WallTime?
    package let changed: WallTime
    /// The record, as JSON.
    package let record: [UInt8]

    package init(key: String, sequence: UInt64, status: FlowStore.Description.Status, due: WallTime?, changed: WallTime, record: [UInt8]) {
        (self.key, self.sequence, self.status, self.due, self.changed, self.record) = (key, sequence, status, due, changed, record)
    }

    /// The number of the form of records, and of the tables that keep them.
    package static let form = FlowRecord.form
    /// The largest record.
    package static let limit = 256 << 10

    init(_ record: FlowRecord, key: String, sequence: UInt64) throws(CoordinatorError) {
        let bytes = record.text
        guard bytes.count <= Self.limit else {
            throw CoordinatorError(
                .storeFull,
                "\(key) would have \(bytes.count) bytes, and a flow may have \(Self.limit): keep what is large elsewhere, and its key in the flow"
            )
        }
        self.init(
            key: key,
            sequence: sequence,
            status: FlowStore.Description.Status(record),
            due: record.due,
            changed: record.changed,
            record: bytes
        )
    }

    /// Whether a flow keeps its place among the others by this row, after a record.
    func keepsPlace(of former: FlowRecord) -> Bool {
        sequence > 1 && status == FlowStore.Description.Status(former) && due == former.due
    }

    func decoded() throws(CoordinatorError) -> FlowRecord {
        do throws(CoordinatorError) {
            return try PayloadCoder.decode(FlowRecord.self, from: Bytes(record), codec: .json)
        } catch {
            throw CoordinatorError(.storeCorrupt, "the record of \(key) can't be read: \(error.message)")
        }
    }
}

/// What all flows of a store share in a process.
final class FlowStoreCore: Sendable {
    private struct State {
        var opening: FlowOpening?
        var numbers = FlowNumbers(from: 0)
        /// The flows that live, and see to themselves.
        var live: [String: any CoordinatorFlow] = [:]
        /// What starts the others.
        var waker: FlowWaker?
        /// The number of closings.
        var closings = 0
        /// The flows of which an attempt is under way, and what a later life of the flow does when it has ended.
        var attempts: [String: (@Sendable () -> Void)?] = [:]
        /// What must be tried before anything else is worked on.
        var trials: FlowTrials?
        /// Those who wait for the ends of flows.
        var waits: [String: [End]] = [:]
        /// The times that the latest commits have taken.
        var commits = LatestDurations()
        /// The numbers of flows that were known last, and the question for them that is under way.
        var summary: FlowSummary?
        var summing: SummaryQuestion?

        /// Returns whether trials let a flow work or send; `nil`: there are none.
        mutating func admits(
            _ key: String,
            works: Bool,
            in runtime: RuntimeCore,
            otherwise later: () -> @Sendable () -> Void
        ) -> (isAdmitted: Bool, effects: FlowTrials.Effects)? {
            // A time that a test moves may stand still.
            if runtime.time.virtual != nil { trials = nil }
            return trials?.admits(key, works: works, otherwise: later())
        }
    }

    /// A question for the numbers of flows, which all share who want them meanwhile.
    struct SummaryQuestion {
        let answer = OneShot<FlowSummary?>()
        let since: MonotonicTime
    }

    /// The latest of many durations.
    struct LatestDurations {
        private static let limit = 256
        private var latest: [Duration] = []
        private var next = 0

        mutating func add(_ duration: Duration) {
            if latest.count < Self.limit { latest.append(duration) } else { latest[next] = duration }
            next = (next + 1) % Self.limit
        }

        /// The duration that one of a hundred exceeds; `nil` without any.
        var p99: Duration? { latest.isEmpty ? nil : latest.sorted()[latest.count * 99 / 100] }
    }

    /// The end of a flow.
    typealias End = OneShot<FlowRecord.Standing>

    /// The bytes of flows in one answer, beyond which the rest is left to the next one: half of what an answer may have.
    static let answerLimit = FrameLimits.default.maximumFrameSize / 2

    /// The time for which the outcome of a flow is kept.
    static let retention = Duration.seconds(7 * 86_400)

    let storage: any FlowStorage
    private let openings = AsyncLock()
    private let state = Lock(State())

    init(_ storage: any FlowStorage) { self.storage = storage }

    /// Opens the store, once.
    func open() async throws -> FlowOpening {
        if let opening = state.withLock({ $0.opening }) { return opening }
        return try await openings.pass { [self] in
            if let opening = state.withLock({ $0.opening }) { return opening }
            guard !storage.isLocal || WorkerEnvironment.fence == nil else {
                throw CoordinatorError(
                    .unsupported,
                    """
                    a file of flows stays on this machine, and `placement: cluster` moves this process to others, where each flow would begin anew: \
                    provide the store in a child that isn't placed
                    """
                )
            }
            let closings = state.withLock { $0.closings }
            var opening = try await storage.open()
            let trials = try await trials(after: opening)
            opening.culprit = trials?.culprit
            let isOpen = state.withLock { [opening] state -> Bool in
                guard state.closings == closings else { return false }
                (state.opening, state.trials, state.numbers) = (opening, trials, FlowNumbers(from: opening.origin))
                return true
            }
            if isOpen { return opening }
            throw CoordinatorError(.stopped, "the owner of the store has ended")
        }
    }

    /// Returns the trials of flows one of which may have ended the process before.
    private func trials(after opening: FlowOpening) async throws -> FlowTrials? {
        guard opening.isAfterEnd else { return nil }
        let now = WallTime.machine
        var works: [FlowTrials.Work] = []
        _ = try await storage.scan(FlowQuery(selection: .due, at: now)) { row in
            guard let work = try? row.decoded().work, work.showing.resumption ?? now <= now else { return true }
            works.append(FlowTrials.Work(key: row.key, isFirst: work.showing.resumption == nil))
            return true
        }
        let former = opening.note.flatMap { try? PayloadCoder.decode(FlowTrials.Note.self, from: Bytes($0), codec: .json) }
        let trials = FlowTrials(after: former, works)
        try await storage.note(try trials.map { try Self.bytes(of: $0.note) })
        return trials
    }

    private static func bytes(of note: FlowTrials.Note) throws -> [UInt8] { JSONWriter.text(of: try note.encodedAsJSON()) }

    /// Returns the opened store, whose flows are started by a coordinator from now on.
    ///
    /// - Throws: `storeInUse` when another coordinator has it.
    func storage(openedBy owner: CoordinatorCell) async throws -> any FlowStorage {
        _ = try await open()
        try wake(by: owner)
        return storage
    }

    /// Commits a row, and notes how long that takes.
    func commit(_ row: FlowRow, _ writes: [any Sendable], keepsPlace: Bool, by time: TimeSource) async throws {
        let began = time.now
        try await storage.commit(row, writes, keepsPlace: keepsPlace)
        state.withLock { $0.commits.add(time.now - began) }
    }

    /// Reads something of a flow; one of which this build can't read it is parked: nothing of it is due before an operator says so.
    func read<Value>(_ row: FlowRow, of path: CoordinatorPath, in runtime: RuntimeCore, _ body: () throws -> Value) async throws -> Value {
        do { return try body() } catch {
            try await park(row, "\(error)", of: path, in: runtime)
            throw error
        }
    }

    private func park(_ row: FlowRow, _ error: String, of path: CoordinatorPath, in runtime: RuntimeCore) async throws {
        guard row.status != .parked, !row.isOver else { return }
        let now = runtime.time.wall
        var record = try? row.decoded()
        record?.park(error, at: now)
        let parked = FlowRow(
            key: row.key,
            sequence: row.sequence + 1,
            status: .parked,
            due: nil,
            changed: now,
            record: record?.text ?? row.record
        )
        try await commit(parked, [], keepsPlace: false, by: runtime.time)
        runtime.tellParked(error, path, 0)
    }

    /// The duration that one of a hundred of the latest commits exceeds.
    var commitP99: Duration? { state.withLock { $0.commits }.p99 }

    /// Returns the time at which the first of the messages was to leave that haven't come to their ends, of the flows that live.
    func oldestMessage(at now: WallTime) -> WallTime? {
        let flows = state.withLock { Array($0.live.values) }
        return flows.lazy.compactMap { $0.oldestMessage(at: now) }.min()
    }

    /// Returns the numbers of the store's flows; those that were known last, if the store doesn't answer in time.
    ///
    /// One question is under way at a time: a store that hangs delays the first who wants to know, and nobody after that.
    func summary(at now: WallTime, within patience: Duration, in cell: CoordinatorCell) async -> FlowSummary? {
        let time = cell.runtime.time
        let (question, begins) = state.withLock { state -> (SummaryQuestion, Bool) in
            if let summing = state.summing { return (summing, false) }
            let summing = SummaryQuestion(since: time.now)
            state.summing = summing
            return (summing, true)
        }
        if begins {
            cell.runtime.execution.tasks.add { [self] in
                let summary = try? await storage.summary(at: now)
                state.withLock { state in
                    state.summary = summary ?? state.summary
                    state.summing = nil
                }
                question.answer.settle(summary)
            }
        }
        return await question.answer.value(before: question.since + patience, of: time) ?? state.withLock { $0.summary }
    }

    /// Returns what is settled when a flow has come to its end.
    func awaitEnd(of key: String) -> End {
        let end = End()
        state.withLock { $0.waits[key, default: []].append(end) }
        return end
    }

    func awaitNoMore(_ end: End, of key: String) {
        state.withLock { state in
            state.waits[key]?.removeAll { $0 === end }
            if state.waits[key]?.isEmpty == true { state.waits[key] = nil }
        }
    }

    /// Whether anyone waits for the end of a flow.
    func isAwaited(_ key: String) -> Bool { state.withLock { $0.waits[key] != nil } }

    /// Tells those who wait for a flow.
    func isOver(_ key: String, _ standing: FlowRecord.Standing) {
        for end in state.withLock({ $0.waits[key] ?? [] }) { end.settle(standing) }
    }

    /// The number by which the receiver of a message knows it, of this opening.
    func number() -> (origin: UInt64, number: UInt64) { state.withLock { $0.numbers.open() } }

    /// Notes that a message has come to its end, or never leaves.
    func settle(_ origin: UInt64, _ number: UInt64) { state.withLock { $0.numbers.settle(origin, number) } }

    /// Whether messages of an origin are those of this opening.
    func isOwn(_ origin: UInt64) -> Bool { state.withLock { $0.numbers.contains(origin) } }

    /// The label of a message's transmission.
    ///
    /// What former openings have left says nothing of their other messages.
    func label(of message: FlowRecord.Outgoing) -> DeliveryLabel {
        DeliveryLabel(origin: message.origin, sequence: message.number, floor: state.withLock { $0.numbers.floor(of: message.origin) })
    }

    func begins(_ key: String, _ flow: any CoordinatorFlow) {
        let waker = state.withLock { state in
            state.live[key] = flow
            return state.waker
        }
        waker?.hasBegun(key)
    }

    /// Returns a flow that lives, and starts it if it doesn't.
    ///
    /// - Throws: `noSuchChild`.
    func flow(_ key: String) async throws -> any CoordinatorFlow {
        if let flow = state.withLock({ $0.live[key] }) { return flow }
        _ = try await open()
        guard try await storage.row(of: key) != nil else {
            throw CoordinatorError(.noSuchChild, "there is no flow \(key) in the store")
        }
        try await state.withLock { $0.waker }?.start(key)
        if let flow = state.withLock({ $0.live[key] }) { return flow }
        throw CoordinatorError(
            .noSuchChild,
            "the coordinator of the flow \(key) can't be started: its parent's `open(section:)` hasn't resumed it"
        )
    }

    /// Notes the end of a life of a flow, which may have a successor by now.
    ///
    /// - Parameter isDue: Whether the flow has something to do, now or later.
    func ended(_ key: String, _ flow: any CoordinatorFlow, isDue: Bool) {
        let waker = state.withLock { state in
            if state.live[key] === flow { state.live[key] = nil }
            return state.waker
        }
        if isDue { waker?.look() }
    }

    /// Notes that an attempt at a page of a flow begins, unless one of a former life still runs, or others are tried first: the end of that is told.
    func beginAttempt(_ key: String, in runtime: RuntimeCore, otherwise later: () -> @Sendable () -> Void) -> Bool {
        let (begins, effects) = state.withLock { state -> (Bool, FlowTrials.Effects?) in
            if state.attempts.keys.contains(key) {
                state.attempts[key] = .some(later())
                return (false, nil)
            }
            let admission = state.admits(key, works: true, in: runtime, otherwise: later)
            if admission?.isAdmitted != false { state.attempts[key] = .some(nil) }
            return (admission?.isAdmitted ?? true, admission?.effects)
        }
        if let effects { carryOut(effects, in: runtime) }
        return begins
    }

    /// Returns whether messages of a flow may leave, or wait for the end of trials, which is told.
    func maySend(_ key: String, in runtime: RuntimeCore, otherwise later: () -> @Sendable () -> Void) -> Bool {
        let admission = state.withLock { $0.admits(key, works: false, in: runtime, otherwise: later) }
        if let admission { carryOut(admission.effects, in: runtime) }
        return admission?.isAdmitted ?? true
    }

    func attemptHasEnded(_ key: String, in runtime: RuntimeCore) {
        let (next, effects) = state.withLock { ($0.attempts.removeValue(forKey: key), $0.trials?.hasEnded(key)) }
        (next ?? nil)?()
        if let effects { carryOut(effects, in: runtime) }
    }

    /// The time after the last trial for which an end of the process is one of a row.
    private static let rowOfEnds = Duration.seconds(60)

    /// Carries out what follows a step of the trials of this opening.
    private func carryOut(_ effects: FlowTrials.Effects, in runtime: RuntimeCore) {
        guard let origin = state.withLock({ $0.opening?.origin }) else { return }
        if let timer = effects.timer {
            _ = runtime.time.schedule(at: runtime.time.now + timer.time) { [self, weak runtime] in
                if let runtime { step(origin, in: runtime) { $0.hasPassed(timer.number) } }
            }
        }
        if let note = effects.note {
            runtime.execution.tasks.add { [self] in
                guard state.withLock({ $0.opening?.origin == origin }) else { return }
                // What can't be noted is tried all the same.
                try? await storage.note(Self.bytes(of: note))
                step(origin, in: runtime) { $0.hasNoted() }
            }
        }
        if effects.isOver {
            _ = runtime.time.schedule(at: runtime.time.now + Self.rowOfEnds) { [weak self, weak runtime] in
                guard let self, let runtime, state.withLock({ $0.opening?.origin == origin && $0.trials == nil }) else { return }
                runtime.execution.tasks.add { try? await self.storage.note(nil) }
            }
        }
        for goOn in effects.goOn { goOn() }
    }

    private func step(_ origin: UInt64, in runtime: RuntimeCore, _ step: (inout FlowTrials) -> FlowTrials.Effects) {
        let effects = state.withLock { state -> FlowTrials.Effects? in
            guard state.opening?.origin == origin, var trials = state.trials else { return nil }
            let effects = step(&trials)
            state.trials = effects.isOver ? nil : trials
            return effects
        }
        if let effects { carryOut(effects, in: runtime) }
    }

    func lives(_ key: String) -> Bool { state.withLock { $0.live[key] != nil } }

    /// Closes the store when its owner has ended, and with it all flows.
    func close(by owner: CoordinatorCell) {
        let waker = state.withLock { state -> FlowWaker? in
            guard let waker = state.waker, waker.isOwned(by: owner) else { return nil }
            (state.waker, state.opening, state.trials, state.numbers) = (nil, nil, nil, FlowNumbers(from: 0))
            state.closings += 1
            return waker
        }
        guard let waker else { return }
        waker.end()
        // What the next owner asks for comes after that.
        let end = storage.close()
        owner.runtime.execution.tasks.add { await end.value }
    }

    /// Has the owner, which has become active, look for flows that have something to do.
    func look(by owner: CoordinatorCell) {
        if let waker = state.withLock({ $0.waker }), waker.isOwned(by: owner) { waker.look() } else { try? wake(by: owner) }
    }

    /// Has a coordinator own the store, and start the flows that have something to do, unless it does already.
    ///
    /// - Throws: `storeInUse` when another one does: the flows below each would have the same keys.
    func wake(by owner: CoordinatorCell) throws(CoordinatorError) {
        let (waker, other) = state.withLock { state -> (FlowWaker?, CoordinatorPath?) in
            if let other = state.waker?.livingOwner {
                return (nil, other.path == owner.path && other.runtime === owner.runtime ? nil : other.path)
            }
            guard owner.own(self) else { return (nil, nil) }
            state.waker = FlowWaker(self, owner)
            return (state.waker, nil)
        }
        if let other {
            throw CoordinatorError(
                .storeInUse,
                "the store of flows is that of \(other), and \(owner.path) provides it, too: provide it above both, or another one here"
            )
        }
        waker?.look()
    }
}

extension RuntimeCore {
    /// Tells that a flow is parked.
    func tellParked(_ error: String, _ path: CoordinatorPath, _ incarnation: UInt32) {
        guard observation.lives.areWanted else { return }
        observation.lives.add(LifecycleRecord(.parked(error), of: path, incarnation, nil))
    }
}

// MARK: - In memory

/// A store in memory, whose commits take no time.
final class MemoryFlowStorage: FlowStorage {
    // It says of itself that it ends with the process.
    let isLocal = false
    private let rows = Lock<[String: FlowRow]>([:])

    func open() async throws -> FlowOpening { FlowOpening() }

    func note(_ note: [UInt8]?) {}

    func row(of key: String) async throws -> FlowRow? { rows.withLock { $0[key] } }

    func commit(_ row: FlowRow, _ writes: [any Sendable], keepsPlace: Bool) async throws {
        guard writes.isEmpty else { throw CoordinatorError(.unsupported, "a store in memory has no database to write to") }
        let isNext = rows.withLock { rows -> Bool in
            guard rows[row.key]?.sequence ?? 0 == row.sequence - 1 else { return false }
            rows[row.key] = row
            return true
        }
        if !isNext { throw CoordinatorError.flowIsElsewhere(row.key) }
    }

    func forget(before time: WallTime) async throws {
        rows.withLock { rows in
            rows = rows.filter { !($0.value.isOver && $0.value.due == nil && $0.value.changed < time) }
        }
    }

    func due(by time: WallTime) async throws -> [String] {
        let due = rows.withLock { rows in rows.values.filter { $0.due.map { $0 <= time } ?? false } }
        return due.sorted { ($0.due ?? time, $0.key) < ($1.due ?? time, $1.key) }.map(\.key)
    }

    func nextDue(after time: WallTime) async throws -> WallTime? {
        rows.withLock { rows in rows.values.compactMap(\.due).filter { $0 > time }.min() }
    }

    func rows(_ query: FlowQuery) async throws -> [FlowRow] {
        let all = rows.withLock { Array($0.values) }
        return Array(all.filter(query.includes).sorted { $0.key.precedes($1.key) }.prefix(query.limit))
    }

    func summary(at time: WallTime) async throws -> FlowSummary {
        var summary = FlowSummary()
        for row in rows.withLock({ Array($0.values) }) {
            if !row.isOver { summary.counts[row.status, default: 0] += 1 }
            guard let due = row.due, due <= time else { continue }
            summary.due += 1
            summary.oldestDue = min(summary.oldestDue ?? .distantFuture, max(due, row.changed))
        }
        return summary
    }

    func close() -> OneShot<Void> {
        let end = OneShot<Void>()
        end.settle()
        return end
    }
}

extension String {
    /// Whether the text comes before another in the order of their bytes, which is that of a database.
    func precedes(_ other: String) -> Bool { utf8.lexicographicallyPrecedes(other.utf8) }
}

extension CoordinatorPath {
    /// Returns the path of a flow in a store that the coordinator at this path owns.
    func appending(flowKey key: String) -> CoordinatorPath { appending(key.split(separator: "/")[...]) }
}

extension FlowRow {
    /// Whether the flow has come to its end.
    var isOver: Bool { status == .finished || status == .unwound }
}

extension CoordinatorError {
    /// The error of a flow that is asked for with another configuration than it was begun with.
    static func flowDiffers(_ key: String) -> CoordinatorError {
        CoordinatorError(.configurationDiffers, "the flow \(key) was begun with another configuration: give the new one another key")
    }

    /// The error of a commit of which another owner has made the number.
    package static func flowIsElsewhere(_ key: String) -> CoordinatorError {
        CoordinatorError(.peerLost, "the flow \(key) has been changed by another owner of its store", maybeExecuted: true)
    }
}
