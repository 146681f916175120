// Saves: 96 % of the processor time of an ask that one task sends after the other, within one process: 4,450 ns without it, 161 ns with it.
// Measured: `Measure asks place=local`, five rounds in turn; the instructions of each ask: `Benchmarks/guard ask-direct ask-queued`.
// Off: COORDINATORS_SLOW_PATH_ONLY: each ask is a message.

import ConcurrencySupport

/// An ask that runs in its asker's task.
struct DirectAsk {
    // Not retained, because its count of references would be shared by all askers: the asker keeps the coordinators above it, and each its rows.
    let row: Unmanaged<AnyDirectRow>
    let responder: Unmanaged<CoordinatorCell>
    /// The responder's coordinator, which has been claimed.
    let instance: any Coordinator

    /// Runs the row.
    ///
    /// - Parameter ask: The ask as the instruments know it; `nil` without instruments.
    /// - Throws: `DirectRowRefusal` when the coordinator doesn't accept messages any more; the error that the body throws.
    @inline(__always)
    func perform<M: ResponderMessage>(_ message: M, observed ask: ObservedAsk? = nil) async throws -> M.Reply {
        if row._withUnsafeGuaranteedRef({ $0.isInline }) { return try handle(message, ask) }
        let takesTurn = DirectTurn.isFor(#isolation)
        if takesTurn, !responder._withUnsafeGuaranteedRef({ $0.directTurn.takeIfFree() }) {
            await responder.takeUnretainedValue().directTurn.acquireTurn()
        }
        defer { if takesTurn { responder._withUnsafeGuaranteedRef { $0.directTurn.giveUp() } } }
        return try await begin(message, ask, on: instance)
    }

    private func begin<M: ResponderMessage>(_ message: M, _ ask: ObservedAsk?, on instance: isolated any Coordinator) throws -> M.Reply {
        guard responder._withUnsafeGuaranteedRef({ $0.directAskBegins(Envelope.size(of: M.self)) }) else { throw DirectRowRefusal() }
        return try handle(message, ask)
    }

    private func handle<M: ResponderMessage>(_ message: M, _ ask: ObservedAsk?) throws -> M.Reply {
        try row._withUnsafeGuaranteedRef { row in
            // The row was found by the type of the message.
            let row = unsafeDowncast(row, to: DirectRow<M>.self)
            if let ask { return try ask.handle(message, at: responder.takeUnretainedValue()) { try row.run($0, on: instance) } }
            do {
                return try row.run(message, on: instance)
            } catch {
                throw Failures.thrownByHandler(error)
            }
        }
    }
}

/// What instruments know of an ask that runs in its asker's task.
struct ObservedAsk {
    let sender: CoordinatorPath
    /// The time at which the coordinator was asked.
    let began = MonotonicTime.now

    init(from sender: CoordinatorPath) { self.sender = sender }

    /// Handles the message within the instruments.
    func handle<M: ResponderMessage>(_ message: M, at cell: CoordinatorCell, by body: (M) throws -> M.Reply) throws -> M.Reply {
        let info = MessageInfo(M.self, from: sender, since: began, handledBy: cell)
        do {
            return try cell.runtime.observation.instruments.aroundAtOnce(info) { try body(message) }
        } catch {
            throw Failures.thrownByHandler(error)
        }
    }
}

/// The refusal of a coordinator that doesn't accept messages any more.
///
/// An error, because an optional answer of a type that only the program knows costs a look-up of that optional's type.
struct DirectRowRefusal: Error {}

// MARK: - Rows that may run in the asker's task

/// A row whose body doesn't suspend: it may run in the asker's task.
///
/// The order of messages is kept, because no other message waits or is handled while asks are on their way, and an executor runs the jobs
/// of one priority in order; and without a suspension there is nothing that a deadline could cancel.
class DirectRow<M: ResponderMessage>: AnyDirectRow, @unchecked Sendable {
    /// Runs the body; on the executor of its coordinator, unless the row is inline.
    func run(_ message: M, on instance: any Coordinator) throws -> M.Reply { throw DirectRowRefusal() }
}

/// The base of direct rows; unchecked, but immutable, like its subclasses.
class AnyDirectRow: @unchecked Sendable {
    /// Whether the row doesn't need the coordinator's executor, nor a place at its mailbox.
    final let isInline: Bool

    init(isInline: Bool) { self.isInline = isInline }
}

/// The direct rows of a table, by the types of their messages.
struct DirectRows: Sendable {
    /// The rows that match a message.
    enum Match {
        case none
        /// One row and no other, which has a direct form; it lives as long as the table.
        case direct(Unmanaged<AnyDirectRow>)
        case other
    }

    /// The direct form of each type's only row.
    private let byType: TypeMap<AnyDirectRow?>
    /// Whether there are rows that match a prefix of the name, so that it has to be looked at.
    private let arePrefixed: Bool

    init(_ byType: [ObjectIdentifier: [MessageRow]], arePrefixed: Bool) {
        self.byType = TypeMap(byType.mapValues { $0.count == 1 ? $0[0].shortcuts.direct : nil })
        self.arePrefixed = arePrefixed
    }

    /// Returns whether rows match a message, without a look at its name.
    ///
    /// - Parameter message: The type of the message.
    func match(for message: ObjectIdentifier) -> Match {
        guard !arePrefixed else { return .other }
        guard let index = byType.index(of: message) else { return .none }
        return byType.values[index].map { .direct(.passUnretained($0)) } ?? .other
    }
}

/// A direct row that knows its coordinator's type.
final class TypedDirectRow<C: Coordinator, M: ResponderMessage>: DirectRow<M>, @unchecked Sendable {
    typealias Body = @Sendable (C, M) throws -> M.Reply

    private let body: Body

    init(inline body: @escaping Body) {
        self.body = body
        super.init(isInline: true)
    }

    init(_ body: @escaping @Sendable (isolated C, M) throws -> M.Reply) {
        // Unsafe: the types differ in what the compiler checks, and in nothing else. The body is called on the executor of its coordinator.
        self.body = unsafeBitCast(body, to: Body.self)
        super.init(isInline: false)
    }

    override func run(_ message: M, on instance: any Coordinator) throws -> M.Reply {
        // Rows are called only for coordinators of their table.
        try body(unsafeDowncast(instance, to: C.self), message)
    }
}

// MARK: - The shortcut of an ask

extension CoordinatorContext {
    /// Asks by a row that can run in this task, if there is one, and otherwise by a message that takes the whole way.
    @inline(__always)
    func shortcutAsk<M: ResponderMessage>(_ message: M, _ timeout: Duration?) async throws -> M.Reply {
        switch cell.shortcut(for: ObjectIdentifier(M.self), size: Envelope.size(of: M.self)) {
        case .row(let ask):
            do {
                // The row runs in this task and doesn't await, so that cancellation has nothing to end.
                return try await ask.perform(message)
            } catch is DirectRowRefusal {}
        case .unhandled:
            try Task.checkCancellation()
            throw cell.unhandled(M.name, of: path)
        case .observed: return try await observedAsk(message, timeout)
        case nil: break
        }
        return try await queuedAsk(message, timeout)
    }

    /// Asks within the instruments.
    private func observedAsk<M: ResponderMessage>(_ message: M, _ timeout: Duration?) async throws -> M.Reply {
        try await cell.runtime.observation.instruments.around(MessageInfo(M.self, .ask, sentBy: cell)) {
            switch cell.shortcutWithinInstruments(for: ObjectIdentifier(M.self), size: Envelope.size(of: M.self)) {
            case .row(let ask):
                do {
                    return try await ask.perform(message, observed: ObservedAsk(from: path))
                } catch is DirectRowRefusal {}
            case .unhandled:
                try Task.checkCancellation()
                throw cell.unhandled(M.name, of: path)
            case .observed, nil: break
            }
            return try await queuedAsk(message, timeout)
        }
    }
}

extension CoordinatorCell {
    /// The way of an ask that is known before there is a message.
    enum Shortcut {
        /// A row of the message's type that can run in the asker's task: its responder is in this process, and the row is inline, or the
        /// responder is idle and the row doesn't suspend.
        case row(DirectAsk)
        /// No coordinator up to the root responds.
        case unhandled
        /// Instruments observe the ask.
        case observed
    }

    /// Returns the shortcut of an ask; `nil` if it has to take the whole way.
    ///
    /// - Parameters:
    ///   - message: The type of the message.
    ///   - size: The size of the message in bytes.
    @inline(__always)
    func shortcut(for message: ObjectIdentifier, size: Int) -> Shortcut? {
        runtime.observation.instruments.areActive ? .observed : shortcutWithinInstruments(for: message, size: size)
    }

    /// Returns the shortcut of an ask that the instruments know of.
    @inline(__always)
    func shortcutWithinInstruments(for message: ObjectIdentifier, size: Int) -> Shortcut? {
        // Tasks that a stopped coordinator has left running can't ask.
        existingOpenAsks?.isClosed == true ? nil : ownShortcut(for: message, size)
    }

    /// Returns the shortcut from here up.
    private func ownShortcut(for message: ObjectIdentifier, _ size: Int) -> Shortcut? {
        // Not retained: the counts of references of the coordinators on the way are shared by all askers.
        var cell = Unmanaged.passUnretained(self)
        while true {
            switch cell._withUnsafeGuaranteedRef({ $0.type.table.directRows.match(for: message) }) {
            case .direct(let row): return cell._withUnsafeGuaranteedRef { $0.claim(row, size) }.map { .row($0) }
            case .other: return nil
            case .none:
                guard let parent = cell._withUnsafeGuaranteedRef({ $0.parentInside }) else {
                    return cell._withUnsafeGuaranteedRef { $0.isRoot } ? .unhandled : nil
                }
                cell = parent
            }
        }
    }

    /// The parent, unless there is a border in between.
    private var parentInside: Unmanaged<CoordinatorCell>? { border == nil ? parent.map { .passUnretained($0) } : nil }

    /// Returns the ask that a row of this coordinator can handle in the asker's task.
    private func claim(_ row: Unmanaged<AnyDirectRow>, _ size: Int) -> DirectAsk? {
        let instance = row._withUnsafeGuaranteedRef { $0.isInline } ? instanceForInlineRow() : takeDirectAsk(size)
        return instance.map { DirectAsk(row: row, responder: .passUnretained(self), instance: $0) }
    }

    /// Claims the coordinator for a direct ask, if no message waits for it or is handled: the ask is then the next.
    private func takeDirectAsk(_ size: Int) -> (any Coordinator)? {
        let priority = Task.currentPriority.rawValue
        return state.withLock { state in
            guard state.life.phase == .active, state.mailbox.reserve(size, priority) else { return nil }
            return state.life.instance
        }
    }

    /// Begins a direct ask, which now runs on its coordinator's executor; messages that have arrived meanwhile begin after it.
    ///
    /// - Returns: False when the coordinator is stopping.
    func directAskBegins(_ size: Int) -> Bool {
        let (isActive, run) = state.withLock { state -> (Bool, MailboxRun?) in
            let isActive = state.life.phase == .active
            state.mailbox.endReservation(size, isHandled: isActive)
            return (isActive, state.mailboxRunToBegin())
        }
        if let run { runMailbox(run) }
        return isActive
    }
}

// MARK: - The room of an ask that is on its way

extension Mailbox {
    /// Asks that are on their way to the coordinator in their askers' tasks.
    struct Reservations {
        fileprivate(set) var bytes = 0
        fileprivate(set) var count: Int32 = 0
        /// The priority of their tasks: an executor runs the jobs of one priority in order.
        ///
        /// Its number, because the type's layout is known only at run time, and so would be that of all that contains it.
        fileprivate var priority: UInt8 = 0
    }

    /// Holds back all other items for an ask that runs in its asker's task.
    ///
    /// - Parameters:
    ///   - size: The size of the message in bytes.
    ///   - priority: The priority of the task, as a number.
    /// - Returns: False when an item waits or runs, so that the ask wouldn't be the next, or the ask has no room.
    mutating func reserve(_ size: Int, _ priority: UInt8) -> Bool {
        guard isIdle else { return false }
        if reservations.count == 0 {
            reservations.priority = priority
        } else {
            let isFull = reserved.count - policy.waiting >= policy.running || reservations.bytes + size > policy.bytes
            guard reservations.priority == priority, !isFull else { return false }
        }
        reservations.count += 1
        reservations.bytes += size
        return true
    }

    /// - Parameter isHandled: Whether the ask is handled now.
    mutating func endReservation(_ size: Int, isHandled: Bool = true) {
        reservations.count -= 1
        reservations.bytes -= size
        if isHandled { noteHandled() }
    }
}
