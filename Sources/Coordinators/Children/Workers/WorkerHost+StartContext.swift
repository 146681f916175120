import ConcurrencySupport
import Links
import Logging
import WireProtocol
import WorkerLifecycle

extension WorkerHost {
    /// Sends a worker on a new link its lasting state: the reasons for a pause, the dependencies, and whether its events are wanted.
    ///
    /// The worker may get all of it twice.
    func introduce(to peer: Peer) {
        // A process that was never introduced to anyone isn't paused, and nothing of it is wanted yet.
        let isNew = state.withLock { $0.subscriptions == nil && !$0.origin.isAdopted }
        tellDependencies(to: peer)
        var told: PauseReasons? = isNew ? [] : nil
        // Reasons that have changed meanwhile are sent again, so that no older state arrives after a newer one.
        while case let reasons = startContext.pauseReasons, told != reasons {
            for reason in [PauseReasons.explicit, .cascade] { peer.queue { _ in Frame(reasons.content(about: reason)) } }
            told = reasons
        }
        // Also when nothing is recorded: the worker may come from a parent with other wishes.
        let configuration = runtime.observation.telemetry.configuration
        let subscriptions = [
            ("", startContext.areEventsWanted), (TreeEvent.notification, runtime.observation.tap.isActive),
            (MessageTraces.Report.notification, runtime.observation.traces.isActive),
            (configuration.subscription, !configuration.isEmpty), (DrainNotice.notification, startContext.isDraining),
        ]
        for (name, isActive) in subscriptions where isActive || !isNew { peer.queue { Self.subscription($0(name), isActive) } }
        if state.withLock({ $0.subscriptions == nil }) { listen() }
    }

    /// Has the worker told what it's to report whenever that changes.
    private func listen() {
        let subscriptions = Subscriptions(
            tap: runtime.observation.tap.whenSwitched { [weak self] in self?.subscribe(TreeEvent.notification, $0) },
            traces: runtime.observation.traces.whenSwitched { [weak self] in self?.subscribe(MessageTraces.Report.notification, $0) },
            telemetry: runtime.observation.telemetry.whenSwitched { [weak self] in self?.subscribe($0.subscription, !$0.isEmpty) }
        )
        state.withLock { $0.subscriptions = subscriptions }
    }

    private func subscribe(_ name: String, _ isWanted: Bool) {
        if let peer = state.withLock({ $0.linkedPeer }) { subscribe(name, isWanted, at: peer) }
    }

    func endSubscriptions() {
        let (subscriptions, directory) = state.withLock { ($0.subscriptions, $0.directorySubscription) }
        if let directory { runtime.links.uplink?.forget(directory) }
        guard let subscriptions else { return }
        runtime.observation.tap.forget(subscriptions.tap)
        runtime.observation.traces.forget(subscriptions.traces)
        runtime.observation.telemetry.forget(subscriptions.telemetry)
    }

    private var startContext: StartContext { state.withLock { $0.assignment?.startContext } ?? StartContext() }

    func pause(for reasons: PauseReasons) async {
        let (peer, former) = state.withLock { state in
            defer { state.assignment?.startContext.pauseReasons = reasons }
            return (state.linkedPeer, state.assignment?.startContext.pauseReasons ?? [])
        }
        // The machine learns of a pause before the worker does, and of a resumption after the worker has followed: the messages that wait
        // in the worker would be lost if it were replaced in between.
        if !reasons.isEmpty { handle(.pauseChanged(true)) }
        // Without a link, the worker gets the reasons on the next one.
        if let peer {
            for reason in [PauseReasons.explicit, .cascade] where former.contains(reason) != reasons.contains(reason) {
                _ = try? await peer.request("", timeout: nil) { _ in reasons.content(about: reason) }
            }
        }
        if reasons.isEmpty { handle(.pauseChanged(false)) }
    }

    func inherit(_ dependencies: Dependencies) {
        let peer = state.withLock { state in
            state.assignment?.startContext.renew(dependencies)
            return state.linkedPeer
        }
        if let peer { tellDependencies(to: peer) }
    }

    /// Sends the present dependencies, and sends them again if they have changed meanwhile.
    ///
    /// Several threads may do so at the same time: the worker ignores dependencies that are older than its own.
    private func tellDependencies(to peer: Peer) {
        var told: UInt64?
        while case let dependencies = startContext.dependencies, told != dependencies.version {
            tell(dependencies, to: peer)
            told = dependencies.version
        }
    }

    func noteDrain() {
        let peer = state.withLock { state in
            state.assignment?.startContext.isDraining = true
            return state.linkedPeer
        }
        // Without a link, the worker learns it on the next one.
        if let peer { subscribe(DrainNotice.notification, true, at: peer) }
    }

    func observeEvents() {
        let peer = state.withLock { state -> Peer? in
            guard state.assignment?.startContext.areEventsWanted == false else { return nil }
            state.assignment?.startContext.areEventsWanted = true
            return state.linkedPeer
        }
        if let peer { subscribe("", true, at: peer) }
    }

    /// The notifications that a worker may send, and that are about a subtree.
    static let notices: [any UpwardNotice.Type] = [
        UnhandledReport.self, DeadLetterReport.self, SpanReport.self, AskDurations.self, LifecycleReport.self, TreeEvent.self,
        MessageTraces.Report.self,
    ]

    /// Handles a notification of the worker.
    ///
    /// - Returns: The rule that the worker has broken by it; `nil`: none.
    func notified(_ name: String, _ codec: PayloadCodec, _ payload: Bytes) -> String? {
        if name.isEmpty {
            events.send(.emitted(.encoded(codec, payload)))
            return nil
        }
        // One that a worker of a newer build sends has no effect here.
        guard let type = Self.notices.first(where: { $0.notification == name }) else {
            runtime.observation.logger.debug("a notification was ignored", metadata: ["name": "\(name.shortened)"])
            return nil
        }
        do {
            let notice = try PayloadCoder.decode(type, from: payload, codec: codec)
            if let stranger = notice.subjectOutside(of: path) {
                return "the notification \(name) about \(stranger.shortened) was refused: \(path) may speak of itself and those below it"
            }
            dispatch(notice)
        } catch {
            runtime.observation.violations.report(by: path.description) { [runtime, path] others in
                let metadata: Logger.Metadata = ["coordinator.path": "\(path)", "error": "\("\(error)".shortened)"]
                runtime.observation.logger.warning("a notification can't be read", metadata: metadata.counting(others))
            }
        }
        return nil
    }

    private func dispatch(_ notice: any UpwardNotice) {
        switch notice {
        case let report as UnhandledReport: parent.reportUnhandled(report.climbed(from: path))
        case let report as DeadLetterReport: runtime.observation.deadLetters.add(report)
        case let report as SpanReport: runtime.observation.telemetry.add(report)
        case let asks as AskDurations: runtime.observation.telemetry.add(asks)
        case let report as LifecycleReport: runtime.observation.lives.add(report, below: path)
        case let event as TreeEvent: runtime.observation.tap.publish(event.shortened)
        case let hop as MessageTraces.Report: runtime.observation.traces.publish(hop.shortened)
        default: break
        }
    }

    private func tell(_ dependencies: Dependencies, to peer: Peer) {
        for (name, entry) in dependencies.entries {
            do {
                // The dependencies are sent as JSON, because other builds may run further down.
                // What stays here is told without a value, so that a row that needs it fails, and says why.
                let encoded = try entry.encoded(as: .json)
                if encoded == nil { noteThatItStays(name) }
                let (codec, bytes) = encoded ?? (.json, [])
                try peer.link.send(lane: .control) { intern in
                    Frame(.dependency(Dependency(name: intern(name), version: dependencies.version, payload: bytes)), codec: codec)
                }
            } catch {
                runtime.observation.logger.error(
                    "a dependency can't be told to a worker",
                    metadata: ["coordinator.path": "\(path)", "dependency": "\(name)", "error": "\(error)"]
                )
            }
        }
    }

    /// Logs, once, that a dependency stays in this process: in a worker a row that needs it fails.
    private func noteThatItStays(_ name: String) {
        guard runtime.links.staying.withLock({ $0.insert(name).inserted }) else { return }
        runtime.observation.logger.warning(
            "a dependency doesn't reach workers: its value isn't Codable, and it was provided without a description",
            metadata: ["coordinator.path": "\(path)", "dependency": "\(name)"]
        )
    }

    private func subscribe(_ name: String, _ isActive: Bool, at peer: Peer) {
        try? peer.link.send(lane: .control) { Self.subscription($0(name), isActive) }
    }

    private static func subscription(_ name: NameID, _ isActive: Bool) -> Frame {
        Frame(.subscribe(Subscribe(subject: 0, name: name, isActive: isActive)))
    }
}

extension PauseReasons {
    /// Returns the frame about one reason of a pause: that the reason is set, or isn't.
    fileprivate func content(about reason: PauseReasons) -> Content {
        contains(reason) ? .pause(Pause(target: 0, reason: reason.wire)) : .resume(Resume(target: 0, reason: reason.wire))
    }
}
