import ConcurrencySupport
import Supervision
import WireProtocol

extension ChildSupervisor {
    /// Returns when every message for a child has been handed to its host.
    func waitUntilNoneIsParked() async {
        let handed = OneShot<Void>()
        let isAnyParked = state.withLock { state in
            let isAnyParked = state.isAnyParked
            if isAnyParked { state.drainWaiters.append(handed) }
            return isAnyParked
        }
        if isAnyParked { await handed.value }
    }

    /// Resumes the callers that wait for the kept messages when no message is kept any more.
    func wakeIfNoneIsParked() {
        let waiters = state.withLock { state -> [OneShot<Void>] in
            guard !state.drainWaiters.isEmpty, !state.isAnyParked else { return [] }
            defer { state.drainWaiters = [] }
            return state.drainWaiters
        }
        for waiter in waiters { waiter.settle(()) }
    }

    /// The decision about a message for a child.
    enum Delivery {
        /// `isTracked`: the end of the delivery has to be noted.
        case delivered(to: any ChildHost, isTracked: Bool)
        case parked
        /// The child is being removed because it had nothing to do.
        case gone
        case refused(CoordinatorError)
    }

    /// Delivers a message to a child or to a coordinator below it.
    ///
    /// While the child isn't ready, the message waits for it, until the deadline.
    func deliver(_ envelope: Envelope, to key: String, _ rest: ArraySlice<Substring>, isDirect: Bool) {
        let message = ParkedMessage(envelope: envelope, rest: rest, isDirect: isDirect)
        if !isElsewhere(message, key) { deliverHere(message, to: key) }
    }

    /// Delivers a message to a child of this node, or to a coordinator below it.
    func deliverHere(_ message: ParkedMessage, to key: String) {
        if deliverIfHere(message, to: key) { return }
        if keep(UnclaimedMessage(message: message, target: .key(key), isForwarded: false)) { return }
        giveUp(message, to: key, CoordinatorError(.noSuchPath, "there is no coordinator at \(cell.path.appending(key))"))
    }

    /// Delivers a message as ``deliver(_:to:_:isDirect:)`` does, if there is a child with the key that isn't being removed because it had
    /// nothing to do.
    func deliverIfPresent(_ envelope: Envelope, to key: String, _ rest: ArraySlice<Substring>, isDirect: Bool) -> Bool {
        let message = ParkedMessage(envelope: envelope, rest: rest, isDirect: isDirect)
        return isElsewhere(message, key) || deliverIfHere(message, to: key)
    }

    /// Hands a message to the node that has the child, if that is another one.
    private func isElsewhere(_ message: ParkedMessage, _ key: String) -> Bool {
        guard cell.parent == nil, let nodes = cell.runtime.placed else { return false }
        return nodes.deliverElsewhere(message, for: key)
    }

    private func deliverIfHere(_ message: ParkedMessage, to key: String) -> Bool {
        let path = cell.path.appending(key)
        switch withSlot(key, { $0.accept(message, at: path) }) {
        case .delivered(let host, let isTracked)?:
            host.deliver(message.envelope, to: message.rest, isDirect: message.isDirect)
            if isTracked { withSlot(key) { $0.record.deliveries -= 1 } }
        case .parked?: break
        case .refused(let error)? where error.code == .stopped || error.code == .failed: giveUp(message, to: key, error)
        case .refused(let error)?: message.envelope.end(.failure(error))
        case .gone?, nil: return false
        }
        return true
    }

    /// Takes back a message that a life of the child could not be sent, before all later ones; it's kept beyond the limits, because it was
    /// accepted already.
    ///
    /// - Returns: False when the child doesn't wait for a life or a link, or the message may have been handled by a life that has ended.
    func park(returned message: ParkedMessage, from life: IncarnationID) -> Bool {
        withSlot(life.key) { slot in
            if message.envelope.mayBeHandled, slot.incarnation != life.incarnation || slot.phase.life == nil { return false }
            switch slot.phase {
            case .vacant where slot.phase.isVacant(beyond: message.envelope.deadline): return false
            case .vacant, .starting, .exitedEarly, .held, .flushing:
                slot.record.parking.takeBack(message)
                return true
            case .active, .draining, .down: return false
            }
        } ?? false
    }

    /// Ends the messages for a life that may have been handled, because the life has ended; its successor can't tell.
    func endWhatMayBeHandled(by life: IncarnationID) {
        let messages = withSlot(life.key) { slot -> [ParkedMessage] in
            guard slot.incarnation == life.incarnation, slot.hasParked else { return [] }
            return slot.record.parking.remove(where: \.mayBeHandled)
        }
        for message in messages ?? [] { message.envelope.end(.failure(lost(life))) }
        wakeIfNoneIsParked()
    }

    /// Ends a message that has waited for a child which takes none any more; a pool hands it to another member.
    func giveUp(_ message: ParkedMessage, to key: String, _ error: any Error) {
        let envelope = message.envelope
        if envelope.endIfOpen(.failure(envelope.canBeMoved ? PoolReassignment() : error)) { return }
        // One that was accepted already has come back from a life that has failed: its sender isn't informed any more.
        guard envelope.isOneWay, !envelope.isWithdrawn else { return }
        let path = cell.path.appending(key).appending(message.rest)
        let letter = DeadLetter(name: envelope.body.name, sender: envelope.sender, target: path, reason: .undeliverable("\(error)"))
        cell.runtime.observation.deadLetters.record(letter)
    }

    /// The error that a message ends with that a life has got, and has not answered before it ended.
    func lost(_ life: IncarnationID) -> CoordinatorError {
        let path = cell.path.appending(life.key)
        return CoordinatorError(.peerLost, "\(path) has ended before it answered", maybeExecuted: true)
    }

    /// Has a message go elsewhere that has waited for a child which is on this node no more, or which is below such a child.
    private func isDiverted(_ message: ParkedMessage, _ key: String) -> Bool {
        cell.runtime.placed?.diverts(message, at: cell.path.appending(key)) ?? false
    }

    /// Delivers the messages that have waited for the child, before any that is sent now.
    func flush(_ key: String) {
        while let (host, messages) = withSlot(key, { $0.takeParked() }) ?? nil {
            for message in messages where !message.envelope.isWithdrawn && !isDiverted(message, key) {
                host.deliver(message.envelope, to: message.rest, isDirect: message.isDirect)
            }
            withSlot(key) { $0.record.parking.isBeingDelivered = false }
        }
        wakeIfNoneIsParked()
    }
}

// MARK: - Messages for children that aren't there yet

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
    func keep(_ early: UnclaimedMessage) -> Bool {
        let runtime = cell.runtime
        guard runtime.mayStillStart(for: early.envelope) else { return false }
        runtime.whenStartsAreComplete(self) { [weak self] in self?.startsAreComplete() }
        let keeping = state.withLock { state -> Keeping in
            if state.hasChild(early.target) { return .isThere }
            guard state.phase != .ended, runtime.mayStillStart(for: early.envelope) else { return .none }
            return state.early.park(early) ? .kept : .full
        }
        switch keeping {
        case .isThere: pass(early)
        case .kept: break
        case .full:
            let text = "as many messages, or bytes of them, wait for children of \(cell.path) as may"
            early.envelope.end(.failure(CoordinatorError(.mailboxFull, text)))
        case .none: return false
        }
        return true
    }

    var waitingPlace: CoordinatorSnapshot.WaitingPlace? { state.withLock { $0.early.place(.start) } }

    /// Takes note that no start is still to come: a message whose child isn't there waits no longer.
    func startsAreComplete() {
        let messages = state.withLock { $0.early.removeAll() }
        for early in messages where !early.envelope.hasEnded { pass(early) }
    }

    private func pass(_ early: UnclaimedMessage) {
        switch early.target {
        case .key(let key) where !early.isForwarded:
            deliver(early.envelope, to: key, early.message.rest, isDirect: early.message.isDirect)
        case .key, .type, .computed: cell.forward(early.envelope, to: early.target)
        }
    }
}

extension ChildSupervisor.State {
    fileprivate func hasChild(_ target: ForwardTarget) -> Bool {
        switch target {
        case .key(let key): slots.contains(key)
        case .type(let name): machine.ids.contains { slots[$0]?.definition.typeName == name }
        // A message waits for the key that was found in it.
        case .computed: false
        }
    }

    /// Gives the messages that have waited for the start of a child to its new slot, in which they wait for the child.
    mutating func handOverEarlyMessages(to slot: Box<ChildSlot>) {
        guard early.isBusy else { return }
        let definition = slot.value.definition
        let messages = early.remove { early in
            switch early.target {
            case .computed: false
            case .key(let key): key == definition.key
            case .type(let name): name == definition.typeName
            }
        }
        // Beyond the limits of the slot, because they were accepted already.
        for early in messages { slot.value.record.parking.takeBack(early.message) }
    }
}

extension CoordinatorCell {
    /// Returns the coordinator whose rows observe the events of children of a type; those of a pool's members are observed above the pool.
    func observer(ofChildren typeName: String) -> CoordinatorCell? {
        if type.table.observes(typeName) { return self }
        return type.table.isPool ? parent?.observer(ofChildren: typeName) : nil
    }
}

extension ChildSupervisor {
    /// Ends messages that wait for a child and that no life has got, so that other children can have them.
    ///
    /// - Parameter messages: The identities of the messages' envelopes.
    func withdraw(_ messages: Set<ObjectIdentifier>, from key: String, with error: any Error) {
        let withdrawn = withSlot(key) { slot in
            slot.record.parking.isBusy
                // A member that has had a message may have handled it.
                ? slot.record.parking.remove { messages.contains(ObjectIdentifier($0)) && !$0.mayBeHandled } : []
        }
        for message in withdrawn ?? [] { message.envelope.end(.failure(error)) }
        wakeIfNoneIsParked()
    }

    /// Ends the messages that wait for any of a pool's members and that no life has got, so that the pool can have them back.
    func withdrawAll() {
        for key in keys {
            let withdrawn = withSlot(key) { $0.record.parking.isBusy ? $0.record.parking.remove(where: \.canBeMoved) : [] }
            for message in withdrawn ?? [] { message.envelope.end(.failure(PoolReassignment())) }
        }
    }

    func isAlive(_ key: String) -> Bool { state.withLock { $0.isAlive(key) } }
}

extension Envelope {
    /// Whether a pool takes the message back instead of its end.
    var canBeMoved: Bool { isOfPool && !mayBeHandled }
}

/// The way in which a life has ended, for a message that it had.
enum IncarnationEnd: Sendable {
    /// The life goes on: the message has another reason to come back.
    case goesOn
    /// The life was told to end, or was killed by an operator.
    case asWanted
    /// The life has ended by itself, perhaps because of what it handled.
    case byItself
}

extension ChildSupervisor {
    /// Waits until it's known how a life has ended, if it's lost or stops.
    ///
    /// - Returns: `nil` if the waiting task was cancelled.
    func end(of key: String, _ incarnation: Incarnation) async -> IncarnationEnd? {
        let wait = OneShot<IncarnationEnd>()
        let host = withSlot(key) { $0.incarnation == incarnation ? $0.host : nil } ?? nil
        // Asked outside the lock, since it's the host's own lock that guards this.
        let isLost = host?.isLost ?? true
        let known = withSlot(key) { slot -> IncarnationEnd? in
            if let last = slot.record.lastEnd, last.incarnation == incarnation { return last.way }
            guard slot.incarnation == incarnation else { return .byItself }
            // A life that was told to stop answers by itself that it has.
            guard isLost || slot.record.stoppingSince != nil else { return .goesOn }
            slot.record.endWaits.append(wait)
            return nil
        }
        switch known {
        case nil: return .asWanted
        case let way??: return way
        case .some(nil): return await wait.valueUnlessCancelled()
        }
    }
}

extension CoordinatorCell {
    /// Whether the coordinator has failed and is ending.
    var hasFailed: Bool { state.withLock { $0.stop?.hasFailed == true } }

    /// Gives a message back to the parent, for the next life, if this one has failed.
    func handBack(_ envelope: Envelope) -> Bool {
        guard hasFailed, !isOver else { return false }
        returnToParent(envelope)
        return true
    }
}

// MARK: - Messages that end the members of a pool

/// The suspicion that a message is what ends the members of a pool that handle it.
///
/// The message may be given again, because it's idempotent. After the first end it could have caused, or a message beside it, it runs alone:
/// the guilty one is then known, and the others are not harmed by it.
struct PoolSuspicion {
    /// The decision about a message whose member has ended by itself while it handled the message.
    enum Verdict {
        /// The message is given to a member that handles nothing else.
        case again
        /// The message isn't given any more.
        case poisoned
    }

    /// The number of members that a message may end, the last two of which have handled nothing else.
    static let limit = 3

    /// The number of members that have ended.
    private(set) var deaths = 0

    /// Whether the message has to be alone with its member.
    var runsAlone: Bool { deaths > 0 }

    /// Notes that a member has ended by itself while it handled the message.
    mutating func memberDied() -> Verdict {
        deaths += 1
        return deaths < Self.limit ? .again : .poisoned
    }
}

/// The error that ends a message which no life of a member has got, so that the pool hands it to another member.
struct PoolReassignment: Error {}

/// Restarts the members of a pool one after the other.
struct RestartMembers: ResponderMessage {
    static let name = "Pool.RestartMembers"
}
