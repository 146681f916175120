import Acknowledgement
import ConcurrencySupport
import Flows
import Glibc
import Logging
import Processes
import WireProtocol

/// What the runtime tells the durable flow of a coordinator.
protocol CoordinatorFlow: AnyObject, Sendable {
    /// The coordinator is ready.
    func begin(_ cell: CoordinatorCell)
    /// Begins what is to be done, if the coordinator is active and isn't paused.
    func goOn(_ cell: CoordinatorCell)
    /// Ends with the coordinator.
    func end()
    /// The pages that are shown, bottom first.
    var shownPages: [JSONValue] { get }
    /// Whether a call waits for the flow's end.
    var isAwaited: Bool { get }
    /// Returns the time at which the first of the messages was to leave that haven't come to their ends.
    func oldestMessage(at now: WallTime) -> WallTime?

    /// Makes an operator's change, once it's known in which life.
    ///
    /// - Throws: What the change throws, and nothing has changed; `stopped`; as a commit.
    func operate(_ change: @escaping @Sendable (inout FlowRecord, WallTime) throws -> Void) async throws
}

/// The progress of a flow's work in one life of its coordinator.
private struct FlowProgress {
    /// The identity of a message that leaves.
    struct Message: Hashable {
        let origin, number: UInt64

        init(_ message: FlowRecord.Outgoing) { (origin, number) = (message.origin, message.number) }

        init(origin: UInt64, number: UInt64) { (self.origin, self.number) = (origin, number) }
    }

    var record: FlowRecord
    /// The number of the latest commit.
    var sequence: UInt64
    /// Whether the coordinator's start has gone so far that there may be work.
    var hasBegun = false
    /// Whether a page is worked on.
    var isWorking = false
    /// The messages that have left and haven't come to an end.
    var underWay: Set<Message> = []
    /// The messages whose numbers are new in this life, and of which nothing has come back: no receiver has had them but on their present way.
    var fresh: Set<Message> = []
    var timer: Timers.Call?
    /// The time before which nothing begins, because the store took nothing.
    var pause: MonotonicTime?
    /// Whether the flow's end was told, or the coordinator has ended.
    var hasEnded = false
    /// Whether somebody else has changed the flow: nothing is written any more.
    var isLost = false

    init(record: FlowRecord, sequence: UInt64) { (self.record, self.sequence) = (record, sequence) }

    /// - Returns: Whether that ends the life of a coordinator that has begun.
    mutating func lose() -> Bool {
        defer { isLost = true }
        return hasBegun && !isLost
    }
}

/// The durable flow of a coordinator, in one life of it: the record that is on disk, and the work that goes on.
///
/// Changes come one after the other. Each makes the next record from the present one, has the store commit it, and goes on from there, so that what
/// is seen here is on disk.
final class FlowLife<C: DurableCoordinator>: CoordinatorFlow {
    private typealias Message = FlowProgress.Message

    /// What the coordinator's own code reads of the record.
    private struct Values {
        /// The flow's state.
        var state: C.State
        /// The pages that are shown and can be read, bottom first, and the numbers of their showings.
        private(set) var shown: [C.Page] = []
        private var numbers: [UInt64] = []

        init(_ state: C.State, _ record: FlowRecord, _ news: NewPages<C.Page>) {
            self.state = state
            readPages(of: record, news)
        }

        /// Returns the page of a showing; `nil`: it can't be read.
        func page(_ showing: FlowRecord.Showing) -> C.Page? {
            numbers.firstIndex(of: showing.number).map { shown[$0] } ?? (try? C.Page(decoding: showing.page))
        }

        /// Reads the pages that are new in the next record: as a rule one more than before.
        ///
        /// - Parameter news: The pages that the change has shown.
        mutating func readPages(of record: FlowRecord, _ news: NewPages<C.Page>) {
            let showings = record.showings
            var known = 0
            while known < numbers.count, known < showings.count, numbers[known] == showings[known].number, !showings[known].isPopped {
                known += 1
            }
            if known < numbers.count {
                numbers.removeSubrange(known...)
                shown.removeSubrange(known...)
            }
            for showing in showings[known...] where !showing.isPopped {
                guard let page = news.value(of: showing.page) ?? (try? C.Page(decoding: showing.page)) else { continue }
                numbers.append(showing.number)
                shown.append(page)
            }
        }
    }

    let key: String
    private let store: FlowStoreCore
    /// The coordinator, as long as it's there.
    private weak let cell: CoordinatorCell?
    private let changes = AsyncLock()
    private let state: Lock<FlowProgress>
    /// What is read of the record in `state`; changed with it, by the one change at a time.
    private let values: Lock<Values>

    private init(
        _ store: FlowStoreCore,
        _ key: String,
        _ record: FlowRecord,
        _ sequence: UInt64,
        _ value: C.State,
        _ cell: CoordinatorCell,
        _ news: NewPages<C.Page> = NewPages()
    ) {
        (self.store, self.key, self.cell) = (store, key, cell)
        state = Lock(FlowProgress(record: record, sequence: sequence))
        values = Lock(Values(value, record, news))
    }

    /// The flow's state.
    var value: C.State { values.withLock { $0.state } }

    /// The pages that are shown, bottom first.
    var pages: [C.Page] { values.withLock { $0.shown } }

    var shownPages: [JSONValue] { state.withLock { $0.record.pages }.map(\.value) }

    // MARK: The beginning

    /// Reads the flow of a coordinator that starts, or begins it.
    static func open(in cell: CoordinatorCell) async throws -> FlowLife {
        let (store, owner) = try cell.flowStore
        let (opening, key) = (try await store.open(), cell.flowKey(below: owner))
        try store.wake(by: owner)
        // What a lost answer has left is read once more.
        for _ in 0..<3 {
            do {
                return try await read(key, opening, store, cell)
            } catch let error as CoordinatorError where error.code == .peerLost {
                cell.logger.warning("a flow has been changed while it was opened", metadata: ["flow.key": "\(key)"])
            }
        }
        throw CoordinatorError.flowIsElsewhere(key)
    }

    private static func read(_ key: String, _ opening: FlowOpening, _ store: FlowStoreCore, _ cell: CoordinatorCell) async throws
        -> FlowLife
    {
        let now = cell.runtime.time.wall
        let configuration = cell.configuration(of: C.Configuration.self).value
        if let row = try await store.storage.row(of: key) {
            let former = try await store.read(row, of: cell.path, in: cell.runtime) { try row.decoded() }
            try refuse(former, key, cell, configuration)
            var (record, state) = try await store.read(row, of: cell.path, in: cell.runtime) {
                var record = former
                let state = try readAll(of: &record)
                return (record, state)
            }
            record.symbol = symbol
            // It was parked without its record, which couldn't be read.
            if row.status == .parked, record.parking == nil { record.park("a former build couldn't read it", at: now) }
            if opening.culprit == key { record.interrupted(before: opening.origin, limit: FlowTrials.endsOfCulprit, at: now) }
            let life = FlowLife(store, key, record, row.sequence, state, cell)
            if record != former { try await life.write(record, after: former, tellsParking: row.status != .parked, in: cell) }
            if let parking = record.parking {
                cell.logger.error("a flow is parked", metadata: ["flow.key": "\(key)", "error": "\(parking.error)"])
            }
            // It may end before they reach it.
            if record.isOver { cell.parent?.answerAgain(to: cell.path.key, by: record) }
            return life
        }
        let (state, page) = try C.begin(configuration)
        var news = NewPages<C.Page>()
        if let page { news.add(page, as: try page.encodedAsText()) }
        var record = FlowRecord(
            type: cell.type.name,
            version: C.version,
            id: .random(in: .min ... .max),
            configuration: try configuration.encodedExactly(),
            state: try state.encodedAsText(),
            page: news.first,
            at: now
        )
        record.symbol = symbol
        let life = FlowLife(store, key, record, 0, state, cell, news)
        try await life.write(record, in: cell)
        return life
    }

    private static func refuse(_ record: FlowRecord, _ key: String, _ cell: CoordinatorCell, _ configuration: C.Configuration) throws {
        guard record.type == cell.type.name else {
            throw CoordinatorError(.keyInUse, "the flow \(key) is a \(record.type), and \(cell.path) is started as a \(cell.type.name)")
        }
        try refuseNewer(record, key)
        try refuse(configuration, for: record, key)
    }

    /// Refuses another configuration than the one with which a flow was begun, as this build reads that: another build may have written other
    /// properties.
    static func refuse(_ configuration: C.Configuration, for record: FlowRecord, _ key: String) throws(CoordinatorError) {
        // Not exactly: what a former build has begun may be rounded.
        let given = try configuration.encodedAsJSON()
        guard record.configuration == given || (try? Self.configuration(of: record).encodedAsJSON()) == given else {
            throw CoordinatorError.flowDiffers(key)
        }
    }

    /// Reads the configuration with which a flow was begun: a property that the build of then didn't know has its default.
    static func configuration(of record: FlowRecord) throws(CoordinatorError) -> C.Configuration {
        let bytes = Bytes(JSONWriter.text(of: record.configuration))
        return try ConfigurationValue.encoded(.json, bytes, isComplete: true).decoded(as: C.Configuration.self)
    }

    /// Refuses a flow of a version that this build doesn't know, which it leaves as it is.
    static func refuseNewer(_ record: FlowRecord, _ key: String) throws(CoordinatorError) {
        guard record.version <= C.version else {
            throw CoordinatorError(
                .unsupported,
                "the flow \(key) has version \(record.version), and this build knows \(C.version): it goes on in a build that knows it"
            )
        }
    }

    /// The type's name by which it's found again; `nil` if it isn't, as a private one in an optimised build.
    private static var symbol: String? { _mangledTypeName(C.self).flatMap { _typeByName($0) == C.self ? $0 : nil } }

    /// Checks that this build could go on with a flow: it reads all of it, after it has migrated it.
    static func check(_ record: FlowRecord, _ key: String) throws {
        var record = record
        try refuseNewer(record, key)
        _ = try configuration(of: record)
        _ = try readAll(of: &record)
    }

    /// Reads the state and the pages of a flow, which it migrates before, and returns the state.
    private static func readAll(of record: inout FlowRecord) throws -> C.State {
        try migrate(&record)
        // Those of one that is over aren't needed any more.
        if !record.isOver { for showing in record.showings { _ = try C.Page(decoding: showing.page) } }
        return try C.State(decoding: record.state)
    }

    private static func migrate(_ record: inout FlowRecord) throws {
        while record.version < C.version {
            var flow = StoredFlow(version: record.version, state: record.state.value, pages: record.showings.map(\.page.value))
            let count = flow.pages.count
            try C.migrate(&flow)
            guard flow.pages.count == count else {
                throw CoordinatorError(
                    .coding,
                    "the migration of \(C.self) from version \(record.version) changes the number of pages"
                )
            }
            record.migrate(to: record.version + 1, state: JSONText(flow.state), pages: flow.pages.map { JSONText($0) })
        }
    }

    /// Notes that this is the flow's present life.
    func isWanted() {
        store.begins(key, self)
        // A stop may have come in between.
        let (hasEnded, isDue) = state.withLock { ($0.hasEnded, $0.record.due != nil) }
        if hasEnded { store.ended(key, self, isDue: isDue) }
    }

    func begin(_ cell: CoordinatorCell) {
        let isLost = state.withLock { state -> Bool in
            state.hasBegun = true
            return state.isLost
        }
        // The `start` hook has made a change that was lost.
        if isLost { return cell.end(.failed(.failed("\(CoordinatorError.flowIsElsewhere(key))"))) }
        goOn(cell)
    }

    func end() {
        let (timer, isDue) = state.withLock { state in
            defer { (state.hasEnded, state.isLost, state.timer) = (true, true, nil) }
            return (state.timer, state.record.due != nil)
        }
        timer?.cancel()
        store.ended(key, self, isDue: isDue)
    }

    var isAwaited: Bool { store.isAwaited(key) }

    func oldestMessage(at now: WallTime) -> WallTime? {
        state.withLock { $0.record.outgoing.lazy.map(\.due).filter { $0 <= now }.min() }
    }

    // MARK: Changes

    /// Makes a change, in its turn.
    func change<Result>(in cell: CoordinatorCell, _ body: (inout Flow<C>) throws -> Result) async throws -> Result {
        await changes.enter()
        defer { changes.leave() }
        let result = try await make(cell, body) { record, change, _ in record.change(change, at: cell.runtime.time.wall) }
        goOn(cell)
        return result
    }

    /// Makes the change of a message's row, in its turn; a message that was taken before gets its answer again.
    func take<M: ResponderMessage>(
        _ message: M,
        _ envelope: Envelope,
        in cell: CoordinatorCell,
        _ body: (inout Flow<C>, M) throws -> M.Reply
    ) async throws -> Answer {
        await changes.enter()
        defer { changes.leave() }
        let record = state.withLock { $0.record }
        guard let label = envelope.label else {
            let reply = try await make(cell) { flow in
                try body(&flow, message)
            } apply: { record, change, _ in
                record.change(change, at: cell.runtime.time.wall)
            }
            goOn(cell)
            return .value(reply)
        }
        let isOwn = record.outgoing.contains { $0.origin == label.origin && $0.number == label.sequence }
        // One of the flow's own that isn't there any more was handled, and the row of one that is over is gone.
        if isOwn, record.isOver { return .none }
        if !isOwn, envelope.sender == cell.path, store.isOwn(label.origin) { return .none }
        switch record.inbox.admission(label.origin, label.sequence) {
        case .new: break
        case .known(let reply): return .encoded(.json, try PayloadCoder.encode(reply, as: .json))
        case .forgotten: return .none
        case .full: throw CoordinatorError(.mailboxFull, "\(cell.path) remembers as many messages of one sender as it may")
        }
        let reply = try await make(cell) { flow -> (M.Reply, JSONValue) in
            let reply = try body(&flow, message)
            return (reply, isOwn ? .null : try reply.encodedExactly())
        } apply: { record, change, reply in
            record.change(change, at: cell.runtime.time.wall)
            guard !isOwn else { return record.left(label.origin, label.sequence, at: cell.runtime.time.wall) }
            record.took(label.origin, label.sequence, reply.1)
            record.forget(below: label.floor, of: label.origin)
        }
        goOn(cell)
        return .value(reply.0)
    }

    /// Makes a change by a function that reads and writes the flow.
    private func make<Result>(
        _ cell: CoordinatorCell,
        _ body: (inout Flow<C>) throws -> Result,
        apply: (inout FlowRecord, FlowRecord.Change, Result) -> Void
    ) async throws -> Result {
        var next = state.withLock { $0.record }
        guard !next.isOver else { throw CoordinatorError(.stopped, "the flow \(key) is over") }
        var flow = values.withLock { Flow<C>(state: $0.state, pages: $0.shown, now: cell.runtime.time.wall) }
        let result = try body(&flow)
        if let error = flow.error { throw error }
        let value = flow.state
        let text = try value.encodedAsText()
        let edits = numbered(flow.edits, at: flow.now)
        let opened = edits.compactMap { edit -> Message? in if case .send(let message) = edit { Message(message) } else { nil } }
        apply(&next, FlowRecord.Change(state: text, edits), result)
        try await write(next, value, flow.writes, opened: opened, pages: flow.newPages, in: cell)
        return result
    }

    /// Makes the next record by a function that doesn't know the flow's types.
    private func alter(
        in cell: CoordinatorCell,
        opened: [Message] = [],
        _ body: (inout FlowRecord, WallTime) throws -> Void
    ) async throws {
        await changes.enter()
        defer { changes.leave() }
        var next = state.withLock { $0.record }
        try body(&next, cell.runtime.time.wall)
        try await write(next, opened: opened, in: cell)
    }

    func operate(_ change: @escaping @Sendable (inout FlowRecord, WallTime) throws -> Void) async throws {
        guard let cell else { throw CoordinatorError(.stopped, "the coordinator of the flow \(key) has ended") }
        try await alter(in: cell, change)
        goOn(cell)
    }

    /// Reads a state that an operator has given.
    private static func read(_ state: JSONText, _ key: String) throws(CoordinatorError) -> C.State {
        do { return try C.State(decoding: state) } catch {
            throw CoordinatorError(
                .coding,
                "\(C.self) can't read the state that was given for the flow \(key), and nothing has changed: \(error)"
            )
        }
    }

    /// Returns the edits with the identities of messages: those that leave later get their numbers then, since a number that is open keeps all
    /// receivers from forgetting what came after it.
    private func numbered(_ edits: [FlowRecord.Edit], at now: WallTime) -> [FlowRecord.Edit] {
        guard edits.contains(where: { if case .send = $0 { true } else { false } }) else { return edits }
        return edits.map { edit in
            guard case .send(var message) = edit else { return edit }
            (message.origin, message.number) = message.due > now ? (0, .random(in: 1 ... .max)) : store.number()
            return .send(message)
        }
    }

    /// Has the store commit the next record, and goes on from it.
    ///
    /// - Parameters:
    ///   - opened: The numbers that were opened for it.
    ///   - pages: The pages that the change has shown.
    ///   - stored: The record that is on disk; the present one by default.
    ///   - tellsParking: Whether it's told when this parks the flow.
    private func write(
        _ next: consuming FlowRecord,
        _ value: C.State? = nil,
        _ writes: [any Sendable] = [],
        opened: [Message] = [],
        pages: NewPages<C.Page> = NewPages(),
        after stored: FlowRecord? = nil,
        tellsParking: Bool = true,
        in cell: CoordinatorCell
    ) async throws {
        let (former, sequence, isLost) = state.withLock { (stored ?? $0.record, $0.sequence, $0.isLost) }
        var next = next
        // What the flow has sent itself has no row any more.
        if next.isOver, !former.isOver { next.change(FlowRecord.Change([.cancel(cell.type.table.names)]), at: next.changed) }
        var value = value
        do {
            if isLost { throw CoordinatorError.flowIsElsewhere(key) }
            if value == nil, next.state != former.state { value = try Self.read(next.state, key) }
            let row = try FlowRow(next, key: key, sequence: sequence + 1)
            try await store.commit(row, writes, keepsPlace: row.keepsPlace(of: former), by: cell.runtime.time)
        } catch {
            guard (error as? CoordinatorError)?.code == .peerLost else {
                for message in opened { store.settle(message.origin, message.number) }
                throw error
            }
            // Another owner goes on from its own commit, or this one is on disk: what is known here isn't true any more.
            if state.withLock({ $0.lose() }) { cell.end(.failed(.failed("\(error)"))) }
            throw error
        }
        // Whoever sees the record sees its values.
        let hasEnded = values.withLock { values in
            values.readPages(of: next, pages)
            if let value { values.state = value }
            return state.withLock { state -> Bool in
                (state.record, state.sequence, state.pause) = (next, sequence + 1, nil)
                state.fresh = next.outgoing.isEmpty ? [] : state.fresh.union(opened)
                return state.hasEnded
            }
        }
        for message in former.outgoing.map(Message.init) + opened where !next.sends(message.origin, message.number) {
            store.settle(message.origin, message.number)
        }
        if tellsParking, let parking = next.parking, former.parking == nil {
            cell.runtime.tellParked(parking.error, cell.path, cell.incarnation)
        }
        if next.isOver, !former.isOver { store.isOver(key, next.standing) }
        // The life has ended while that was written.
        if hasEnded { store.ended(key, self, isDue: next.due != nil) }
    }

    // MARK: What is to be done

    func goOn(_ cell: CoordinatorCell) {
        guard let work = nextWork(cell) else { return }
        HandlerScope.perform(in: nil) { _ = cell.handle { await self.work(from: work, cell) } }
    }

    /// Has what is due leave, ends the flow or waits for what is next, and returns the page that is worked on from now on.
    private func nextWork(_ cell: CoordinatorCell) -> FlowRecord.Work? {
        guard cell.isOpenForWork else { return nil }
        let (now, present, longest) = (cell.runtime.time.wall, cell.runtime.time.now, longestPause)
        // Made only if it's needed.
        func later() -> @Sendable () -> Void { { [weak self, weak cell] in if let cell { self?.goOn(cell) } } }
        // Whether messages that are due wait for the end of trials, which is told.
        var isHeld = false
        let next = state.withLock { state -> (work: FlowRecord.Work?, leaving: [FlowRecord.Outgoing], end: FlowRecord.Standing?)? in
            guard state.hasBegun, !state.hasEnded, !state.isLost, state.pause ?? present <= present else { return nil }
            var work: FlowRecord.Work?
            if !state.isWorking, let next = state.record.work, next.resumption(at: now, longestPause: longest) <= now,
                store.beginAttempt(key, in: cell.runtime, otherwise: later)
            {
                (work, state.isWorking) = (next, true)
            }
            var leaving = state.record.outgoing.filter { $0.departure(at: now) <= now && !state.underWay.contains(Message($0)) }
            if !leaving.isEmpty, !store.maySend(key, in: cell.runtime, otherwise: later) { (leaving, isHeld) = ([], true) }
            state.underWay.formUnion(leaving.map(Message.init))
            let isDone = state.record.isOver && state.underWay.isEmpty && !state.isWorking && !isHeld
            if isDone { state.hasEnded = true }
            return (work, leaving, isDone ? state.record.standing : nil)
        }
        guard let next else {
            wait(cell, now, longest, isHeld: false)
            return nil
        }
        // What a page has sent leaves before the next one begins.
        for message in next.leaving { send(message, cell) }
        if let end = next.end { conclude(end, cell) } else { wait(cell, now, longest, isHeld: isHeld) }
        return next.work
    }

    /// The longest pause between attempts at what has failed.
    private var longestPause: Duration {
        let failed = state.withLock { state in state.record.work.flatMap { $0.showing.resumption == nil ? nil : $0 } }
        return failed.map { policy(of: $0).backoff.maximum } ?? .zero
    }

    /// Has the flow go on when the next thing is due.
    ///
    /// - Parameter isHeld: Whether messages that are due leave when that is told.
    private func wait(_ cell: CoordinatorCell, _ now: WallTime, _ longest: Duration, isHeld: Bool) {
        let former = state.withLock { state -> Timers.Call? in
            guard state.hasBegun, !state.hasEnded, !state.isLost else { return nil }
            let underWay = state.underWay
            let departures = state.record.outgoing.lazy.filter { !underWay.contains(Message($0)) }.map { $0.departure(at: now) }
            var times = Array(departures.filter { !isHeld || $0 > now })
            let former = state.timer
            let pause = now + (state.pause.map { max($0 - cell.runtime.time.now, .zero) } ?? .zero)
            // Work that is due waits for the end of a former life's attempt, unless the store has taken nothing.
            if !state.isWorking, let work = state.record.work {
                let resumption = max(work.resumption(at: now, longestPause: longest), pause)
                if resumption > now { times.append(resumption) }
            }
            state.timer = times.min().map { time in
                cell.runtime.time.schedule(atWall: max(time, pause)) { [weak self, weak cell] in
                    if let cell { self?.goOn(cell) }
                }
            }
            return former
        }
        former?.cancel()
    }

    /// Tells the parent of the flow's end.
    private func conclude(_ standing: FlowRecord.Standing, _ cell: CoordinatorCell) {
        switch standing {
        case .finished(let output):
            // Whoever waits for the output reads it from the record; observers get it by this.
            cell.end(.finished((try? C.Output(decoding: output)).map { .value($0) } ?? .none))
        case .open, .finishing, .unwinding, .unwound: cell.end(.finished(.none))
        }
        store.isOver(key, standing)
    }

    // MARK: Pages

    /// Works on a page, and on those that follow at once.
    private func work(from first: FlowRecord.Work, _ cell: CoordinatorCell) async {
        var (next, count) = (FlowRecord.Work?.some(first), 0)
        while let work = next {
            await self.work(on: work, cell)
            state.withLock { $0.isWorking = false }
            store.attemptHasEnded(key, in: cell.runtime)
            // A page may have cancelled its own task, which the next one doesn't get.
            if Task.isCancelled { return goOn(cell) }
            next = nextWork(cell)
            // Nothing in the loop need have suspended.
            count += 1
            if count % 64 == 0 { await Task.yield() }
        }
    }

    private func work(on work: FlowRecord.Work, _ cell: CoordinatorCell) async {
        let number = work.showing.number
        do {
            guard let instance = cell.state.withLock({ $0.life.instance }) else { throw CancellationError() }
            let me: C = try MessageRow.cast(instance)
            guard let page = values.withLock({ $0.page(work.showing) }) else {
                return try await alter(in: cell) { record, now in
                    if work.isSame(as: record.pending) { record.park("the page can't be read: \(work.showing.page)", at: now) }
                }
            }
            let step = Step(work, of: state.withLock { $0.record.id })
            switch work {
            case .perform:
                let change = try await me.perform(page, step)
                await changes.enter()
                defer { changes.leave() }
                // An operator has said meanwhile what became of the page: nothing of this is true any more.
                guard state.withLock({ $0.record.showings.contains { $0.number == number && $0.phase == .begun } }) else {
                    cell.logger.warning(
                        "an attempt at a page has ended that was skipped meanwhile",
                        metadata: ["flow.page": "\(work.showing.page)"]
                    )
                    break
                }
                try await make(cell, change.body) { next, change, _ in next.performed(number, change, at: cell.runtime.time.wall) }
            case .undo:
                try await me.undo(page, step)
                try await alter(in: cell) { $0.undone(number, at: $1) }
            }
        } catch {
            // What was cancelled, or asks and children that end with the coordinator, goes on in the next life.
            let isEnding = Task.isCancelled || cell.isDraining || cell.isStopping
            if !isEnding, !state.withLock({ $0.isLost }) { await failed(work, error, cell) }
        }
    }

    private func failed(_ work: FlowRecord.Work, _ error: any Error, _ cell: CoordinatorCell) async {
        let policy = policy(of: work)
        do {
            try await alter(in: cell) { record, now in
                record.failed(work, "\(error)", at: now) { failures in
                    failures < policy.attempts ? now + policy.pause(before: failures &+ 1, by: cell.runtime.time) : nil
                }
            }
        } catch {
            return storeFailed(error, cell)
        }
        guard let pending = state.withLock({ $0.record.pending }), work.isSame(as: pending) else { return }
        let showing = pending.showing
        let metadata: Logger.Metadata = ["flow.page": "\(showing.page)", "error": "\(error)", "flow.attempts": "\(showing.failures)"]
        if showing.resumption == nil {
            cell.logger.error("a flow is parked, because work on a page has failed as often as it may", metadata: metadata)
        } else {
            cell.logger.warning("work on a page has failed, and is repeated", metadata: metadata)
        }
    }

    private func policy(of work: FlowRecord.Work) -> RetryPolicy {
        values.withLock { $0.page(work.showing) }.map { C.retry(of: $0) } ?? .never
    }

    /// Waits a while before anything else is tried.
    private func storeFailed(_ error: any Error, _ cell: CoordinatorCell) {
        if state.withLock({ $0.isLost }) { return }
        cell.logger.error("the store of a flow has failed", metadata: ["error": "\(error)"])
        state.withLock { $0.pause = cell.runtime.time.now + .seconds(5) }
    }

    // MARK: Messages

    /// Has a message leave that is under way from now on.
    private func send(_ message: FlowRecord.Outgoing, _ cell: CoordinatorCell) {
        guard message.origin == 0 else { return transmit(message, cell) }
        HandlerScope.perform(in: nil) { _ = cell.handle { await self.number(message, cell) } }
    }

    /// Gives a message the number by which its receiver knows it, and sends it.
    private func number(_ message: FlowRecord.Outgoing, _ cell: CoordinatorCell) async {
        let identity = store.number()
        do {
            try await alter(in: cell, opened: [Message(origin: identity.origin, number: identity.number)]) { record, _ in
                record.leaves(message.origin, message.number, as: identity)
            }
        } catch {
            storeFailed(error, cell)
        }
        let numbered = state.withLock { state -> FlowRecord.Outgoing? in
            state.underWay.remove(Message(message))
            guard let index = state.record.outgoing.firstIndex(where: { $0.origin == identity.origin && $0.number == identity.number }),
                state.underWay.insert(Message(state.record.outgoing[index])).inserted
            else { return nil }
            return state.record.outgoing[index]
        }
        if let numbered { transmit(numbered, cell) } else { goOn(cell) }
    }

    private func transmit(_ message: FlowRecord.Outgoing, _ cell: CoordinatorCell) {
        let label = store.label(of: message)
        let asker = Envelope.Asker.function { [weak self, weak cell] result in
            // One that ends with the coordinator is sent again by the next life.
            guard let self, let cell, !cell.isStopping else { return }
            HandlerScope.perform(in: nil) { _ = cell.handle { await self.sent(message, result, cell) } }
        }
        let payload = Payload(Bytes(JSONWriter.text(of: message.message)))
        let body = Envelope.Body.encoded(name: message.name, .json, payload)
        cell.climb(Envelope(body, asker: asker, sender: cell.path, deadline: nil, delivery: AcknowledgedDelivery(label)))
    }

    private func sent(_ message: FlowRecord.Outgoing, _ result: Result<Answer, any Error>, _ cell: CoordinatorCell) async {
        do {
            // The row of a flow's own message has noted its end already.
            if state.withLock({ $0.record.sends(message.origin, message.number) }) { try await note(result, of: message, cell) }
        } catch {
            storeFailed(error, cell)
        }
        state.withLock { state in
            state.underWay.remove(Message(message))
            state.fresh.remove(Message(message))
        }
        goOn(cell)
    }

    private func note(_ result: Result<Answer, any Error>, of message: FlowRecord.Outgoing, _ cell: CoordinatorCell) async throws {
        guard case .failure(let error) = result else {
            return try await alter(in: cell) { $0.left(message.origin, message.number, at: $1) }
        }
        let pause = Backoff(minimum: .milliseconds(100), maximum: FlowRecord.Outgoing.longestPause)
            .delay(attempt: message.failures &+ 2, random: 0)
        if message.failures == 0 {
            let metadata: Logger.Metadata = ["message.name": "\(message.name)", "error": "\(error)"]
            cell.logger.warning("a message of a flow has not been handled, and is sent again", metadata: metadata)
        }
        let isFresh = state.withLock { $0.fresh.remove(Message(message)) != nil }
        // A number that is open keeps all receivers from forgetting what came after it: so it gets another one, when it leaves again.
        let identity = Self.isSettled(error, isFresh) ? (origin: UInt64(0), number: UInt64.random(in: 1 ... .max)) : nil
        try await alter(in: cell) { record, now in
            record.stayed(message.origin, message.number, "\(error)", resumption: now + pause, as: identity, at: now)
        }
    }

    /// Whether it's known what has become of a message that has failed, so that it's another one when it's sent again: its handler has failed, whose end
    /// the receiver keeps, or nobody has taken it.
    ///
    /// After the end of the receiver's life, or of the way to it, nobody knows.
    ///
    /// - Parameter isFresh: Whether the message was sent once by its number; what was sent before may have been taken then.
    private static func isSettled(_ error: any Error, _ isFresh: Bool) -> Bool {
        guard let error = error as? CoordinatorError else { return !(error is CancellationError) }
        if error.provesNothingExecuted { return isFresh }
        return ![.peerLost, .stopped, .draining, .dismissed, .restarting, .failed].contains(error.code)
    }
}

// MARK: - The wall clock

extension WallTime {
    /// The time of the machine's wall clock.
    static var machine: WallTime { WallTime(nanoseconds: Timers.nanoseconds(of: CLOCK_REALTIME)) }
}

extension TimeSource {
    /// The wall clock's time; one that a test moves begins in the year 2000.
    var wall: WallTime {
        guard virtual != nil else { return .machine }
        return WallTime(nanoseconds: 946_684_800_000_000_000 + now.nanoseconds)
    }

    /// Calls `fire` once, at a time or a little later, or earlier when the clock is set, on a thread that it must not block.
    func schedule(atWall time: WallTime, _ fire: @escaping @Sendable () -> Void) -> Timers.Call {
        let wait = max(time - wall, .zero)
        // By the monotonic clock, which has no seconds that are rounded, if that is soon.
        guard virtual == nil, wait > .seconds(10) else {
            let timer = schedule(at: now + wait, fire)
            return Timers.Call { cancel(timer) }
        }
        return WallTimers.schedule(at: time.nanoseconds / 1_000_000_000, fire)
    }
}
