import Logging
import Synchronization
import WireProtocol

extension Node {
    /// Takes a message for one of this coordinator's rows.
    ///
    /// Messages begin in the order in which they are taken.
    func accept(_ envelope: Envelope, _ row: MessageRow) {
        let (isTaken, isAdmitted, instance) = state.withLock { state -> (Bool, Bool, (any Coordinator)?) in
            switch state.phase {
            case .starting, .active: break
            case .stopping: guard CoordinatorPath.isStrictlyBelow(envelope.sender, path) else { return (false, false, nil) }
            case .stopped: return (false, false, nil)
            }
            let isAdmitted = state.mailbox.waiting.count + state.mailbox.running < Mailbox.capacity
            let mustDrain = state.mailbox.append(.message(envelope, row))
            return (true, isAdmitted, mustDrain ? state.instance : nil)
        }
        guard isTaken else { return envelope.end(.failure(CoordinatorError.hasStopped(path))) }
        if envelope.isOneWay, isAdmitted, !row.isInterceptor { envelope.complete(.success(.none)) }
        if let instance { beginDraining(instance) }
    }

    /// Queues what isn't a message, in order with those that are.
    func post(_ item: Mailbox.Item) {
        let instance = state.withLock { state -> (any Coordinator)? in
            guard state.phase != .stopped else { return nil }
            return state.mailbox.append(item) ? state.instance : nil
        }
        if let instance { beginDraining(instance) }
    }

    func beginDraining(_ instance: any Coordinator) {
        Task { await self.drain(on: instance) }
    }

    /// Begins what waits, one after the other, each up to its first suspension.
    ///
    /// A Swift actor alone doesn't promise to run jobs in the order of their arrival; here the order is the queue's.
    private func drain(on instance: isolated any Coordinator) {
        while true {
            let batch = state.withLock { $0.mailbox.takeBatch() }
            if batch.isEmpty { return }
            for item in batch { begin(item, on: instance) }
        }
    }

    private func begin(_ item: Mailbox.Item, on instance: isolated any Coordinator) {
        if case .message(let envelope, _) = item, envelope.hasEnded, !envelope.isOneWay {
            // Cancelled or timed out while it waited: it never runs.
            return itemEnded(nil)
        }
        let id = state.withLock { state -> UInt64 in
            state.nextHandler += 1
            state.handlers[state.nextHandler] = Node.Handler(envelope: item.envelope)
            return state.nextHandler
        }
        let task = Task.immediate {
            await self.perform(item, on: instance)
            self.itemEnded(id)
        }
        let mustCancel = state.withLock { state -> Bool in
            // It may have ended before it could be noted down.
            guard state.handlers[id] != nil else { return false }
            state.handlers[id]?.task = task
            return state.areHandlersCancelled
        }
        if mustCancel { task.cancel() }
        item.envelope?.work { task.cancel() }
    }

    private func perform(_ item: Mailbox.Item, on instance: isolated any Coordinator) async {
        switch item {
        case .message(let envelope, let row):
            if envelope.isOneWay, !row.isInterceptor { envelope.complete(.success(.none)) }
            do {
                let answer = try await row.body(instance, envelope, self)
                envelope.complete(.success(envelope.isOneWay ? .none : answer))
            } catch {
                fail(envelope, row, error)
            }
        case .lifecycle(let child, let change):
            for body in type.table.lifecycle { await body(instance, child, change) }
        case .unhandled(let message):
            await instance.unhandled(message)
        }
    }

    private func fail(_ envelope: Envelope, _ row: MessageRow, _ error: any Error) {
        let isUnhandled = (error as? CoordinatorError)?.code == .unhandled
        if envelope.isOneWay, !isUnhandled {
            runtime.deadLetters.record(.init(message: row.name, sender: envelope.sender, target: path, reason: .handlerFailed("\(error)")))
            logger.warning(
                "a handler of a one-way message failed",
                metadata: ["message.name": "\(row.name)", "message.sender": "\(envelope.sender)", "error": "\(error)"]
            )
        }
        envelope.complete(.failure(Failures.crossable(error)))
    }

    private func itemEnded(_ handler: UInt64?) {
        let waiters = state.withLock { state -> [CheckedContinuation<Void, Never>] in
            if let handler { state.handlers[handler] = nil }
            state.mailbox.itemEnded()
            guard state.handlers.isEmpty else { return [] }
            defer { state.idleWaiters = [] }
            return state.idleWaiters
        }
        for waiter in waiters { waiter.resume() }
    }
}

extension CoordinatorPath {
    static func isStrictlyBelow(_ path: CoordinatorPath, _ ancestor: CoordinatorPath) -> Bool {
        path != ancestor && path.isWithin(ancestor)
    }
}
