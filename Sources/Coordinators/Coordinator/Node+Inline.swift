import ConcurrencySupport
import Logging
import Synchronization

extension Node {
    /// Carries out an inline row for a message, in the thread of the caller.
    ///
    /// - Returns: False when the message has to wait in the mailbox, because the coordinator isn't ready, is paused or stops, or an earlier
    ///   message for such a row waits there.
    func answer(_ envelope: Envelope, _ row: MessageRow, _ inline: InlineRow) -> Bool {
        guard let instance = instanceForInlineRow(isForwarding: inline.isForwarding) else { return false }
        switch inline.work {
        case .answer(let body): answer(envelope, row, inline, by: body, on: instance)
        case .forward(let target): forward(envelope, to: target)
        }
        return true
    }

    private func answer(
        _ envelope: Envelope,
        _ row: MessageRow,
        _ inline: InlineRow,
        by body: InlineRow.Body,
        on instance: any Coordinator
    ) {
        envelope.release()
        guard envelope.begin() else { return }
        if envelope.isOneWay { envelope.complete(.success(.none)) }
        let began = MonotonicTime.now
        conclude(envelope, row, handleAtOnce(envelope) { try body(instance, envelope) })
        switch envelope.asker {
        case .peer, .taken: noteIfSlow(inline, envelope, since: began)
        case .task, .relay, .function: break
        }
    }

    /// Returns the coordinator, if a message of an inline row needn't wait in its mailbox; the caller then handles the message, or forwards it.
    func instanceForInlineRow(isForwarding: Bool = false) -> (any Coordinator)? {
        state.withLock { state in
            switch state.life.phase {
            case .starting, .active: break
            case .draining, .stopping, .stopped: return nil
            }
            guard state.mailbox.admitsInline, let instance = state.life.instance else { return nil }
            if !isForwarding { state.mailbox.noteHandled() }
            return instance
        }
    }

    /// Logs once that a body holds up the link by which its messages come.
    private func noteIfSlow(_ inline: InlineRow, _ envelope: Envelope, since began: MonotonicTime) {
        let duration = MonotonicTime.now - began
        guard duration > InlineRow.patience, !inline.isKnownAsSlow.exchange(true, ordering: .relaxed) else { return }
        logger.warning(
            "an inline row is slow, and delays all other messages of the link: make it an ordinary row",
            metadata: ["message.name": "\(envelope.body.name)", "milliseconds": "\(duration.millisecondsClamped)"]
        )
    }
}
