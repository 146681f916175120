import Links
import Processes
import Synchronization
import WireProtocol

extension WorkerHost {
    /// The stop ladder: the stop frame, SIGTERM, SIGKILL to the group, each after its grace; the process's end is confirmed by the kernel.
    func stop(_ shutdown: Shutdown) {
        let (child, peer) = state.withLock { state in
            state.isStopRequested = true
            if state.stop == nil, shutdown.grace != .zero {
                state.stop = Stop(target: 0, graceMilliseconds: shutdown.grace?.millisecondsClamped ?? .max)
            }
            return (state.child, state.peer)
        }
        turn.settle(())
        let isReady = !readiness.settle(.failure(CoordinatorError.hasStopped(path)))
        guard let child else { return }
        let grace = shutdown.grace
        if grace == .zero {
            try? child.sendToGroup(.kill)
            return
        }
        Task {
            if isReady || peer != nil {
                // Without a link the worker hears it on the next one, or is killed as one that has none.
                self.sendStop(to: peer)
                if await Deadline.within(grace, { _ = await child.waitForExit() }) { return }
                self.state.withLock { $0.verdict = .stopTimedOut }
            }
            _ = await child.terminate(grace: min(grace ?? .seconds(2), .seconds(2)))
        }
    }

    /// Tells the worker to stop, after it has handled what it has if it's only to be replaced.
    func sendStop(to peer: Peer?) {
        let (stop, isRecycling) = state.withLock { ($0.stop, $0.isRecycling) }
        guard let stop else { return }
        if isRecycling { peer?.drain(stop) } else { peer?.send(Frame(.stop(stop))) }
    }

    func kill() throws {
        guard let child = state.withLock({ $0.child }) else {
            throw CoordinatorError(.stopped, "\(path) has no process yet")
        }
        try child.send(.kill)
    }

    /// The process is there, for all that is known.
    var isAlive: Bool { state.withLock { $0.child.map { $0.exitStatus == nil } ?? false } }

    /// It has its link, and no life yet.
    var isWaiting: Bool { state.withLock { $0.isGreeted && $0.peer != nil && $0.assignment == nil } }

    /// It has been told what life to live.
    var isAssigned: Bool { state.withLock { $0.assignment != nil } }

    /// Ends a spare that nobody needs.
    func discard() {
        runtime.hub.forget(secret)
        condemn(.shutdown, CoordinatorError.hasStopped(path))
    }

    /// Kills the worker for a reason of the runtime's own.
    func condemn(_ reason: ExitReason, _ error: any Error) {
        let child = state.withLock { state in
            if state.verdict == nil { state.verdict = reason }
            return state.spawned
        }
        readiness.settle(.failure(error))
        try? child?.sendToGroup(.kill)
    }

    func linkEnded(_ link: Link, _ error: LinkError) {
        let isCurrent = state.withLock { state in
            guard state.peer?.link === link else { return false }
            state.peer = nil
            return !state.hasEnded
        }
        guard isCurrent else { return }
        events.unreachable()
        lookAgain(after: nil)
        let timer = Timers.shared.schedule(at: .now + Self.linkGrace) { [weak self] in
            guard let self, state.withLock({ $0.peer == nil && !$0.hasEnded }) else { return }
            condemn(.hung, CoordinatorError(.peerLost, "\(path) has had no link for \(Self.linkGrace)"))
        }
        state.withLock { $0.linkTimer = timer }
    }

    /// The worker may have dialled again while the loss of its former link was told.
    func lookAgain(after former: Peer?) {
        let hasSuccessor = state.withLock { $0.isGreeted && !$0.hasEnded && $0.peer != nil && $0.peer !== former }
        if hasSuccessor { events.reachable() }
    }

    /// The process has ended: its asks end at once, and the exit is told when its descendants are gone too.
    func processEnded(_ status: ExitStatus) async {
        let (peer, child, timer, descendants, tapSwitch) = state.withLock { state in
            state.hasEnded = true
            return (state.peer, state.spawned, state.linkTimer, state.descendants, state.tapSwitch)
        }
        if let ageTimer = state.withLock({ $0.ageTimer }) { Timers.shared.cancel(ageTimer) }
        if let tapSwitch { runtime.tap.forget(tapSwitch) }
        events.unreachable()
        // What it has answered before is still to be read.
        await peer?.readToEnd(within: Self.readingTime)
        peer?.close()
        runtime.hub.forget(secret)
        if let timer { Timers.shared.cancel(timer) }
        await withDiscardingTaskGroup { group in
            for descendant in descendants { group.addTask { await self.confirmGone(descendant) } }
        }
        if let child { await forget(child.identity) }
        for descendant in descendants { await forget(descendant) }
        let reason = state.withLock { state in
            state.verdict ?? state.lastWords ?? ExitReason(status)
        }
        let isStartFailure = readiness.settle(
            .failure(StartFailure(reason: reason, description: "\(path) ended before it was ready: \(reason)"))
        )
        gone.settle(())
        if !isStartFailure, case .success = readiness.outcome { events.exited(reason) }
    }

    private func forget(_ process: ProcessIdentity) async {
        runtime.directory.removeSocket(of: process.processID)
        try? await runtime.uplink?.report(process, lives: false)
    }

    /// A descendant dies with its parent; one that doesn't within a second is killed.
    private func confirmGone(_ process: ProcessIdentity) async {
        if await Deadline.within(.seconds(1), { await process.waitUntilGone() }) { return }
        try? process.send(.kill)
        await process.waitUntilGone()
    }
}
