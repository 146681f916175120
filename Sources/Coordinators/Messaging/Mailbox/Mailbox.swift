import ConcurrencySupport
import DequeModule
import WireProtocol

/// The waiting and the running messages of a coordinator, as plain state under its node's lock.
struct Mailbox {
    /// A message, or a notice to the coordinator; each begins in the order of its arrival.
    enum Item {
        case message(Envelope, MessageRow)
        case lifecycle(AnyChild, LifecycleChange)
        case event(AnyChild, Answer)
        case dismissal(AnyChild, OneShot<DismissalDecision>)
        case popped(JSONValue?)
        case unhandled(UnhandledMessage)

        var envelope: Envelope? {
            if case .message(let envelope, _) = self { envelope } else { nil }
        }

        fileprivate var rowIndex: Int? {
            if case .message(_, let row) = self { row.index } else { nil }
        }

        var isEvent: Bool {
            if case .event = self { true } else { false }
        }

        fileprivate var eventBytes: Int {
            if case .event(_, let event) = self { event.receivedBytes } else { 0 }
        }
    }

    /// The decision about a message that arrives.
    enum Admission {
        /// The message is accepted.
        case admitted
        /// The message is accepted, and its sender waits for it to begin.
        case delayed
        /// The message is accepted instead of these.
        case instead(of: [(Envelope, MessageRow)])
        case refused
        case dropped
    }

    /// The number of events of children that may wait.
    static let eventLimit = 1_024
    /// The number of bytes of events from other processes that may wait for a parent, or for an observer; one may wait whatever its size.
    static let eventBytesLimit = 4 << 20

    /// An item and its turn among all that have arrived.
    private struct Arrival {
        let turn: UInt64
        let item: Item
    }

    /// Asks that are on their way to the coordinator in their askers' tasks.
    private struct Reservations {
        var count = 0
        var bytes = 0
        /// The priority of their tasks: an executor runs the jobs of one priority in order.
        var priority = TaskPriority.medium
    }

    private let policy: MailboxPolicy
    private var messages: Deque<Arrival> = []
    /// The notices, which neither a pause nor a full mailbox delays.
    private var notices: Deque<Arrival> = []
    /// The messages that wait for the dependencies of their rows.
    private var needing: Deque<Item> = []
    private var next: UInt64 = 0
    /// The number of messages that wait or run.
    private var count = 0
    private var bytes = 0
    private var running = 0
    private var runningBytes = 0
    private var events = 0
    private var eventBytes = 0
    private(set) var isPaused = false
    private(set) var isDraining = false
    private var isClosed = false
    /// The asks that are on their way to the coordinator in their askers' tasks: nothing may overtake them.
    private var reservations = Reservations()
    private var arrivalsWhileFull = 0

    init(_ policy: MailboxPolicy) { self.policy = policy }

    /// Takes a message, as the policy demands.
    ///
    /// - Parameter isNeeding: Whether a dependency of its row isn't provided yet.
    mutating func take(_ envelope: Envelope, _ row: MessageRow, isNeeding: Bool) -> Admission {
        var admission = Admission.admitted
        if isFull(for: envelope) { forgetWithdrawn() }
        if isFull(for: envelope) {
            switch policy.whenFull {
            case .wait: admission = .delayed
            case .fail: return .refused
            case .dropNewest: return .dropped
            case .dropOldest:
                var oldest: [(Envelope, MessageRow)] = []
                // A message that runs already can't be dropped.
                while isFull(for: envelope), let next = removeOldestMessage() { oldest.append(next) }
                if oldest.isEmpty { return .dropped }
                admission = .instead(of: oldest)
            }
        }
        // A message must not begin before messages of the same row that wait already.
        let isNeeding = isNeeding || !row.needs.isEmpty && needing.contains { $0.rowIndex == row.index }
        count += 1
        bytes += envelope.size
        if isNeeding { needing.append(.message(envelope, row)) } else { append(message: .message(envelope, row)) }
        return admission
    }

    /// Takes an item that isn't a message.
    ///
    /// - Returns: The events that were dropped to make room.
    mutating func append(_ item: Item) -> [Item] {
        next += 1
        notices.append(Arrival(turn: next, item: item))
        guard item.isEvent else { return [] }
        events += 1
        eventBytes += item.eventBytes
        var dropped: [Item] = []
        while events > Self.eventLimit || events > 1 && eventBytes > Self.eventBytesLimit,
            let oldest = notices.firstIndex(where: { $0.item.isEvent })
        {
            let item = notices.remove(at: oldest).item
            forgetEvent(item)
            dropped.append(item)
        }
        return dropped
    }

    private mutating func forgetEvent(_ item: Item) {
        events -= 1
        eventBytes -= item.eventBytes
    }

    /// The number of messages that wait or run.
    var messageCount: Int { count }

    /// Whether nothing waits and nothing runs.
    var isIdle: Bool { count == 0 && notices.isEmpty && !isPaused && !isDraining }

    /// Holds back all other items for an ask that runs in its asker's task.
    ///
    /// - Parameters:
    ///   - size: The size of the message in bytes.
    ///   - priority: The priority of the task.
    /// - Returns: False when an item waits or runs, so that the ask wouldn't be the next, or the ask has no room.
    mutating func reserve(_ size: Int, _ priority: TaskPriority) -> Bool {
        guard isIdle else { return false }
        if reservations.count == 0 {
            reservations.priority = priority
        } else {
            guard reservations.priority == priority, reservations.count < policy.messages, reservations.bytes + size <= policy.bytes else {
                return false
            }
        }
        reservations.count += 1
        reservations.bytes += size
        return true
    }

    mutating func endReservation(_ size: Int) {
        reservations.count -= 1
        reservations.bytes -= size
    }

    /// Notes that draining begins, if there is a need.
    ///
    /// - Returns: Whether the caller has to begin draining.
    mutating func beginDraining() -> Bool {
        guard !isDraining, reservations.count == 0, !isClosed, !notices.isEmpty || mayBeginMessage else { return false }
        isDraining = true
        return true
    }

    /// Removes and returns the next items to begin; none when draining has ended.
    mutating func takeBatch(of limit: Int = 64) -> [Item] {
        var batch: [Item] = []
        while batch.count < limit, !isClosed, let item = takeNext() { batch.append(item) }
        if batch.isEmpty { isDraining = false }
        return batch
    }

    mutating func ended(_ item: Item) {
        if let envelope = item.envelope {
            forget(envelope)
            running -= 1
            runningBytes -= envelope.size
        } else if item.isEvent {
            forgetEvent(item)
        }
    }

    /// Closes the mailbox: no item begins any more.
    mutating func close() { isClosed = true }

    /// Pauses the mailbox: messages wait from now on, and handlers that have begun go on.
    mutating func pause() { isPaused = true }

    mutating func resume() { isPaused = false }

    /// Releases the messages that have waited for a dependency that is now provided, in order.
    mutating func release(where isSatisfied: (MessageRow) -> Bool) {
        let waiting = needing
        needing = []
        for item in waiting {
            if case .message(_, let row) = item, isSatisfied(row) { append(message: item) } else { needing.append(item) }
        }
    }

    var hasNeeding: Bool { !needing.isEmpty }

    /// The dependencies that waiting messages need.
    var needs: [MessageRow.Needs] {
        needing.compactMap { if case .message(_, let row) = $0 { row.needs } else { nil } }
    }

    /// Removes and returns the messages that wait.
    mutating func removeMessages() -> [Item] {
        defer { (messages, needing, count, bytes) = ([], [], running, runningBytes) }
        return messages.map(\.item) + needing
    }

    /// Removes and returns all waiting items.
    mutating func removeAll() -> [Item] {
        defer { (messages, notices, needing, count, bytes, events, eventBytes) = ([], [], [], running, runningBytes, 0, 0) }
        return messages.map(\.item) + needing + notices.map(\.item)
    }

    private var mayBeginMessage: Bool {
        guard !isPaused, let first = messages.first?.item.envelope else { return false }
        // The messages that wait and run are bounded together: those that were accepted beyond the limits wait for their turn.
        return running == 0 || running < policy.messages && runningBytes + first.size <= policy.bytes
    }

    private mutating func takeNext() -> Item? {
        guard mayBeginMessage, let message = messages.first else { return notices.popFirst()?.item }
        if let notice = notices.first, notice.turn < message.turn { return notices.popFirst()?.item }
        messages.removeFirst()
        running += 1
        runningBytes += message.item.envelope?.size ?? 0
        return message.item
    }

    private mutating func append(message: Item) {
        next += 1
        messages.append(Arrival(turn: next, item: message))
    }

    private mutating func removeOldestMessage() -> (Envelope, MessageRow)? {
        guard case .message(let envelope, let row) = messages.popFirst()?.item ?? needing.popFirst() else { return nil }
        forget(envelope)
        return (envelope, row)
    }

    private func isFull(for envelope: Envelope) -> Bool {
        let (count, bytes) = (count + reservations.count, bytes + reservations.bytes)
        return count >= policy.messages || count > 0 && bytes + envelope.size > policy.bytes
    }

    /// Forgets messages whose askers have given up, so that they take no room; called now and then while the mailbox is full.
    private mutating func forgetWithdrawn() {
        arrivalsWhileFull += 1
        guard arrivalsWhileFull >= max(policy.messages / 4, 1) else { return }
        arrivalsWhileFull = 0
        let (former, formerNeeding) = (messages, needing)
        messages = []
        needing = []
        for arrival in former where isStillWanted(arrival.item) { messages.append(arrival) }
        for item in formerNeeding where isStillWanted(item) { needing.append(item) }
    }

    private mutating func isStillWanted(_ item: Item) -> Bool {
        guard let envelope = item.envelope, envelope.isWithdrawn else { return true }
        forget(envelope)
        return false
    }

    private mutating func forget(_ envelope: Envelope) {
        count -= 1
        bytes -= envelope.size
    }
}
