import ConcurrencySupport
import Supervision

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
    var hasFailed: Bool { state.withLock { $0.life.stop?.hasFailed == true } }

    /// Gives a message back to the parent, for the next life, if this one has failed.
    func handBack(_ envelope: Envelope) -> Bool {
        guard hasFailed, let host else { return false }
        host.handBack(envelope)
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
