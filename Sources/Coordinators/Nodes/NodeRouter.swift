import ConcurrencySupport
import Links
import WireProtocol

/// The way of messages for children of the root that a cluster places: to the nodes that have them, and from other nodes to those here.
///
/// A message goes to the owner's node at once if there is a link. Otherwise it waits, in order with all others for that child, until the owner is
/// known and can be reached. An owner that has none says so and has done nothing, so the message waits again, for the next owner.
final class NodeRouter: Sendable {
    /// A message that waits, and for whom; one between runtimes that isn't direct is for the root itself, and about the child.
    typealias Waiting = ChildSlot.ParkedMessage

    /// The refusal of a message by a node that doesn't own its child.
    fileprivate struct Refusal {
        let node: String
        let link: Link
        let target: String
        /// The message's place among all that this node has sent on the link.
        let number: UInt64
        let epoch: UInt64
        let time = MonotonicTime.now
    }

    /// What waits for one child; a route is there only while something does.
    fileprivate struct Route {
        var messages = ChildSlot.Parking()
        var refusal: Refusal?
    }

    struct State {
        fileprivate var routes: [String: Route] = [:]
        /// The number of threads that are about to hand a message for a child to a link.
        fileprivate var sending: [String: Int] = [:]
        /// The links on which messages are sent, by the names of the nodes.
        var peers: [String: Peer] = [:]
        var dials: [String: Dial] = [:]
        var isEnded = false
    }

    typealias Dial = OneShot<Result<Peer, any Error>>

    /// The time for which a message without a deadline waits for a node.
    private static let patience = Duration.seconds(5)
    /// The time between two looks for a node.
    private static let pause = Duration.milliseconds(20)
    /// The time between two looks for the end of what a node is still to refuse.
    private static let shortPause = Duration.milliseconds(1)

    let children: any PlacedChildren
    unowned let runtime: RuntimeCore
    /// Returns the root, as long as the tree runs.
    private let root: @Sendable () -> Node?
    let state = Lock(State())
    let tasks = OwnedTasks()

    init(_ children: any PlacedChildren, _ runtime: RuntimeCore, root: @escaping @Sendable () -> Node?) {
        (self.children, self.runtime, self.root) = (children, runtime, root)
    }

    /// Ends all links, and the messages that wait.
    func end() async {
        let (routes, peers) = state.withLock { state in
            defer { (state.routes, state.peers, state.isEnded) = ([:], [:], true) }
            return (state.routes, state.peers)
        }
        for (key, route) in routes {
            for message in route.messages.messages { end(message, key) }
        }
        for peer in peers.values { peer.close() }
        await tasks.end()
    }

    private func path(of key: String) -> CoordinatorPath { CoordinatorPath.root.appending(key) }

    // MARK: - To other nodes

    fileprivate enum Decision {
        case here
        case send(Peer, epoch: UInt64)
        case waits(isFirst: Bool)
        case full
    }

    /// Takes a message for a child of the root, if the child is on another node, or isn't known to be on this one.
    ///
    /// - Returns: False when the message is to be delivered here.
    func take(_ message: Waiting, for key: String) -> Bool {
        guard let place = children.place(of: key) else { return false }
        let decision = state.withLock { state -> Decision in
            guard state.routes[key] == nil else { return state.wait(message, key) }
            switch place {
            case .here: return .here
            case .elsewhere(let node, let epoch):
                guard let peer = state.peers[node] else { return state.wait(message, key) }
                state.sending[key, default: 0] += 1
                return .send(peer, epoch: epoch)
            case .nowhere: return state.wait(message, key)
            }
        }
        switch decision {
        case .here: return false
        case .send(let peer, let epoch):
            send(message, NodeTarget(epoch: epoch, key: key, rest: message.rest), on: peer)
            state.withLock { $0.sending[key, default: 1] -= 1 }
        case .waits(let isFirst): if isFirst { beginDelivery(key) }
        case .full:
            let error = "as many messages, or bytes of them, wait for the node of \(path(of: key)) as may"
            message.envelope.end(.failure(CoordinatorError(.mailboxFull, error)))
        }
        return true
    }

    private func send(_ message: Waiting, _ target: NodeTarget, on peer: Peer) {
        if peer.forward(message.envelope, to: target.text, isDirect: message.isDirect) { return }
        takeBack(message, for: target.key, nil)
    }

    /// Takes back a message that a link hasn't carried, or whose node has refused it.
    ///
    /// - Returns: False when it isn't one between nodes.
    func takeBack(_ message: Peer.Outgoing, from node: String, on link: Link) -> Bool {
        guard let target = NodeTarget(message.target) else { return false }
        let refusal = Refusal(node: node, link: link, target: message.target, number: message.number, epoch: target.epoch)
        takeBack(Waiting(envelope: message.envelope, rest: target.rest, isDirect: message.isDirect), for: target.key, refusal)
        return true
    }

    private func takeBack(_ message: Waiting, for key: String, _ refusal: Refusal?) {
        let isFirst = state.withLock { state -> Bool? in
            guard !state.isEnded else { return nil }
            defer {
                state.routes[key, default: Route()].messages.takeBack(message)
                if let refusal { state.routes[key]?.refusal = refusal }
            }
            return state.routes[key] == nil
        }
        guard let isFirst else { return end(message, key) }
        if isFirst { beginDelivery(key) }
    }

    private func beginDelivery(_ key: String) { tasks.add { await self.deliver(key) } }

    fileprivate enum Way {
        case here
        case node(Peer, epoch: UInt64)
        /// There is none at present, for this reason.
        case none(String, pause: Duration)
    }

    /// Delivers what waits for a child, until nothing does any more.
    private func deliver(_ key: String) async {
        while !Task.isCancelled, hasWaiting(key) {
            switch await way(to: key) {
            case .here:
                for message in takeWaiting(key) { root().map { deliverHere(message, to: key, of: $0) } ?? end(message, key) }
            case .node(let peer, let epoch):
                for message in takeWaiting(key) { send(message, NodeTarget(epoch: epoch, key: key, rest: message.rest), on: peer) }
            case .none(let reason, let pause):
                endOverdue(key, because: reason)
                try? await Task.sleep(for: pause)
            }
        }
    }

    /// Returns whether messages wait; after the answer that none do, the next one doesn't wait either.
    private func hasWaiting(_ key: String) -> Bool {
        state.withLock { state in
            if state.routes[key]?.messages.messages.isEmpty == false { return true }
            state.routes[key] = nil
            return false
        }
    }

    private func takeWaiting(_ key: String) -> [Waiting] {
        let messages = state.withLock { $0.routes[key]?.messages.removeAll() ?? [] }
        return messages.filter { !$0.envelope.hasEnded }
    }

    private func way(to key: String) async -> Way {
        let (refusal, isSending) = state.withLock { ($0.routes[key]?.refusal, $0.sending[key, default: 0] > 0) }
        // What was sent before this comes first, also if it's about to be refused.
        if isSending || refusal.map(isStillRefusing) == true { return .none("a node is about to refuse more", pause: Self.shortPause) }
        switch children.place(of: key) {
        case nil, .here: return .here
        case .nowhere: return .none("\(path(of: key)) is on no node at present", pause: Self.pause)
        case .elsewhere(let node, let epoch):
            // That node, or this one, hasn't heard of the latest owner yet.
            if let refusal, refusal.node == node, refusal.epoch == epoch, MonotonicTime.now - refusal.time < Self.pause {
                return .none("\(path(of: key)) isn't on \(node) any more", pause: Self.pause)
            }
            do {
                return .node(try await peer(of: node), epoch: epoch)
            } catch {
                return .none("\(path(of: key)) is on \(node), which can't be reached: \(error)", pause: Self.pause)
            }
        }
    }

    /// Whether messages that were sent after a refused one aren't refused yet: they come before all later ones.
    private func isStillRefusing(_ refusal: Refusal) -> Bool {
        guard let peer = state.withLock({ $0.peers[refusal.node] }), peer.link === refusal.link else { return false }
        return peer.hasMessages(to: refusal.target, after: refusal.number)
    }

    /// Ends messages that have waited for too long; those with a deadline wait for that.
    private func endOverdue(_ key: String, because reason: String) {
        let now = MonotonicTime.now
        let overdue = state.withLock { state -> [Waiting] in
            let isOverdue = { (envelope: Envelope) in
                envelope.hasEnded || envelope.deadline == nil && now - envelope.arrived > Self.patience
            }
            return state.routes[key]?.messages.remove(where: isOverdue) ?? []
        }
        for message in overdue { message.envelope.end(.failure(CoordinatorError(.peerLost, reason, maybeExecuted: false))) }
    }

    // MARK: - From other nodes

    /// Delivers messages of another node, or refuses them if this one doesn't own the child in the epoch for which they are meant.
    func receive(_ envelopes: [Envelope], _ text: String, isDirect: Bool) {
        guard let target = NodeTarget(text), let root = root() else {
            return refuse(envelopes, CoordinatorError(.noSuchPath, "\(text) is no coordinator of this node"))
        }
        guard children.takes(target.key, epoch: target.epoch) else {
            let error = "\(path(of: target.key)) isn't on this node in epoch \(target.epoch)"
            return refuse(envelopes, CoordinatorError(.notHere, error))
        }
        for envelope in envelopes.flatMap(\.separated) {
            deliverHere(Waiting(envelope: envelope, rest: target.rest, isDirect: isDirect), to: target.key, of: root)
        }
    }

    private func deliverHere(_ message: Waiting, to key: String, of root: Node) {
        if message.envelope.isBuiltin, !message.isDirect { return root.acceptBuiltinHere(message.envelope) }
        root.children.deliverHere(message, to: key)
    }

    private func end(_ message: Waiting, _ key: String) { message.envelope.end(.failure(CoordinatorError.hasStopped(path(of: key)))) }

    private func refuse(_ envelopes: [Envelope], _ error: CoordinatorError) {
        for envelope in envelopes { envelope.end(.failure(error)) }
    }

    /// Records a message that wanted no answer, and can't be handled.
    func recordLoss(of envelope: Envelope, because error: any Error) { root()?.recordLoss(of: envelope, because: error) }
}

extension NodeRouter.State {
    fileprivate mutating func wait(_ message: NodeRouter.Waiting, _ key: String) -> NodeRouter.Decision {
        guard !isEnded else { return .here }
        let isFirst = routes[key] == nil
        guard routes[key, default: NodeRouter.Route()].messages.take(message) else { return .full }
        return .waits(isFirst: isFirst)
    }
}
