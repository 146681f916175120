import ConcurrencySupport
import Logging
import Synchronization

/// A handler that runs on though its message was cancelled longer than ``Coordinator/cancellationGrace`` ago.
struct StuckHandler: Sendable {
    let envelope: Envelope
    /// The coordinator that is to blame, if it isn't the handler's own: one above, whose row the handler has called in its own task.
    let culprit: CoordinatorCell?
}

extension CoordinatorCell: WatchedReceiver {
    func cancel(_ handler: UInt64, of envelope: Envelope) {
        let task = state.withLock { $0.handlers.cancel(handler) }
        task?.cancel()
        watch(HandlerWatch.Subject(of: self, envelope: envelope, handler: handler))
    }

    func noteCancellation(of envelope: Envelope) -> Bool {
        guard state.withLock({ $0.handlesAtOnce(envelope) }) else { return false }
        watch(HandlerWatch.Subject(of: self, envelope: envelope, handler: nil))
        return true
    }

    private func watch(_ subject: HandlerWatch.Subject) {
        // What a pool does with a message is to wait for a member, which is watched itself.
        if subject.envelope.isBuiltin || type.table.isPool { return }
        if !subject.envelope.isWatched.exchange(true, ordering: .relaxed) { runtime.observation.handlerWatch.add(subject) }
    }

    func overrun(of subject: HandlerWatch.Subject) -> HandlerWatch.Overrun {
        state.withLock { state in
            // A stop has a grace of its own, after which it reports what it has abandoned.
            if case .stopped = state.life.phase { return .ended }
            guard let number = subject.handler else { return state.handlesAtOnce(subject.envelope) ? .running : .ended }
            guard let handler = state.handlers.running[number] else { return .ended }
            return handler.waitsForChildren > 0 ? .waitingForChild : .running
        }
    }

    var cancellationGrace: Duration { type.cancellationGrace }

    var placesOfHandlers: [any WatchedReceiver] { lineage }

    /// This coordinator and those of this process above it.
    var lineage: [CoordinatorCell] { Array(sequence(first: self) { $0.parent }) }

    var handlesAnyAtOnce: Bool {
        state.withLock { (!$0.handlers.batch.isEmpty || $0.mailbox.acceptedSince != nil) && $0.messagesAtOnce > 0 }
    }

    func passExecutor(_ job: @Sendable () -> Void) async {
        guard let instance = state.withLock({ $0.life.instance }) else { return job() }
        await Self.run(job, on: instance)
    }

    /// Not inlined: the executor would not be needed then.
    @inline(never)
    private static func run(_ job: @Sendable () -> Void, on instance: isolated any Coordinator) { job() }

    // MARK: The verdict

    /// Whether a handler of the coordinator runs on though its message was cancelled long ago.
    var isStuck: Bool { state.withLock { $0.hasExtras && $0.extras.stuck.contains { $0.culprit == nil } } }

    func noteStuck(_ subject: HandlerWatch.Subject, culprit: (any WatchedReceiver)?) -> Bool {
        let envelope = subject.envelope
        let culprit = culprit.map { CoordinatorCell.of($0) }
        culprit?.state.withLock { $0.extras.stuck.append(StuckHandler(envelope: envelope, culprit: nil)) }
        state.withLock { state in
            state.extras.stuck.removeAll { $0.envelope === envelope }
            state.extras.stuck.append(StuckHandler(envelope: envelope, culprit: culprit))
        }
        envelope.isStuck.store(true, ordering: .relaxed)
        // A handler that ends from now on takes note of it.
        guard case .ended = overrun(of: subject) else { return true }
        noteUnstuck(envelope)
        return false
    }

    func tell(_ verdict: HandlerWatch.Verdict) { runtime.handlerIsStuck(verdict) }

    /// Notes that a handler has ended that was stuck, before its message ends.
    func noteUnstuck(_ envelope: Envelope) {
        let former = state.withLock { state -> StuckHandler? in
            guard let index = state.extras.stuck.firstIndex(where: { $0.envelope === envelope }) else { return nil }
            return state.extras.stuck.remove(at: index)
        }
        guard let former else { return }
        former.culprit?.state.withLock { $0.extras.stuck.removeAll { $0.envelope === envelope } }
        logger.notice("a handler has ended that was stuck", metadata: ["message.name": "\(envelope.body.name)"])
    }
}

extension CoordinatorCell.State {
    /// Whether a row that doesn't await is handling a message, or is about to.
    func handlesAtOnce(_ envelope: Envelope) -> Bool {
        // Most messages that are cancelled wait: no batch is begun at the moment.
        guard !handlers.batch.isEmpty else { return false }
        var rest = messagesAtOnce
        var handled: Envelope?
        for envelope in handlers.batch.reversed().lazy.compactMap(\.envelope) where rest > 0 {
            handled = envelope
            rest -= envelope.count
        }
        return handled === envelope
    }
}
