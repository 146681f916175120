import DequeModule

/// What waits for a coordinator and what it works on, as plain state under its node's lock.
struct Mailbox {
    /// One thing to do, in order of arrival.
    enum Item {
        case message(Envelope, MessageRow)
        case lifecycle(AnyChild, LifecycleChange)
        case unhandled(UnhandledMessage)

        var envelope: Envelope? {
            if case .message(let envelope, _) = self { envelope } else { nil }
        }
    }

    /// Waiting and running together may be this many; senders of more wait.
    static let capacity = 1_024

    private(set) var waiting: Deque<Item> = []
    private(set) var running = 0
    private(set) var isDraining = false

    /// - Returns: whether somebody has to begin draining.
    mutating func append(_ item: Item) -> Bool {
        waiting.append(item)
        guard !isDraining else { return false }
        isDraining = true
        return true
    }

    /// The next items to begin, or nothing: draining has ended then.
    mutating func takeBatch(of limit: Int = 64) -> [Item] {
        let batch = Array(waiting.prefix(limit))
        waiting.removeFirst(batch.count)
        running += batch.count
        if batch.isEmpty { isDraining = false }
        return batch
    }

    mutating func itemEnded() {
        running -= 1
    }

    /// Everything that waits, taken out.
    mutating func removeAll() -> [Item] {
        defer { waiting = [] }
        return Array(waiting)
    }
}
