package import ConcurrencySupport
package import Links
import WireProtocol

/// The way of messages for children of the root that a cluster places: to the nodes that have them, and from other nodes to those here.
///
/// A message goes to the owner's node at once if there is a link, and if all that were sent before it went the same way. Otherwise it waits, in
/// order with all others for that child, until the owner is known and can be reached. A node that doesn't own the child says so and has done
/// nothing, so the message waits again, for the next owner.
///
/// A node that has refused a message refuses all later ones of the same sender's for that child, until it's asked whether it takes them: so no
/// later message begins before an earlier one, even if the node gets the child in between. The answer comes after all refusals, as they come
/// back on one link; messages take another way only after it.
final class ClusterRouter: PlacedDelivery {
    /// A message that waits, with its target below the child.
    ///
    /// A message of the runtime that isn't direct is for the root, about the child.
    typealias Waiting = ParkedMessage

    /// The way on which messages for a child were sent last.
    struct Way {
        let node: String
        let epoch: UInt64
        let peer: Peer
        /// Whether the node has refused a message, and refuses all later ones until it's asked.
        var isRefused = false
    }

    struct State {
        /// What waits, by the keys of the children; a child is in it only while something does.
        var routes: [String: MessageParking<ParkedMessage>] = [:]
        /// The number of threads that are about to hand a message for a child to a link.
        var sending: [String: Int] = [:]
        /// The ways of messages that may still come back, by the keys of the children.
        var ways: [String: Way] = [:]
        /// The links on which messages are sent, by the names of the nodes.
        var peers: [String: Peer] = [:]
        /// The nodes without a link that are being dialled, or can't be reached.
        var dials: [String: Dial] = [:]
        /// Whether the delivery of what waits goes on when a link has room, or what waited for it is given up.
        var isRoomAwaited = false
        var isEnded = false
    }

    let children: any PlacedChildren
    unowned let runtime: RuntimeCore
    /// Returns the root, as long as the tree runs.
    let root: @Sendable () -> CoordinatorCell?
    let state = Lock(State())
    let tasks = OwnedTasks()

    init(_ children: any PlacedChildren, _ runtime: RuntimeCore, root: @escaping @Sendable () -> CoordinatorCell?) {
        (self.children, self.runtime, self.root) = (children, runtime, root)
    }

    var waitingPlaces: [CoordinatorSnapshot.WaitingPlace] {
        state.withLock { $0.routes.compactMap { $1.place(.node, key: $0) } }
    }

    func end() async {
        let (routes, peers) = state.withLock { state in
            defer { (state.routes, state.ways, state.peers, state.isEnded) = ([:], [:], [:], true) }
            return (state.routes, state.peers)
        }
        for (key, route) in routes {
            for message in route.messages { end(message, key) }
        }
        for peer in peers.values { peer.close() }
        await tasks.end()
    }

    func path(of key: String) -> CoordinatorPath { CoordinatorPath.root.appending(key) }

    // MARK: - To other nodes

    fileprivate enum Decision {
        case here
        case send(Peer, epoch: UInt64)
        case waits(isFirst: Bool)
        case full
    }

    func deliverElsewhere(_ message: Waiting, for key: String) -> Bool {
        guard let place = children.place(of: key) else { return false }
        let decision = state.withLock { state -> Decision in
            guard state.routes[key] == nil else { return state.wait(message, key) }
            switch place {
            case .here where state.ways[key] == nil: return .here
            case .elsewhere(let node, let epoch):
                guard let peer = state.peers[node], state.use(node, epoch, peer, for: key) else { return state.wait(message, key) }
                state.sending[key, default: 0] += 1
                return .send(peer, epoch: epoch)
            case .here, .nowhere: return state.wait(message, key)
            }
        }
        switch decision {
        case .here: return false
        case .send(let peer, let epoch):
            send(message, ClusterTarget(epoch: epoch, key: key, rest: message.rest), on: peer)
            if state.withLock({ $0.endSending(key) }) { children.changes.noteChange() }
        case .waits(let isFirst): if isFirst { beginDelivery(key) }
        case .full:
            let error = "as many messages, or bytes of them, wait for the node of \(path(of: key)) as may"
            message.envelope.end(.failure(CoordinatorError(.mailboxFull, error)))
        }
        return true
    }

    func send(_ message: Waiting, _ target: ClusterTarget, on peer: Peer) {
        if peer.forward(message.envelope, to: target.text, isDirect: message.isDirect) { return }
        takeBack(message, for: target.key) { _ in }
    }

    /// Takes back a message that a link hasn't carried, or whose node has refused it.
    ///
    /// - Returns: False when it isn't one between nodes.
    func takeBack(_ message: Peer.Outgoing, on link: Link) -> Bool {
        guard let target = ClusterTarget(message.target) else { return false }
        takeBack(Waiting(envelope: message.envelope, rest: target.rest, isDirect: message.isDirect), for: target.key) { state in
            guard let way = state.ways[target.key], way.peer.link === link, way.epoch == target.epoch else { return }
            state.ways[target.key]?.isRefused = true
        }
        return true
    }

    func takeBack(_ message: Waiting, for key: String, _ change: (inout State) -> Void) {
        let place = state.withLock { state -> (isFirst: Bool, isAlone: Bool)? in
            guard !state.isEnded else { return nil }
            change(&state)
            let isAlone = state.routes[key] == nil
            state.routes[key, default: MessageParking<ParkedMessage>()].takeBack(message)
            return (state.routes[key]?.messages.first?.envelope === message.envelope, isAlone)
        }
        guard let place else { return end(message, key) }
        if place.isAlone { beginDelivery(key) } else if place.isFirst { children.changes.noteChange() }
    }

    private func beginDelivery(_ key: String) { tasks.add { await self.deliver(key) } }

    // MARK: - From other nodes

    /// Delivers messages of another node, or refuses them if this one doesn't own the child in the epoch for which they are meant, or has
    /// refused earlier ones.
    func receive(_ envelope: Envelope, _ text: String, isDirect: Bool, _ refusals: ClusterRefusals) {
        guard let target = ClusterTarget(text), let root = root() else {
            return envelope.end(.failure(CoordinatorError(.noSuchPath, "\(text) is no coordinator of this node")))
        }
        guard !refusals.includes(target), children.takes(target.key, epoch: target.epoch) else {
            // For a child that the cluster doesn't place no later message could be taken either.
            if children.place(of: target.key) != nil { refusals.remember(target) }
            let error = "\(path(of: target.key)) isn't on this node in epoch \(target.epoch)"
            return envelope.end(.failure(CoordinatorError(.notHere, error)))
        }
        for envelope in envelope.separated {
            deliverHere(Waiting(envelope: envelope, rest: target.rest, isDirect: isDirect), to: target.key, of: root)
        }
    }

    /// Answers another node, which has got back what was refused, whether this node takes messages now.
    func takes(_ text: String, _ refusals: ClusterRefusals) -> Bool {
        guard let target = ClusterTarget(text), root() != nil, children.takes(target.key, epoch: target.epoch) else { return false }
        refusals.lift(target)
        return true
    }

    func deliverHere(_ message: Waiting, to key: String, of root: CoordinatorCell) {
        if message.envelope.isBuiltin, !message.isDirect { return root.acceptBuiltinHere(message.envelope) }
        root.children.deliverHere(message, to: key)
    }

    func end(_ message: Waiting, _ key: String) { message.envelope.end(.failure(CoordinatorError.hasStopped(path(of: key)))) }

    /// Records a message that wanted no answer, and can't be handled.
    func recordLoss(of envelope: Envelope, because error: any Error) { root()?.recordLoss(of: envelope, because: error) }
}

extension ClusterRouter.State {
    fileprivate mutating func wait(_ message: ClusterRouter.Waiting, _ key: String) -> ClusterRouter.Decision {
        guard !isEnded else { return .here }
        let isFirst = routes[key] == nil
        guard routes[key, default: MessageParking<ParkedMessage>()].park(message) else { return .full }
        return .waits(isFirst: isFirst)
    }

    /// Notes that a message has been handed to a link.
    ///
    /// - Returns: Whether messages that wait come next.
    mutating func endSending(_ key: String) -> Bool {
        sending[key, default: 1] -= 1
        guard sending[key] == 0 else { return false }
        sending[key] = nil
        return routes[key] != nil
    }

    /// Takes note of the way on which messages for a child are about to be sent.
    ///
    /// - Returns: False when the link isn't in use any more, or when messages may still come back: those that were sent on another way, or one
    ///   that was refused on this one.
    mutating func use(_ node: String, _ epoch: UInt64, _ peer: Peer, for key: String) -> Bool {
        // A way on a link that has been forgotten would be kept for ever.
        guard peers[node] === peer else { return false }
        guard let way = ways[key] else {
            ways[key] = ClusterRouter.Way(node: node, epoch: epoch, peer: peer)
            return true
        }
        return way.peer === peer && way.epoch == epoch && !way.isRefused
    }
}

// MARK: - What the daemon knows of placed children

/// What a daemon tells its runtime of the children of the root that a cluster places, each on one node at a time.
///
/// ``place(of:)`` and ``takes(_:epoch:)`` are called for each message, and return at once.
package protocol PlacedChildren: Sendable {
    /// The signal that another answer may be given than before, so that what waits goes on; changes of the links are noted here too.
    var changes: ChangeSignal { get }

    /// Returns where a child is, as far as is known here; `nil` if the cluster doesn't place it.
    func place(of key: String) -> ChildPlace?

    /// Returns whether this node takes messages for a child that are meant for an epoch of its ownership.
    func takes(_ key: String, epoch: UInt64) -> Bool

    /// Connects to another node, which has proved its name.
    ///
    /// - Returns: A link on which nothing was received yet.
    func connect(to node: String) async throws -> Link
}

/// The place of a child that a cluster places.
package enum ChildPlace: Hashable, Sendable {
    /// This node takes messages for it.
    case here
    /// Another node owns it.
    case elsewhere(node: String, epoch: UInt64)
    /// No node takes messages for it at present.
    case nowhere
}

// MARK: - The runtime's way to it

extension CoordinatorRuntime {
    /// Has messages for children of the root that a cluster places go to the nodes that have them; called once, before the start.
    package func route(by children: any PlacedChildren) {
        _ = core.links.nodes.storeIfNil(Box(ClusterRouter(children, core) { [weak self] in try? self?.root }))
    }

    /// Exchanges messages with another node on a link that it has made, until the link has closed.
    package func exchangeMessages(on link: Link, with node: String) async {
        guard let router = core.placed as? ClusterRouter else { return link.close() }
        await router.use(link, to: node)
    }

    /// Ends the links to other nodes, and the messages that wait for them.
    package func endNodes() async { await core.placed?.end() }
}

// MARK: - Refused messages

/// The children for which this node has refused messages of another node on a link, each in the latest epoch that was meant.
///
/// Later messages are refused too until the other node asks, because it may have sent them before it got the first one back.
final class ClusterRefusals: Sendable {
    private let epochs = Lock<[String: UInt64]>([:])

    func includes(_ target: ClusterTarget) -> Bool { epochs.withLock { $0[target.key] == target.epoch } }

    func remember(_ target: ClusterTarget) { epochs.withLock { $0[target.key] = target.epoch } }

    func lift(_ target: ClusterTarget) {
        epochs.withLock { if $0[target.key] == target.epoch { $0[target.key] = nil } }
    }
}
