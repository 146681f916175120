import ConcurrencySupport
import Links
import Logging
import Processes
import WireProtocol
import WorkerLifecycle

extension WorkerHost {
    func perform(_ directive: WorkerMachine.ProcessDirective) {
        switch directive {
        case .takeTurn: takeTurn()
        case .spawn: tasks.add { await self.spawn() }
        case .announce: tasks.add { await self.announce() }
        case .expectNoLink: runtime.links.hub.forget(secret)
        case .refuse(let link, let refusal): with(link) { refuse($0, refusal) }
        case .terminate(let grace):
            if let process = spawned?.process { tasks.add { _ = await process.terminate(grace: grace) } }
        case .kill: try? spawned?.process.sendToGroup(.kill)
        case .cleanUp(let link): tasks.add { await self.cleanUp(link) }
        case .ping(let link): ping(link, .link)
        case .probeExecutor(let link): ping(link, .executor)
        case .noteExecutor(let isSilent): logExecutor(isSilent: isSilent)
        case .measureMemory:
            // It looks at all processes of the machine.
            tasks.add { [self] in if let bytes = measuredMemory { noteMemory(bytes) } }
        case .startSucceeded:
            noteReadiness()
            readiness.settle(.success(()))
            checkDescription()
        case .startFailed(let failure): failStart(error(for: failure))
        case .lifeEnded(let reason): events.send(.exited(reason))
        case .gone: end()
        case .wake(let time): state.wake(at: time) { [weak self] in self?.handle(.timePassed, talksElsewhere: true) }
        }
    }

    func perform(_ directive: WorkerMachine.LinkDirective) {
        switch directive {
        case .welcome(let link): with(link) { welcome($0, on: link) }
        // The link is forgotten when it has given back its messages.
        case .close(let link): with(link) { $0.peer.close() }
        case .introduce(let link): with(link) { introduce(to: $0.peer) }
        case .tellStart(let link): with(link) { tellStart(to: $0.peer) }
        case .tellStop(let link, let stop): with(link) { tell(stop, to: $0.peer) }
        case .bidFarewell(let link, let reason): with(link) { bidFarewell(to: $0.peer, reason) }
        case .becameReachable: events.send(.becameReachable)
        case .becameUnreachable: events.send(.becameUnreachable)
        case .recycle(let cause):
            runtime.observation.logger.info("a worker is replaced", metadata: ["coordinator.path": "\(path)", "cause": "\(cause.text)"])
            events.send(.recyclingDue)
        }
    }

    /// Tells that the start has failed, once nothing is left of a worker that was to be adopted.
    private func failStart(_ error: any Error) {
        guard let orphan = takeOrphan() else {
            readiness.settle(.failure(error))
            return
        }
        tasks.add { [self] in
            await runtime.end(orphan, because: "its start was given up")
            readiness.settle(.failure(error))
        }
    }

    /// The memory that the process occupies together with what it has started, without the workers and programs below it; `nil` when it's
    /// gone.
    var measuredMemory: Int? {
        guard let process = spawned?.process.identity else { return nil }
        let below = state.withLock { $0.descendants.families.map(\.leader.processID) }
        return FamilyUsage.residentBytes(of: process, without: Set(below))
    }

    private func noteMemory(_ bytes: Int) {
        if let limit = plan.memoryLimit, bytes > limit {
            runtime.observation.logger.warning(
                "a worker is killed: it occupies more memory than its limit",
                metadata: [
                    "coordinator.path": "\(path)", "worker.pid": "\(spawned?.process.identity.processID ?? 0)",
                    "memory.bytes": "\(bytes)", "memory.limit": "\(limit)",
                ]
            )
        }
        handle(.memoryMeasured(bytes: bytes))
    }

    private var spawned: SpawnedProcess? { state.withLock { $0.process } }

    private func with(_ link: WorkerMachine.LinkID, _ body: (Attachment) -> Void) {
        if let attachment = state.withLock({ $0.links.attached[link] }) { body(attachment) }
    }

    private func logExecutor(isSilent: Bool) {
        let metadata: Logger.Metadata = ["coordinator.path": "\(path)", "worker.pid": "\(spawned?.process.identity.processID ?? 0)"]
        guard isSilent else { return runtime.observation.logger.notice("a worker's executor answers again", metadata: metadata) }
        if runtime.observation.lives.areWanted {
            let incarnation = state.withLock { $0.assignment?.events.life.incarnation } ?? 0
            let silence = runtime.options.heartbeatTimeout
            runtime.observation.lives.add(LifecycleRecord(.silent(silence), of: path, incarnation, spawned?.process.identity.processID))
        }
        runtime.observation.logger.warning(
            "a worker's executor runs nothing: its coordinator, or all its threads, are busy or blocked",
            metadata: metadata.merging(["silence": "\(runtime.options.heartbeatTimeout)"]) { $1 }
        )
    }

    private func end() {
        state.cancelWake()
        turn.settle(())
        endSubscriptions()
        settleNextLink()
        gone.settle(())
    }

    private func error(for failure: WorkerMachine.Failure) -> any Error {
        switch failure {
        case .stopped: return CoordinatorError.hasStopped(path)
        case .thrown(let error): return error
        case .exited(let reason):
            // The kernel doesn't say of a process that it was refused memory.
            let hint = plan.dataLimit.map { "; its dataLimit of \($0) bytes holds for the stacks of its threads too" } ?? ""
            return StartFailure(reason: reason, description: "\(path) ended before it was ready: \(reason)\(hint)")
        case .condemned(let reason, let complaint):
            switch complaint {
            case .startTimedOut:
                let timeout = state.withLock { $0.assignment?.startTimeout } ?? .zero
                return CoordinatorError(.startTimedOut, "\(path) was not ready within \(timeout)")
            case .noLink: return CoordinatorError(.peerLost, "\(path) has had no link for \(state.withLock { $0.machine.limits.link })")
            case .noSign:
                return CoordinatorError(.peerLost, "\(path) has given no sign for \(runtime.options.heartbeatTimeout)", maybeExecuted: true)
            case .silentExecutor:
                let time = runtime.options.heartbeatTimeout
                return CoordinatorError(.peerLost, "the executor of \(path) has run nothing for \(time)", maybeExecuted: true)
            case .stuckHandler:
                return CoordinatorError(.peerLost, "a handler of \(path) has run on past its cancellation", maybeExecuted: true)
            case .memoryExceeded: return CoordinatorError(.peerLost, "\(path): \(reason)", maybeExecuted: true)
            case .ticketRefused(let message): return CoordinatorError(.startFailed, message)
            case .notWelcome(let message): return CoordinatorError(.startFailed, message)
            case .discarded:
                return reason == .shutdown ? CoordinatorError.hasStopped(path) : CoordinatorError(.startFailed, "\(path): \(reason)")
            }
        }
    }
}

extension WorkerMachine.RecyclingCause {
    fileprivate var text: String {
        switch self {
        case .age: "its age"
        case .messages(let count): "\(count) messages"
        case .memory(let bytes): "\(bytes) bytes of memory"
        }
    }
}
