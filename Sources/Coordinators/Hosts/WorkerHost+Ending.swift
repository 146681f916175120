import Links
import Processes
import Synchronization
import WireProtocol

extension WorkerHost {
    /// The stop ladder: the stop frame, SIGTERM, SIGKILL to the group, each after its grace; the process's end is confirmed by the kernel.
    ///
    /// The second time it can shorten what is left, for the worker's own subtree too.
    func stop(_ shutdown: Shutdown) {
        let grace = shutdown.grace
        let deadline = grace.map { .now + $0 } ?? MonotonicTime.distantFuture
        let (child, peer, isSooner) = state.withLock { state -> (ChildProcess?, Peer?, Bool) in
            // A kill is never too late: after the deadline the kernel's own ladder still has its time.
            let isSooner = !state.isStopRequested || grace == .zero || deadline < state.stopDeadline ?? .distantFuture
            state.isStopRequested = true
            if isSooner {
                state.stopDeadline = deadline
                if grace != .zero { state.stop = Stop(target: 0, graceMilliseconds: grace?.millisecondsClamped ?? .max) }
            }
            return (state.child, state.isGreeted ? state.peer : nil, isSooner)
        }
        turn.settle(())
        let isReady = !readiness.settle(.failure(CoordinatorError.hasStopped(path)))
        guard isSooner, let child else { return }
        if grace == .zero {
            try? child.sendToGroup(.kill)
        } else if isReady || peer != nil {
            // Without a link the worker hears it on the next one, or is killed as one that has none.
            sendStop(to: peer)
            scheduleTerm(of: child, at: deadline, grace)
        } else {
            terminate(child, grace)
        }
    }

    /// What the worker hasn't done by then, the kernel does.
    private func scheduleTerm(of child: ChildProcess, at deadline: MonotonicTime, _ grace: Duration?) {
        let timer = grace.map { _ in
            Timers.shared.schedule(at: deadline) { [weak self] in
                guard let self, state.withLock({ !$0.hasEnded }) else { return }
                state.withLock { $0.verdict = $0.verdict ?? .stopTimedOut }
                terminate(child, grace)
            }
        }
        let former = state.withLock { state in
            defer { state.stopTimer = timer }
            return state.stopTimer
        }
        if let former { Timers.shared.cancel(former) }
    }

    private func terminate(_ child: ChildProcess, _ grace: Duration?) {
        tasks.add { _ = await child.terminate(grace: min(grace ?? .seconds(2), .seconds(2))) }
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

    /// Ends a spare that nobody needs, and returns when nothing is left of its process, if there ever was one.
    func discardAndWait() async {
        discard()
        if state.withLock({ $0.spawned }) != nil { await gone.value }
    }

    /// Kills the worker for a reason of the runtime's own.
    func condemn(_ reason: ExitReason, _ error: any Error) {
        let child = state.withLock { state in
            if state.verdict == nil { state.verdict = reason }
            return state.spawned?.process
        }
        readiness.settle(.failure(error))
        try? child?.sendToGroup(.kill)
    }

    func linkEnded(_ link: Link, _ error: LinkError) {
        let isCurrent = state.withLock { state in
            guard state.peer?.link === link else { return false }
            state.peer = nil
            state.isGreeted = false
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

    /// The process has ended: its asks end at once, and the exit is told when nothing that descends from it is left.
    func processEnded(_ status: ExitStatus) async {
        let (peer, timers, tapSwitch) = state.withLock { state in
            state.hasEnded = true
            let timers = [state.linkTimer, state.stopTimer, state.ageTimer].compactMap(\.self)
            return (state.peer, timers, state.tapSwitch)
        }
        for timer in timers { Timers.shared.cancel(timer) }
        if let tapSwitch { runtime.tap.forget(tapSwitch) }
        events.unreachable()
        // What it has answered before is still to be read.
        await peer?.readToEnd(within: Self.readingTime)
        peer?.close()
        settleNextLink()
        runtime.hub.forget(secret)
        // Also those that it has told of in its last moment.
        let families = state.withLock { $0.descendants.families + [$0.spawned?.family].compactMap(\.self) }
        await runtime.end(families)
        for family in families { await forget(family) }
        let reason = state.withLock { state in
            state.verdict ?? state.lastWords ?? ExitReason(status)
        }
        let isStartFailure = readiness.settle(
            .failure(StartFailure(reason: reason, description: "\(path) ended before it was ready: \(reason)"))
        )
        gone.settle(())
        if !isStartFailure, case .success = readiness.outcome { events.exited(reason) }
    }

    private func forget(_ family: ProcessFamily) async {
        runtime.directory.removeSocket(of: family.leader.processID)
        await runtime.processEnded(family)
    }
}
