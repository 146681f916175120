import ConcurrencySupport
import WireProtocol

/// A message of an adopted worker for a child that isn't there, and whose start may be still to come.
struct EarlyMessage: Parked {
    let message: ChildSlot.ParkedMessage
    let target: ForwardTarget
    /// Whether a row has handed the message on: when no start comes, the coordinator's `open(section:)` hook may start the child.
    let isForwarded: Bool

    var envelope: Envelope { message.envelope }
}

/// The messages of adopted workers for siblings that the new root hasn't started yet.
///
/// A worker that was adopted goes on where it was, and the siblings that it has known come back one after the other. Its messages to them
/// wait until their starts are requested, and then for their starts as all messages do. When all starts were requested, a child that isn't
/// there doesn't come.
extension ChildSupervisor {
    private enum Keeping {
        /// The child's start was requested meanwhile.
        case isThere
        case kept
        case full
        case none
    }

    /// Keeps a message for a child that isn't there, if its sender is an adopted worker and the start may be still to come.
    ///
    /// - Returns: False when there is nothing to wait for.
    func keep(_ early: EarlyMessage) -> Bool {
        let runtime = node.runtime
        guard runtime.mayStillStart(for: early.envelope) else { return false }
        runtime.whenStartsAreComplete(self) { [weak self] in self?.startsAreComplete() }
        let keeping = state.withLock { state -> Keeping in
            if state.hasChild(early.target) { return .isThere }
            guard state.phase != .ended, runtime.mayStillStart(for: early.envelope) else { return .none }
            return state.early.take(early) ? .kept : .full
        }
        switch keeping {
        case .isThere: pass(early)
        case .kept: break
        case .full:
            let text = "as many messages, or bytes of them, wait for children of \(node.path) as may"
            early.envelope.end(.failure(CoordinatorError(.mailboxFull, text)))
        case .none: return false
        }
        return true
    }

    /// Takes note that no start is still to come: a message whose child isn't there waits no longer.
    func startsAreComplete() {
        let messages = state.withLock { $0.early.removeAll() }
        for early in messages where !early.envelope.hasEnded { pass(early) }
    }

    private func pass(_ early: EarlyMessage) {
        switch early.target {
        case .key(let key) where !early.isForwarded:
            deliver(early.envelope, to: key, early.message.rest, isDirect: early.message.isDirect)
        case .key, .type: node.forward(early.envelope, to: early.target)
        }
    }
}

extension ChildSupervisor.State {
    fileprivate func hasChild(_ target: ForwardTarget) -> Bool {
        switch target {
        case .key(let key): slots.contains(key)
        case .type(let name): machine.ids.contains { slots[$0]?.definition.typeName == name }
        }
    }

    /// Gives the messages that have waited for the start of a child to its new slot, in which they wait for the child.
    mutating func handOverEarlyMessages(to slot: Box<ChildSlot>) {
        guard early.isBusy else { return }
        let definition = slot.value.definition
        let messages = early.remove { early in
            switch early.target {
            case .key(let key): key == definition.key
            case .type(let name): name == definition.typeName
            }
        }
        // Beyond the limits of the slot, because they were accepted already.
        for early in messages { slot.value.record.parking.takeBack(early.message) }
    }
}
