public import WireProtocol

extension ControlClient {
    /// Requests an operation whose answer is a stream, and calls a function for each item until the stream ends.
    ///
    /// The daemon waits for a function that takes long, with this connection's other answers too: a stream that isn't read quickly has a
    /// connection of its own. The daemon ends the stream when the task is cancelled or the function throws.
    ///
    /// - Parameter untilSilent: whether the stream ends with `.timedOut` when nothing comes for some seconds and the daemon answers no question
    ///   then; otherwise there is no time-out.
    /// - Returns: the result that ends the stream.
    /// - Throws: the daemon's error, `.cancelled`, `.unreachable` when the daemon goes away, and the function's error.
    public func stream(
        _ operation: ControlOperation,
        untilSilent: Bool = false,
        each body: (JSONValue) async throws(ControlError) -> Void
    ) async throws(ControlError) -> JSONValue {
        let items = try await items(of: operation)
        while true {
            switch try await untilSilent ? items.nextUnlessSilent() : items.next() {
            case .items(let items): for item in items { try await body(item) }
            case .end(let result): return result
            }
        }
    }

    /// Requests an operation whose answer is a stream, and returns its items to be read one after the other.
    ///
    /// What is said of ``stream(_:untilSilent:each:)`` is true here too; the daemon ends the stream when its items are released.
    public func items(of operation: ControlOperation) async throws(ControlError) -> ControlItems {
        try await items(of: operation, origin: nil)
    }

    func items(of operation: ControlOperation, origin: RequestOrigin?) async throws(ControlError) -> ControlItems {
        let queue = ItemQueue()
        return ControlItems(self, try await sendCall(operation, queue, origin: origin), queue)
    }
}

/// The items of a stream, read by one task.
public final class ControlItems: Sendable {
    /// What comes next.
    public enum Next: Sendable {
        /// The items that have come since the last ones.
        case items([JSONValue])
        /// The stream has ended with this result.
        case end(JSONValue)
    }

    private let client: ControlClient
    private let id: Int64
    private let queue: ItemQueue

    init(_ client: ControlClient, _ id: Int64, _ queue: ItemQueue) { (self.client, self.id, self.queue) = (client, id, queue) }

    deinit {
        // The daemon doesn't mind the word about a stream that has ended.
        client.abandon(id)
        client.end(id, queue)
    }

    /// Whether items have come that weren't read yet.
    var hasUnread: Bool { queue.hasUnread }

    /// Waits for what comes next.
    ///
    /// - Throws: the daemon's error, `.cancelled` when the task is cancelled, `.unreachable` when the daemon goes away.
    public func next() async throws(ControlError) -> Next { try Next(await queue.next()) }

    /// Waits for what comes next, as long as the daemon answers questions.
    ///
    /// - Throws: `.timedOut` when it doesn't; else the errors of ``next()``.
    func nextUnlessSilent() async throws(ControlError) -> Next {
        let next = await withTaskGroup(of: ItemQueue.Next?.self) { [client, queue] group in
            group.addTask { await queue.next() }
            group.addTask {
                await client.waitUntilSilent()
                return nil
            }
            let first = await group.next() ?? nil
            group.cancelAll()
            return first
        }
        if let next { return try Next(next) }
        guard Task.isCancelled else { throw client.silence }
        return try Next(.cancelled)
    }
}

extension ControlItems.Next {
    fileprivate init(_ next: ItemQueue.Next) throws(ControlError) {
        switch next {
        case .end(let outcome): self = .end(try outcome.get())
        case .cancelled: throw ControlError(.cancelled, "the request was cancelled")
        case .items(let items): self = .items(items)
        }
    }
}
