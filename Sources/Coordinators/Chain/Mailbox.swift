import DequeModule
import WireProtocol

/// What waits for a coordinator and what it works on, as plain state under its node's lock.
struct Mailbox {
    /// One thing to do, in order of arrival.
    enum Item {
        case message(Envelope, MessageRow)
        case lifecycle(AnyChild, LifecycleChange)
        case event(AnyChild, Answer)
        case dismissal(AnyChild, Ending<DismissalDecision>)
        case popped(JSONValue?)
        case unhandled(UnhandledMessage)

        var envelope: Envelope? {
            if case .message(let envelope, _) = self { envelope } else { nil }
        }

        var isEvent: Bool {
            if case .event = self { true } else { false }
        }
    }

    /// What becomes of a message that arrives.
    enum Admission {
        /// It's taken.
        case admitted
        /// It's taken, and its sender waits for it to begin.
        case delayed
        /// It's taken instead of this one.
        case instead(of: Envelope, MessageRow)
        case refused
        case dropped
    }

    /// How many events of children may wait.
    static let eventLimit = 1_024

    private let policy: MailboxPolicy
    private var waiting: Deque<Item> = []
    /// Messages that wait for the coordinator to be resumed.
    private var paused: Deque<Item> = []
    /// Messages that wait for what their rows need.
    private var needing: Deque<Item> = []
    private var messages = 0
    private var bytes = 0
    private var events = 0
    private(set) var isDraining = false
    private(set) var isPaused = false

    init(_ policy: MailboxPolicy) { self.policy = policy }

    /// How many messages wait or run.
    var messageCount: Int { messages }

    /// Takes a message, as the policy says.
    ///
    /// - Parameter isNeeding: what its row needs isn't there yet.
    mutating func take(_ envelope: Envelope, _ row: MessageRow, isNeeding: Bool) -> Admission {
        var admission = Admission.admitted
        if messages >= policy.messages || bytes + envelope.size > max(policy.bytes, envelope.size) {
            switch policy.whenFull {
            case .wait: admission = .delayed
            case .fail: return .refused
            case .dropNewest: return .dropped
            case .dropOldest:
                // What runs already can't be dropped.
                guard let (oldest, oldestRow) = removeOldestMessage() else { return .dropped }
                admission = .instead(of: oldest, oldestRow)
            }
        }
        messages += 1
        bytes += envelope.size
        if isNeeding {
            needing.append(.message(envelope, row))
        } else if isPaused {
            paused.append(.message(envelope, row))
        } else {
            waiting.append(.message(envelope, row))
        }
        return admission
    }

    /// Takes what isn't a message.
    ///
    /// - Returns: an event that had to give way.
    mutating func append(_ item: Item) -> Item? {
        waiting.append(item)
        guard item.isEvent else { return nil }
        events += 1
        guard events > Self.eventLimit, let oldest = waiting.firstIndex(where: \.isEvent) else { return nil }
        events -= 1
        return waiting.remove(at: oldest)
    }

    /// - Returns: whether somebody has to begin draining.
    mutating func beginDraining() -> Bool {
        guard !isDraining, !waiting.isEmpty else { return false }
        isDraining = true
        return true
    }

    /// The next items to begin, or nothing: draining has ended then.
    mutating func takeBatch(of limit: Int = 64) -> [Item] {
        var batch: [Item] = []
        while batch.count < limit, let item = waiting.popFirst() {
            if isPaused, item.envelope != nil { paused.append(item) } else { batch.append(item) }
        }
        if batch.isEmpty { isDraining = false }
        return batch
    }

    mutating func ended(_ item: Item) {
        if let envelope = item.envelope {
            messages -= 1
            bytes -= envelope.size
        } else if item.isEvent {
            events -= 1
        }
    }

    /// Messages wait from now on; what has begun goes on.
    mutating func pause() { isPaused = true }

    /// What has waited comes first.
    mutating func resume() {
        isPaused = false
        waiting = paused + waiting
        paused = []
    }

    /// Lets go what has waited for a dependency, in order.
    mutating func release(where isSatisfied: (MessageRow) -> Bool) {
        var remaining: Deque<Item> = []
        for item in needing {
            if case .message(_, let row) = item, isSatisfied(row) {
                if isPaused { paused.append(item) } else { waiting.append(item) }
            } else {
                remaining.append(item)
            }
        }
        needing = remaining
    }

    var hasNeeding: Bool { !needing.isEmpty }

    /// Everything that waits, taken out.
    mutating func removeAll() -> [Item] {
        defer { (waiting, paused, needing, messages, bytes, events) = ([], [], [], 0, 0, 0) }
        return Array(waiting) + Array(paused) + Array(needing)
    }

    private mutating func removeOldestMessage() -> (Envelope, MessageRow)? {
        if let index = paused.firstIndex(where: { $0.envelope != nil }) { return forget(paused.remove(at: index)) }
        if let index = waiting.firstIndex(where: { $0.envelope != nil }) { return forget(waiting.remove(at: index)) }
        if let index = needing.firstIndex(where: { $0.envelope != nil }) { return forget(needing.remove(at: index)) }
        return nil
    }

    private mutating func forget(_ item: Item) -> (Envelope, MessageRow)? {
        guard case .message(let envelope, let row) = item else { return nil }
        ended(item)
        return (envelope, row)
    }
}
