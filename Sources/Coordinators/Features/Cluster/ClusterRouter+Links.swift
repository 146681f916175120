import ConcurrencySupport
import Links
import Logging
import Synchronization
import WireProtocol

// The links to other nodes, each of which carries messages in both directions.
extension ClusterRouter {
    /// The time between two pings.
    private static let pingInterval = Duration.seconds(1)
    /// The number of pings without an answer after which a node counts as lost.
    private static let misses = 3

    /// The signs of life of a node at the other end of a link.
    private final class Pulse: Sendable {
        let wasHeard = Atomic(true)
        let end = OneShot<Void>()
    }

    /// Returns the link to a node, which is made if there is none; `nil`: that takes longer than the time, and goes on.
    func peer(of node: String, within time: Duration) async throws -> Peer? {
        let (peer, dial) = state.withLock { state -> (Peer?, Dial) in
            if let peer = state.peers[node] { return (peer, Dial()) }
            if let dial = state.dials[node] { return (nil, dial) }
            let dial = Dial()
            state.dials[node] = dial
            // A task of its own, which isn't cancelled with one of those that wait for it.
            tasks.add { await self.connect(to: node, dial) }
            return (nil, dial)
        }
        if let peer { return peer }
        return try await dial.value(before: .now + time)?.get()
    }

    private func connect(to node: String, _ dial: Dial) async {
        do {
            let link = try await children.connect(to: node)
            await use(link, to: node) { peer in
                self.state.withLock { $0.dials[node] = nil }
                dial.settle(.success(peer))
            }
        } catch {
            state.withLock { $0.dials[node] = nil }
            dial.settle(.failure(error))
        }
    }

    /// Exchanges messages on a link until it has closed.
    ///
    /// - Parameter begun: Called with the link on which messages are sent to the node, when the first may be.
    func use(_ link: Link, to node: String, begun: (Peer) -> Void = { _ in }) async {
        let pulse = Pulse()
        let peer = makePeer(link, node, pulse)
        let used = state.withLock { state -> Peer? in
            if state.isEnded { return nil }
            // Of two links that were made at the same time each node uses the one that it has had first.
            if state.peers[node]?.link.isClosed != false { state.peers[node] = peer }
            return state.peers[node]
        }
        link.start(peer.handler)
        peer.announceCredit()
        if let used { begun(used) } else { peer.close() }
        let pings = OwnedTasks()
        pings.add { await Self.ping(peer, pulse) }
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
                refusedLate: { target in ClusterTarget(target).map { refusals.remember($0) } },
                closed: { [weak self] error in
                    self?.forget(link, to: node, because: error)
                    pulse.end.settle()
                }
            )
        )
    }

    private func forget(_ link: Link, to node: String, because error: LinkError) {
        state.withLock { state in
            if state.peers[node]?.link === link { state.peers[node] = nil }
            // Its messages have come back or ended.
            state.ways = state.ways.filter { $0.value.peer.link !== link }
        }
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

    /// Pings a node, and closes the link when it doesn't answer any more.
    private static func ping(_ peer: Peer, _ pulse: Pulse) async {
        var missed = 0
        while !peer.link.isClosed, (try? await Task.sleep(for: pingInterval)) != nil {
            missed = pulse.wasHeard.exchange(false, ordering: .relaxed) ? 0 : missed + 1
            if missed >= misses { return peer.close() }
            peer.send(Frame(.ping(Probe(timestampNanoseconds: UInt64(MonotonicTime.now.nanoseconds), kind: .link))))
        }
    }
}
