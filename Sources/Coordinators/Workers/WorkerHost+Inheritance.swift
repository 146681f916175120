import ConcurrencySupport
import Links
import Logging
import WireProtocol
import WorkerLifecycle

extension WorkerHost {
    /// Tells a worker on a new link what lasts: why it's paused, what it's provided with, and who listens.
    ///
    /// All of it may be heard twice.
    func introduce(to peer: Peer) {
        tellDependencies(to: peer)
        var told: PauseReasons?
        // What has changed meanwhile is told again: it can't come behind what is newer.
        while case let reasons = inheritance.pauseReasons, told != reasons {
            for reason in [PauseReasons.explicit, .cascade] { peer.send(Frame(reasons.content(about: reason))) }
            told = reasons
        }
        subscribe("", inheritance.areEventsWanted, at: peer)
        subscribe(Notification.tap, runtime.tap.isActive, at: peer)
        if tapSwitch.outcome == nil { listenToTap() }
    }

    private func listenToTap() {
        let number = runtime.tap.whenSwitched { [weak self] isWanted in
            guard let self, let peer = state.withLock({ $0.linkedPeer }) else { return }
            subscribe(Notification.tap, isWanted, at: peer)
        }
        tapSwitch.settle(number)
    }

    private var inheritance: ChildInheritance { state.withLock { $0.assignment?.inheritance } ?? ChildInheritance() }

    func pause(for reasons: PauseReasons) async {
        let (peer, former) = state.withLock { state in
            defer { state.assignment?.inheritance.pauseReasons = reasons }
            return (state.linkedPeer, state.assignment?.inheritance.pauseReasons ?? [])
        }
        // Before it's told of a pause, and after it has followed a resumption: what waits in it would be lost with it.
        if !reasons.isEmpty { handle(.pauseChanged(true)) }
        // Without a link it's told on the next.
        if let peer {
            for reason in [PauseReasons.explicit, .cascade] where former.contains(reason) != reasons.contains(reason) {
                _ = try? await peer.request("", timeout: nil) { _ in reasons.content(about: reason) }
            }
        }
        if reasons.isEmpty { handle(.pauseChanged(false)) }
    }

    func inherit(_ dependencies: Dependencies) {
        let peer = state.withLock { state in
            state.assignment?.inheritance.renew(dependencies)
            return state.linkedPeer
        }
        if let peer { tellDependencies(to: peer) }
    }

    /// Tells what is provided now, and again what has changed meanwhile.
    ///
    /// Several may do so at the same time: the worker takes nothing that is older than what it has.
    private func tellDependencies(to peer: Peer) {
        var told: UInt64?
        while case let dependencies = inheritance.dependencies, told != dependencies.version {
            tell(dependencies, to: peer)
            told = dependencies.version
        }
    }

    func observeEvents() {
        let peer = state.withLock { state -> Peer? in
            guard state.assignment?.inheritance.areEventsWanted == false else { return nil }
            state.assignment?.inheritance.areEventsWanted = true
            return state.linkedPeer
        }
        if let peer { subscribe("", true, at: peer) }
    }

    /// Handles a notice of the worker.
    func notified(_ name: String, _ codec: PayloadCodec, _ payload: Bytes) {
        do {
            switch name {
            case "": events.send(.emitted(.encoded(codec, payload)))
            case Notification.deadLetters:
                runtime.deadLetters.add(try PayloadCoder.decode(DeadLetterReport.self, from: payload, codec: codec))
            case Notification.tap:
                let event = try PayloadCoder.decode(TreeEvent.self, from: payload, codec: codec)
                runtime.tap.publish(event)
            default: runtime.logger.debug("a notification was ignored", metadata: ["name": "\(name)"])
            }
        } catch {
            runtime.logger.warning("a notification can't be read", metadata: ["coordinator.path": "\(path)", "error": "\(error)"])
        }
    }

    private func tell(_ dependencies: Dependencies, to peer: Peer) {
        for (name, entry) in dependencies.entries {
            do {
                // JSON: further down there may be other builds.
                guard let (codec, bytes) = try entry.encoded(as: .json) else {
                    noteThatItStays(name)
                    continue
                }
                try peer.link.send(lane: .control) { intern in
                    Frame(.dependency(Dependency(name: intern(name), version: dependencies.version, payload: bytes)), codec: codec)
                }
            } catch {
                runtime.logger.error(
                    "a dependency can't be told to a worker",
                    metadata: ["coordinator.path": "\(path)", "dependency": "\(name)", "error": "\(error)"]
                )
            }
        }
    }

    /// Said once: a row that needs it would wait in a worker for ever, and in one process it doesn't.
    private func noteThatItStays(_ name: String) {
        guard runtime.staying.withLock({ $0.insert(name).inserted }) else { return }
        runtime.logger.warning(
            "a dependency doesn't reach workers: its value isn't Codable, and it was provided without a description",
            metadata: ["coordinator.path": "\(path)", "dependency": "\(name)"]
        )
    }

    private func subscribe(_ name: String, _ isActive: Bool, at peer: Peer) {
        try? peer.link.send(lane: .control) { intern in
            Frame(.subscribe(Subscribe(subject: 0, name: intern(name), isActive: isActive)))
        }
    }
}

extension PauseReasons {
    /// Returns the frame about one reason of a pause: that it's set, or isn't.
    fileprivate func content(about reason: PauseReasons) -> Content {
        contains(reason) ? .pause(Pause(target: 0, reason: reason.wire)) : .resume(Resume(target: 0, reason: reason.wire))
    }
}
