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
        case .expectNoLink: runtime.hub.forget(secret)
        case .refuse(let link, let refusal): with(link) { refuse($0, refusal) }
        case .terminate(let grace):
            if let process = spawned?.process { tasks.add { _ = await process.terminate(grace: grace) } }
        case .kill: try? spawned?.process.sendToGroup(.kill)
        case .cleanUp(let link): tasks.add { await self.cleanUp(link) }
        case .measureMemory:
            if let bytes = spawned?.process.identity.residentBytes { handle(.memoryMeasured(bytes: bytes)) }
        case .startSucceeded:
            readiness.settle(.success(()))
            checkDescription()
        case .startFailed(let failure): readiness.settle(.failure(error(for: failure)))
        case .lifeEnded(let reason): events.send(.exited(reason))
        case .gone: end()
        case .wake(let time): state.wake(at: time) { [weak self] in self?.handle(.timePassed, talksElsewhere: true) }
        }
    }

    func perform(_ directive: WorkerMachine.LinkDirective) {
        switch directive {
        case .welcome(let link): with(link) { welcome($0, on: link) }
        case .close(let link):
            with(link) { $0.peer.close() }
            forgetLink(link)
        case .introduce(let link): with(link) { introduce(to: $0.peer) }
        case .tellStart(let link): with(link) { tellStart(to: $0.peer) }
        case .tellStop(let link, let stop): with(link) { tell(stop, to: $0.peer) }
        case .bidFarewell(let link, let reason): with(link) { bidFarewell(to: $0.peer, reason) }
        case .ping(let link): with(link) { ping($0.peer) }
        case .becameReachable: events.send(.becameReachable)
        case .becameUnreachable: events.send(.becameUnreachable)
        case .recycle(let cause):
            runtime.logger.info("a worker is replaced", metadata: ["coordinator.path": "\(path)", "cause": "\(cause.text)"])
            events.send(.recyclingDue)
        }
    }

    private var spawned: SpawnedProcess? { state.withLock { $0.process } }

    private func with(_ link: WorkerMachine.LinkID, _ body: (Attachment) -> Void) {
        if let attachment = state.withLock({ $0.links.attached[link] }) { body(attachment) }
    }

    private func end() {
        state.cancelWake()
        turn.settle(())
        if let number = tapSwitch.outcome { runtime.tap.forget(number) }
        settleNextLink()
        gone.settle(())
    }

    private func error(for failure: WorkerMachine.Failure) -> any Error {
        switch failure {
        case .stopped: return CoordinatorError.hasStopped(path)
        case .thrown(let error): return error
        case .exited(let reason): return StartFailure(reason: reason, description: "\(path) ended before it was ready: \(reason)")
        case .condemned(let reason, let complaint):
            switch complaint {
            case .startTimedOut:
                let timeout = state.withLock { $0.assignment?.startTimeout } ?? .zero
                return CoordinatorError(.startTimedOut, "\(path) was not ready within \(timeout)")
            case .noLink: return CoordinatorError(.peerLost, "\(path) has had no link for \(state.withLock { $0.machine.limits.link })")
            case .noSign:
                return CoordinatorError(.peerLost, "\(path) has given no sign for \(runtime.options.heartbeatTimeout)", maybeExecuted: true)
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
