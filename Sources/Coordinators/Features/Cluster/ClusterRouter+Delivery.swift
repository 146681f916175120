import ConcurrencySupport
import Links
import WireProtocol

// The delivery of what waits for a child, by one task for each child.
extension ClusterRouter {
    /// The time for which a message without a deadline waits for a node.
    private static let patience = Duration.seconds(5)
    /// The time for which an acknowledged one does: more than a failover takes, and not without a limit, since its sender may have ended.
    private static let longPatience = Duration.seconds(30)
    /// The time after which a node that doesn't take messages yet is asked again.
    private static let pause = Duration.milliseconds(20)
    /// The time within which a node has to say whether it takes messages; it's asked again then.
    private static let answerLimit = Duration.seconds(1)
    /// The name of that request.
    static let question = "takes"

    private enum Lead {
        case here
        case node(Peer, epoch: UInt64)
        /// There is no way at present, for this reason: not before something changes, or not before this time.
        case none(String, before: MonotonicTime? = nil)
        /// A node doesn't take messages yet, or doesn't say whether it does: it's asked again after a pause, if the child isn't elsewhere then.
        case refused(String, ChildPlace?)
    }

    /// Delivers what waits for a child, until nothing does any more.
    func deliver(_ key: String) async {
        while !Task.isCancelled, hasWaiting(key) {
            let seen = children.changes.count
            switch await lead(to: key) {
            case .here:
                for message in takeWaiting(key) { root().map { deliverHere(message, to: key, of: $0) } ?? end(message, key) }
            case .node(let peer, let epoch):
                for message in takeWaiting(key) { send(message, ClusterTarget(epoch: epoch, key: key, rest: message.rest), on: peer) }
            case .none(let reason, let retry):
                let nextEnd = endOverdue(key, because: reason)
                await children.changes.change(after: seen, before: min(nextEnd, retry ?? nextEnd))
            case .refused(let reason, let place):
                _ = endOverdue(key, because: reason)
                await pause(until: .now + Self.pause, while: key, isAt: place)
            }
        }
    }

    private func pause(until time: MonotonicTime, while key: String, isAt place: ChildPlace?) async {
        while !Task.isCancelled, .now < time {
            let seen = children.changes.count
            guard children.place(of: key) == place else { return }
            await children.changes.change(after: seen, before: time)
        }
    }

    /// Returns whether messages wait; after the answer that none do, the next one doesn't wait either.
    private func hasWaiting(_ key: String) -> Bool {
        state.withLock { state in
            if state.routes[key]?.messages.isEmpty == false { return true }
            state.routes[key] = nil
            return false
        }
    }

    private func takeWaiting(_ key: String) -> [Waiting] {
        let messages = state.withLock { $0.routes[key]?.removeAll() ?? [] }
        return messages.filter { !$0.envelope.hasEnded }
    }

    private func lead(to key: String) async -> Lead {
        let (former, isSending) = state.withLock { ($0.ways[key], $0.sending[key, default: 0] > 0) }
        if isSending { return .none("messages before these are just being sent") }
        let place = children.place(of: key)
        if let former, let obstacle = await settle(former, key, place) { return obstacle }
        switch place {
        case nil, .here: return .here
        case .nowhere: return .none("\(path(of: key)) is on no node at present")
        case .elsewhere(let node, let epoch):
            switch contact(with: node) {
            case .dialled: return .none("\(path(of: key)) is on \(node), which hasn't answered yet")
            case .lost(let error, let retry):
                return .none("\(path(of: key)) is on \(node), which can't be reached: \(error)", before: retry)
            case .there(let peer):
                if state.withLock({ $0.use(node, epoch, peer, for: key) }) { return .node(peer, epoch: epoch) }
                return .none("the link to \(node) has been replaced", before: .now)
            }
        }
    }

    /// Finds out whether messages may follow those that were sent before, on the same way or on another.
    ///
    /// - Returns: What they have to wait for; `nil`: nothing, since what can come back has come back.
    private func settle(_ way: Way, _ key: String, _ place: ChildPlace?) async -> Lead? {
        // It's forgotten as soon as its messages have come back.
        if way.peer.isClosed || way.peer.link.isClosed { return .none("the link to \(way.node) was lost") }
        let goesOn = place == .elsewhere(node: way.node, epoch: way.epoch) && state.withLock { $0.peers[way.node] === way.peer }
        if goesOn, !way.isRefused { return nil }
        let target = ClusterTarget(epoch: way.epoch, key: key, rest: []).text
        if way.peer.hasMessages(within: target, unsent: true) {
            state.withLock { $0.isRoomAwaited = true }
            // They may have left before that was told.
            if way.peer.hasMessages(within: target, unsent: true) { return .none("messages before these wait for \(way.node)") }
        }
        var takes = true
        if way.isRefused || way.peer.hasMessages(within: target) {
            do {
                // Behind all messages, and its answer behind all refusals.
                takes = try await way.peer.inspect(Self.question, target, timeout: Self.answerLimit, lane: .bulk) == .bool(true)
            } catch {
                return .refused("\(way.node) doesn't say whether it has \(path(of: key)): \(error)", place)
            }
        }
        guard goesOn else {
            state.withLock { $0.ways[key] = nil }
            return nil
        }
        // That node, or this one, hasn't heard of the latest owner yet.
        guard takes else { return .refused("\(path(of: key)) isn't on \(way.node) any more", place) }
        state.withLock { $0.ways[key]?.isRefused = false }
        return nil
    }

    /// Ends messages that have waited for too long, and forgets those that have ended by themselves, as those with a deadline do.
    ///
    /// - Returns: The time at which the next one will have waited for too long; one that comes later hasn't before, and one that comes back before
    ///   all others is told as a change.
    private func endOverdue(_ key: String, because reason: String) -> MonotonicTime {
        let now = MonotonicTime.now
        let end = { (envelope: Envelope) -> MonotonicTime? in
            envelope.deadline == nil ? envelope.arrived + (envelope.isAcknowledged ? Self.longPatience : Self.patience) : nil
        }
        let (overdue, nextEnd) = state.withLock { state -> ([Waiting], MonotonicTime) in
            let overdue = state.routes[key]?.remove { $0.hasEnded || end($0).map { $0 < now } == true } ?? []
            let nextEnd = state.routes[key]?.messages.lazy.compactMap { end($0.envelope) }.min()
            return (overdue, min(nextEnd ?? now + Self.patience, now + Self.patience))
        }
        for message in overdue { message.envelope.end(.failure(CoordinatorError(.peerLost, reason, maybeExecuted: false))) }
        return nextEnd
    }
}

// MARK: - Messages that have waited for a child here

// Messages that this node has taken for a child here, and that have waited since: for a life of the child, or for room on the way to its process.
//
// The child may have another owner by now. This node needn't have heard of that, if it was stopped itself: so each message is compared with the
// clock again, as when it was taken.
extension ClusterRouter {
    func diverts(_ message: Waiting, at path: CoordinatorPath) -> Bool {
        let keys = path.components
        guard let key = keys.first.map(String.init), !stillTakes(message.envelope, for: key) else { return false }
        divert(Waiting(envelope: message.envelope, rest: (keys.dropFirst() + message.rest)[...], isDirect: message.isDirect), for: key)
        return true
    }

    func stillTakes(_ message: Peer.Outgoing) -> Bool {
        guard let key = CoordinatorPath(message.target)?.components.first else { return true }
        return stillTakes(message.envelope, for: String(key))
    }

    func divert(_ message: Peer.Outgoing) {
        guard let keys = CoordinatorPath(message.target)?.components, let key = keys.first else { return }
        divert(Waiting(envelope: message.envelope, rest: keys.dropFirst(), isDirect: message.isDirect), for: String(key))
    }

    private func stillTakes(_ envelope: Envelope, for key: String) -> Bool {
        if let (_, target) = Self.sender(of: envelope) { return children.takes(target.key, epoch: target.epoch) }
        // What runtimes say to one another within this node is about the child that is here.
        return envelope.isBuiltin || [nil, .here].contains(children.place(of: key))
    }

    /// Refuses a message of another node, which has it back then; one of this node's own waits for the next owner.
    private func divert(_ message: Waiting, for key: String) {
        guard let (peer, target) = Self.sender(of: message.envelope) else { return takeBack(message, for: key) { _ in } }
        // Before it's refused: later ones must not be taken.
        peer.owner.refusedLate(target.text)
        let error = "\(path(of: key)) isn't on this node any more in epoch \(target.epoch)"
        message.envelope.end(.failure(CoordinatorError(.notHere, error)))
    }

    /// Returns the link on which a coordinator of another node has sent a message, and for what; `nil` for other messages.
    private static func sender(of envelope: Envelope) -> (Peer, ClusterTarget)? {
        guard case .peer(let process, let arrival) = envelope.asker, let peer = process as? Peer, peer.correspondent == .node else {
            return nil
        }
        return arrival.route.flatMap(ClusterTarget.init).map { (peer, $0) }
    }
}
