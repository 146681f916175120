import ConcurrencySupport
import DequeModule
import WireProtocol

/// The waiting and the running messages of a coordinator, as plain state under its node's lock.
struct Mailbox {
    /// One thing to do, in order of arrival.
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

    private let policy: MailboxPolicy
    private var messages: Deque<Arrival> = []
    /// The notices, which neither a pause nor a full mailbox delays.
    private var notices: Deque<Arrival> = []
    /// Messages that wait for what their rows need.
    private var needing: Deque<Item> = []
    private var next: UInt64 = 0
    /// Messages that wait or run, and their bytes.
    private var count = 0
    private var bytes = 0
    private var running = 0
    private var runningBytes = 0
    private var events = 0
    private var eventBytes = 0
    private(set) var isPaused = false
    private(set) var isDraining = false
    private var isClosed = false
    /// An ask is on its way to the coordinator in the asker's task: nothing may overtake it.
    private var isReserved = false
    private var arrivalsWhileFull = 0

    init(_ policy: MailboxPolicy) { self.policy = policy }

    /// Takes a message, as the policy says.
    ///
    /// - Parameter isNeeding: what its row needs isn't there yet.
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
                // What runs already can't be dropped.
                while isFull(for: envelope), let next = removeOldestMessage() { oldest.append(next) }
                if oldest.isEmpty { return .dropped }
                admission = .instead(of: oldest)
            }
        }
        // Not before those of its kind that wait already.
        let isNeeding = isNeeding || !row.needs.isEmpty && needing.contains { $0.rowIndex == row.index }
        count += 1
        bytes += envelope.size
        if isNeeding { needing.append(.message(envelope, row)) } else { append(message: .message(envelope, row)) }
        return admission
    }

    /// Takes what isn't a message.
    ///
    /// - Returns: the events that had to give way.
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

    /// Nothing waits and nothing runs.
    var isIdle: Bool { count == 0 && notices.isEmpty && !isPaused && !isDraining }

    /// Keeps everything waiting for an ask that runs in its asker's task.
    ///
    /// - Returns: false when something waits or runs: the ask wouldn't be the next.
    mutating func reserve() -> Bool {
        guard isIdle, !isReserved else { return false }
        isReserved = true
        return true
    }

    mutating func endReservation() { isReserved = false }

    /// - Returns: whether the caller has to begin draining.
    mutating func beginDraining() -> Bool {
        guard !isDraining, !isReserved, !isClosed, !notices.isEmpty || mayBeginMessage else { return false }
        isDraining = true
        return true
    }

    /// The next items to begin, or nothing: draining has ended then.
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

    /// Nothing begins any more.
    mutating func close() { isClosed = true }

    /// Messages wait from now on; what has begun goes on.
    mutating func pause() { isPaused = true }

    mutating func resume() { isPaused = false }

    /// Lets go what has waited for a dependency, in order.
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

    /// The messages that wait, taken out.
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
        // Waiting and running together are bounded: those that were let in beyond that wait for their turn.
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
        count >= policy.messages || count > 0 && bytes + envelope.size > policy.bytes
    }

    /// Whose asker has given up takes no room; looked for now and then while the mailbox is full.
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
