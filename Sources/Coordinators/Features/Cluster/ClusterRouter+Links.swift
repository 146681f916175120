import ConcurrencySupport
import Links
import Logging
import Synchronization
import WireProtocol

// The links to other nodes, each of which carries messages in both directions.
extension ClusterRouter {
    /// The time after a dial that has failed in which there is no other, whatever the pauses of ``PlacedChildren/connect(to:)`` are.
    private static let pauseAfterDial = Duration.milliseconds(100)

    /// The signs of life of a node at the other end of a link.
    private final class Pulse: Sendable {
        let wasHeard = Atomic(true)
        let end = OneShot<Void>()
    }

    /// A dial of a node to which there is no link.
    enum Dial {
        case isUnderWay
        /// It has failed, and the next one comes at this time at the earliest.
        case hasFailed(any Error, next: MonotonicTime)
    }

    /// What there is of a link to a node.
    enum Contact {
        case there(Peer)
        /// The node is being dialled, or its link is about to be forgotten: a change tells when that is over.
        case dialled
        /// The node can't be reached, and is dialled again at this time at the earliest.
        case lost(any Error, retry: MonotonicTime)
    }

    /// Returns the link to a node, or begins to dial it.
    func contact(with node: String) -> Contact {
        state.withLock { state in
            // One that is about to be forgotten is told as a change then.
            if let peer = state.peers[node] { return peer.isClosed ? .dialled : .there(peer) }
            switch state.dials[node] {
            case .isUnderWay: return .dialled
            case .hasFailed(let error, let next) where .now < next: return .lost(error, retry: next)
            case .hasFailed, nil:
                state.dials[node] = .isUnderWay
                // A task of its own, which isn't cancelled with one of those that wait for it.
                tasks.add { await self.connect(to: node) }
                return .dialled
            }
        }
    }

    private func connect(to node: String) async {
        do {
            await use(try await children.connect(to: node), to: node, isDialled: true)
        } catch {
            state.withLock { $0.dials[node] = .hasFailed(error, next: .now + Self.pauseAfterDial) }
            children.changes.noteChange()
        }
    }

    /// Exchanges messages on a link until it has closed.
    ///
    /// - Parameter isDialled: Whether this node has made it.
    func use(_ link: Link, to node: String, isDialled: Bool = false) async {
        let pulse = Pulse()
        let peer = makePeer(link, node, pulse)
        let isUsed = state.withLock { state in
            switch state.dials[node] {
            // The other node was faster; this one's dial goes on.
            case .isUnderWay where !isDialled: break
            case .isUnderWay, .hasFailed, nil: state.dials[node] = nil
            }
            // Of two links that were made at the same time each node uses the one that it has had first.
            if !state.isEnded, state.peers[node]?.link.isClosed != false { state.peers[node] = peer }
            return !state.isEnded
        }
        link.start(peer.handler)
        peer.announceCredit()
        if isUsed { children.changes.noteChange() } else { peer.close() }
        let pings = OwnedTasks()
        pings.add { if await Self.isLost(peer, pulse) { peer.close() } }
        await withTaskCancellationHandler {
            await pulse.end.value
        } onCancel: {
            peer.close()
        }
        await pings.end()
    }

    private func makePeer(_ link: Link, _ node: String, _ pulse: Pulse) -> Peer {
        let refusals = ClusterRefusals()
        return Peer(
            link,
            with: .node,
            codec: .json,
            name: node,
            announcesCredit: true,
            sharesClock: false,
            counts: runtime.observation.counts,
            owner: Peer.Owner(
                messagesReceived: { [weak self] envelope, target, isDirect in
                    self?.receive(envelope, target, isDirect: isDirect, refusals)
                },
                inspected: { [weak self] operation, target, _ in
                    guard operation == Self.question else { throw CoordinatorError(.unsupported, "a node doesn't know '\(operation)'") }
                    return .bool(self?.takes(target, refusals) ?? false)
                },
                notified: { _, _, _ in },
                frameReceived: { frame in
                    if case .pong = frame.content { pulse.wasHeard.store(true, ordering: .relaxed) }
                },
                messageLost: { [weak self] envelope, error in self?.recordLoss(of: envelope, because: error) },
                messageReturned: { [weak self, weak link] message in
                    guard let self, let link else { return false }
                    return takeBack(message, on: link)
                },
                roomGiven: { [weak self] in self?.noteRoom() },
                refusedLate: { target in ClusterTarget(target).map { refusals.remember($0) } },
                closed: { [weak self] error in
                    self?.forget(link, to: node, because: error)
                    pulse.end.settle()
                }
            )
        )
    }

    private func noteRoom() {
        let isAwaited = state.withLock { state in
            defer { state.isRoomAwaited = false }
            return state.isRoomAwaited
        }
        if isAwaited { children.changes.noteChange() }
    }

    private func forget(_ link: Link, to node: String, because error: LinkError) {
        state.withLock { state in
            if state.peers[node]?.link === link { state.peers[node] = nil }
            // Its messages have come back or ended.
            state.ways = state.ways.filter { $0.value.peer.link !== link }
        }
        children.changes.noteChange()
        guard error.isOfBrokenRule else {
            return runtime.observation.logger.debug(
                "a link of another node has closed",
                metadata: ["peer": "\(node)", "reason": "\(error.message)"]
            )
        }
        let core = runtime
        core.observation.violations.report(by: "node \(node)") { [core] others in
            let metadata: Logger.Metadata = ["peer": "\(node)", "reason": "\(error.message)"]
            core.observation.logger.warning("a node's link was closed", metadata: metadata.counting(others))
            core.observation.lives.add(LifecycleRecord(.brokeRule("node \(node): \(error.message)".counting(others)), of: .root, 0, nil))
        }
    }

    /// Pings a node until the link has closed, or the node doesn't answer any more.
    private static func isLost(_ peer: Peer, _ pulse: Pulse) async -> Bool {
        await Heartbeat.ofNodes.isLost {
            if peer.link.isClosed { return .over }
            let wasHeard = pulse.wasHeard.exchange(false, ordering: .relaxed)
            peer.send(Frame(.ping(Probe(timestampNanoseconds: UInt64(MonotonicTime.now.nanoseconds), kind: .link))))
            return wasHeard ? .heard : .missed
        }
    }
}
