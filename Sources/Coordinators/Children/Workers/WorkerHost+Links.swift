import ConcurrencySupport
import Glibc
import Links
import Logging
import Processes
import Synchronization
import WireProtocol
import WorkerLifecycle

/// The worker's links, from the hello to the loss.
extension WorkerHost {
    /// The correlation of the start frame and its answer.
    private static let startCorrelation: UInt64 = 1

    /// Takes a link whose worker has shown the right secret, when it arrives or when it has waited for the worker's adoption.
    func attach(_ link: Link, _ hello: Hello) throws {
        // This is checked first, since a stranger with a stolen secret must not cost the worker its link.
        if let reason = reasonToRefuse(of: link) {
            logRefusal(reason)
            throw LinkError(.handshake, reason)
        }
        if state.withLock({ $0.machine.hasEnded }) { throw LinkError(.handshake, "the worker's process has ended") }
        // One that has waited for the adoption may be gone, and must not take the place of its successor.
        if link.isClosed { throw LinkError(.peerClosed, "the link was lost") }
        let id = Self.linkNumbers.add(1, ordering: .relaxed).newValue
        let peer = makePeer(link, hello, id)
        link.limitFrames(to: Int(hello.maximumFrameSize))
        link.useParts(upTo: runtime.options.messageSizes.message, and: link.helloMessageSize)
        // The worker may answer the welcome at once: its frames come to the peer by then.
        link.hand(over: peer.handler)
        var isLost = false
        handle(.linkAttached(id, refusal: refusal(of: hello) ?? runtime.refusal(ofEpochSeenBy: link))) {
            isLost = $0.attach(Attachment(peer: peer, hello: hello), as: id)
        }
        // A link that was lost before the machine knew it is lost after that.
        if isLost { lost(id, of: link.peer, LinkError(.peerClosed, "the link was lost")) }
    }

    private static let linkNumbers = Atomic<UInt64>(0)

    private func makePeer(_ link: Link, _ hello: Hello, _ id: WorkerMachine.LinkID) -> Peer {
        let credentials = link.peer
        return Peer(
            link,
            with: .child(path),
            codec: hello.buildID == BuildID.current ? .compact : .json,
            name: path.description,
            // A worker in another language may never announce its window.
            announcesCredit: !hello.buildID.isEmpty,
            counts: runtime.observation.counts,
            busyWait: runtime.options.busyWait,
            owner: Peer.Owner(
                messagesReceived: { [parent] envelope, target, _ in
                    guard let path = CoordinatorPath(target) else { return parent.climb(arrived: envelope) }
                    for envelope in envelope.separated { parent.route(envelope, to: path) }
                },
                inspected: { [weak self] operation, _, payload in try await self?.answer(operation, payload) ?? .null },
                notified: { [weak self, weak link] name, codec, payload in
                    if let rule = self?.notified(name, codec, payload) { link?.close(because: rule) }
                },
                frameReceived: { [weak self] frame in self?.receive(frame, on: id) },
                messageLost: { [parent] envelope, error in parent.recordLoss(of: envelope, because: error) },
                mayStillLeave: { [runtime] in runtime.placed?.stillTakes($0) ?? true },
                messageDiverted: { [runtime] in runtime.placed?.divert($0) },
                top: { [parent] in
                    var top = parent
                    while let above = top.parent { top = above }
                    return top
                },
                closed: { [weak self] error in self?.lost(id, of: credentials, error) }
            )
        )
    }

    /// Returns the reason to refuse a peer; `nil` when it runs as the worker's user and is of the session that was spawned.
    ///
    /// The session is compared, not the process, because launchers fork.
    private func reasonToRefuse(of link: Link) -> String? {
        guard let process = state.withLock({ $0.process?.process }) else { return "the peer's identity is unknown" }
        return link.reasonToRefuse(in: process.identity, of: process.userID)
    }

    private func refusal(of hello: Hello) -> String? {
        guard hello.minimumVersion <= Frame.version, hello.maximumVersion >= Frame.version else {
            return "the worker speaks versions \(hello.minimumVersion) to \(hello.maximumVersion), and the parent \(Frame.version)"
        }
        guard hello.maximumFrameSize >= FrameLimits.smallestFrameSize else {
            return "the worker takes frames of \(hello.maximumFrameSize) bytes only, fewer than \(FrameLimits.smallestFrameSize)"
        }
        return nil
    }

    private func lost(_ id: WorkerMachine.LinkID, of process: PeerIdentity?, _ error: LinkError) {
        if error.isOfBrokenRule { report(error.message, of: process) }
        // At once for both, so that the link is either attached before the loss or known to be lost when it's attached.
        var isRenewed = false
        handle(.linkLost(id)) { isRenewed = $0.forget(id) }
        guard isRenewed else { return }
        events.send(.becameReachable)
        settleNextLink()
    }

    /// Reports that the worker has broken a rule of its link.
    private func report(_ rule: String, of process: PeerIdentity?) {
        let user = process.map { "\($0.userID)" } ?? "unknown"
        let incarnation = state.withLock { $0.assignment?.events.life.incarnation } ?? 0
        runtime.observation.violations.report(by: path.description) { [runtime, path] others in
            runtime.observation.logger.warning(
                "a worker's link was closed",
                metadata: [
                    "coordinator.path": "\(path)", "worker.pid": "\(process?.processID ?? 0)", "worker.uid": "\(user)", "reason": "\(rule)",
                ].counting(others)
            )
            let rule = "as user \(user): \(rule)".counting(others)
            runtime.observation.lives.add(LifecycleRecord(.brokeRule(rule), of: path, incarnation, process?.processID))
        }
    }

    private func receive(_ frame: Frame, on id: WorkerMachine.LinkID) {
        switch frame.content {
        case .ready: noteReady()
        case .pong(let probe): handle(probe.kind == .executor ? .executorAnswered : .heard)
        case .reply(.failure(let failure)) where frame.correlation == Self.startCorrelation:
            handle(.startRefused(Failures.restored(Failures.decode(failure, codec: frame.codec))))
        case .finish(let bytes): events.send(.finished(.encoded(frame.codec, bytes)))
        case .exited(let exited):
            let reason = ExitReason(exited.reason)
            // The process doesn't end by itself, and its handlers may have begun anything.
            if reason == .hung {
                reportStuckHandler(exited.reason.message.shortened)
                return handle(.exitAnnounced(.hung, id))
            }
            // Before the link can be lost: asks that are open then end with this.
            state.withLock { $0.links.attached[id]?.peer }?.bidFarewell(reason)
            handle(.exitAnnounced(reason, id))
        default: runtime.observation.logger.debug("a frame was ignored", metadata: ["coordinator.path": "\(path)"])
        }
    }

    private func reportStuckHandler(_ text: String) {
        let (process, incarnation) = state.withLock {
            ($0.process?.process.identity.processID, $0.assignment?.events.life.incarnation ?? 0)
        }
        runtime.observation.logger.error(
            "a worker is killed, because a handler runs on past its cancellation",
            metadata: ["coordinator.path": "\(path)", "worker.pid": "\(process ?? 0)", "handler": "\(text)"]
        )
        if runtime.observation.lives.areWanted {
            runtime.observation.lives.add(LifecycleRecord(.stuck(text), of: path, incarnation, process))
        }
    }

    /// Takes note that the coordinator is ready, unless it needs more memory for that than it may have.
    private func noteReady() {
        // The worker says so again on every link.
        guard let limit = plan.memoryLimit, readiness.outcome == nil, let bytes = measuredMemory, bytes > limit else {
            return handle(.ready)
        }
        let text = "\(path) occupies \(bytes) bytes of memory when it's ready, more than its memoryLimit of \(limit): give it more"
        handle(.startNotTold(CoordinatorError(.startFailed, text)))
    }

    // MARK: Frames to the worker

    func welcome(_ attachment: Attachment, on link: WorkerMachine.LinkID) {
        let welcome = Welcome(
            buildID: runtime.upwardBuildID,
            maximumFrameSize: UInt32(runtime.options.messageSizes.frame),
            heartbeatMilliseconds: heartbeat.millisecondsClamped
        )
        // From the welcome on.
        attachment.peer.link.useEpoch(runtime.epoch)
        attachment.peer.send(Frame(.welcome(welcome), sequence: UInt64(runtime.options.messageSizes.message)))
        attachment.peer.announceCredit()
        if let uplink = runtime.links.uplink, state.withLock({ $0.directorySubscription == nil }) {
            let number = uplink.whenDirectoryChanges { [weak self] _ in self?.tellDirectoryAgain() }
            state.withLock { $0.directorySubscription = number }
        }
        // Before the start, and so before the first message.
        tellDirectory(to: attachment.peer)
        if state.withLock({ $0.noteWelcome(on: link) }) { events.send(.becameReachable) }
        settleNextLink()
    }

    /// Tells a worker the rows above, all of them.
    ///
    /// The frames of one telling must not stand among those of another: what is said on links is said one after the other.
    func tellDirectory(to peer: Peer) {
        for level in ResponderDirectory.handedDown(by: parent, frameSize: peer.link.maximumFrameSize) {
            peer.send(Frame(.directory(level)))
        }
    }

    func refuse(_ attachment: Attachment, _ refusal: String) {
        logRefusal(refusal)
        attachment.peer.send(Frame(.goodbye(refusal)))
    }

    private func logRefusal(_ reason: String) { runtime.logRefusal(of: path.description, reason) }

    func tellStart(to peer: Peer) {
        guard let assignment = state.withLock({ $0.assignment }) else { return }
        do {
            let (codec, configuration, isComplete) = try assignment.definition.configuration.encoded(as: peer.codec)
            let start = Start(
                path: path.description,
                type: assignment.definition.typeName,
                startTimeoutMilliseconds: assignment.startTimeout.millisecondsClamped,
                configuration: configuration
            )
            let error = peer.queue { _ in
                Frame(
                    .start(start),
                    correlation: Self.startCorrelation,
                    codec: codec,
                    flags: isComplete ? .complete : [],
                    incarnation: assignment.events.life.incarnation
                )
            }
            if let error, error.code == .frameTooLarge { throw CoordinatorError(.messageTooLarge, "the configuration: \(error.message)") }
        } catch {
            handle(.startNotTold(error))
        }
    }

    /// Tells the worker to stop; a worker that is only to be replaced handles the messages that it has first.
    func tell(_ stop: WorkerMachine.Stop, to peer: Peer) {
        let content = Stop(target: 0, graceMilliseconds: stop.grace?.millisecondsClamped ?? .max)
        guard stop.drains else { return _ = peer.send(Frame(.stop(content))) }
        peer.drain(content, state.withLock { $0.awaitsRun } ? [.drain, .run] : .drain)
    }

    func bidFarewell(to peer: Peer, _ reason: ExitReason) {
        peer.bidFarewell(reason)
        peer.send(Frame(.goodbye("")))
    }

    /// Sends a ping, from any thread.
    func ping(_ link: WorkerMachine.LinkID, _ kind: Probe.Kind) {
        let (isInUse, peer) = state.withLock { ($0.machine.link == link, $0.linkedPeer) }
        guard isInUse else { return }
        // Nothing may come before the welcome, and a worker that hasn't been welcomed owes no answer.
        guard let peer else { return handle(kind == .executor ? .executorAnswered : .heard, talksElsewhere: true) }
        peer.send(Frame(.ping(Probe(timestampNanoseconds: UInt64(MonotonicTime.now.nanoseconds), kind: kind))))
    }
}

extension ResponderDirectory {
    /// Returns the directory of a child process: the rows from a coordinator of this process up to the root.
    ///
    /// - Parameter size: The size of the largest frame that the child takes, in bytes.
    /// - Returns: The contents of the frames; empty when this process doesn't know of all rows above itself, or there are too many.
    static func handedDown(by parent: CoordinatorCell, frameSize size: Int) -> [Directory] {
        let ancestors = parent.lineage
        var levels = ancestors.enumerated().flatMap { index, cell in
            cell.type.table.directory.map { run in
                // The build of a child to which messages are forwarded isn't known here: they are sent in the encoding of all builds.
                Directory(distance: UInt32(index + 1), buildID: run.isForwarding ? "" : BuildID.current, isLast: false, rows: run.rows)
            }
        }
        if let uplink = parent.runtime.links.uplink {
            guard let above = uplink.directory else { return [] }
            let distance = UInt32(ancestors.count)
            levels += above.levels.map { level in
                var level = level
                level.distance = level.distance.addingSaturating(distance)
                return level
            }
        }
        levels = reachable(levels)
        guard levels.reduce(0, { $0 + $1.rows.count }) <= rowsLimit else { return [] }
        return frames(levels, ofSize: min(size, 32 << 10))
    }
}
