import ConcurrencySupport
import Glibc
import Processes
import Supervision
import Synchronization
import WireProtocol
import WorkerLifecycle

extension WorkerHost {
    func deliver(_ envelope: Envelope, to rest: ArraySlice<Substring>, isDirect: Bool) {
        guard delayLine.isInUse else { return forward(envelope, to: rest, isDirect: isDirect) }
        delayLine.pass { self.forward(envelope, to: rest, isDirect: isDirect) }
    }

    private func forward(_ envelope: Envelope, to rest: ArraySlice<Substring>, isDirect: Bool) {
        // On a link that isn't welcomed yet, no frame may be sent before the welcome.
        let peer = state.withLock { $0.linkedPeer }
        // A message that was not sent waits for the link, or for the next life.
        let undelivered: @Sendable () -> Void = { [self] in
            events.send(.messageReturned(ParkedMessage(envelope: envelope, rest: rest, isDirect: isDirect)))
            lookAgain(after: peer)
        }
        let target = path.appending(rest).description
        guard peer?.forward(envelope, to: target, isDirect: isDirect, undelivered: undelivered) == true else { return undelivered() }
        // The count comes after the message, so that the last message of a life still goes to it.
        if plan.recycling.messages != nil, !envelope.isBuiltin { handle(.messageSent) }
    }

    /// Reports the worker as reachable again if it has dialled while the loss of its former link was being reported.
    private func lookAgain(after former: Peer?) {
        let hasSuccessor = state.withLock { state in
            let hasSuccessor = state.linkedPeer.map { $0 !== former } ?? false
            // The worker was ready, as an adopted one is at once, before its welcome was noted here: no other event follows.
            if !hasSuccessor, former == nil { state.links.isAwaited = true }
            return hasSuccessor
        }
        if hasSuccessor { events.send(.becameReachable) }
    }

    func operate(_ operation: Operation, on rest: ArraySlice<Substring>, budget: TimeoutBudget) async throws -> JSONValue {
        let target = path.appending(rest).description
        if operation.isDescription { return try await describe(operation, target, budget) }
        var former: Peer?
        while let peer = await linkedPeer(within: budget.duration, after: former) {
            do {
                return try await peer.inspect(operation.rawValue, target, budget.payload, timeout: nil)
            } catch let error as CoordinatorError where error.code == .peerLost && error.maybeExecuted == false {
                // The link had just broken: the request is sent again on the next one.
                former = peer
            }
        }
        throw hasNoLink
    }

    /// Answers a request of the worker for the runtime.
    func answer(_ operation: String, _ payload: JSONValue) async throws -> JSONValue {
        if let request = DismissalRequest(operation, payload) {
            return .bool(await events.requestDismissal(timeout: request.timeout))
        }
        if operation == IdleNotice.operation {
            events.send(.becameIdle)
            return .null
        }
        guard let told = ProcessReport(operation, payload), told.family.leader.processID > 1,
            told.family.leader.processID != getpid()
        else {
            throw CoordinatorError(.unsupported, "a parent doesn't know '\(operation)'")
        }
        let (worker, user, isKnown) = state.withLock { state in
            (state.process?.family, state.process?.process.userID ?? geteuid(), state.descendants.contains(told.family.leader))
        }
        var report = told
        if user != geteuid() {
            // The end of a process that isn't recorded as one of the worker's is no business of the worker's.
            if !told.lives, !isKnown { return .null }
            guard let limited = told.limited(to: user) else {
                let process = told.family.leader.processID
                throw CoordinatorError(.unsupported, "\(path) has told of process \(process), which isn't of user \(user)")
            }
            report = limited
        }
        // The report is recorded here first, because a process further up relies on the processes in between.
        guard state.withLock({ $0.descendants.merge(report) }) else {
            throw CoordinatorError(.tooManyOpenAsks, "\(path) has told of more processes than there can be")
        }
        if report.lives { try await runtime.processBegan(report.family, below: worker) } else { await runtime.processEnded(report.family) }
        return .null
    }
}

// MARK: - Preparation for a certain life

/// The preparation of a process for a certain life, which begins later.
extension WorkerHost {
    /// Spawns a process that waits for a life of this coordinator, and returns when the process has its link and has said that it could host
    /// it; discards the process when that fails.
    ///
    /// - Throws: The reason why the process is of no use.
    func prepare(for definition: CoordinatorDefinition) async throws {
        // The runtime's end waits until nothing is left of the process.
        runtime.processes.spares.add { await self.gone.value }
        do {
            try await launchSpare()
            let deadline = MonotonicTime.now + runtime.options.startTimeout
            guard let peer = await linkedPeer(within: runtime.options.startTimeout) else { throw unlinked }
            // A worker in another language hosts what it hosts.
            guard hello(of: peer)?.buildID.isEmpty == false else { return }
            try await propose(definition, to: peer, by: deadline)
        } catch {
            discard()
            throw error
        }
    }

    /// Ends a process that was prepared, unless it has taken the place of the former life.
    func discardUnlessOwned() {
        if state.withLock({ $0.assignment?.events.owner == nil }) { discard() }
    }

    private func hello(of peer: Peer) -> Hello? {
        state.withLock { $0.links.attached.values.first { $0.peer === peer }?.hello }
    }

    private func propose(_ definition: CoordinatorDefinition, to peer: Peer, by deadline: MonotonicTime) async throws {
        do {
            try await ask(StartProposal.operation, try StartProposal(definition).payload, of: peer, within: deadline - .now)
        } catch let error as CoordinatorError where error.code == .unsupported {
            // A worker of another release doesn't know the question.
        }
    }

    /// The operation by which a process that waits for a life is asked to try durable flows.
    static let flowTrial = "tryFlows"

    /// Has the process, which waits for a life, try durable flows.
    func tryFlows(_ records: JSONValue) async throws {
        let timeout = runtime.options.startTimeout
        guard let peer = await linkedPeer(within: timeout) else { throw unlinked }
        try await ask(Self.flowTrial, records, of: peer, within: timeout)
    }

    /// Asks the process, which waits for a life, whether it could host something.
    private func ask(_ operation: String, _ payload: JSONValue, of peer: Peer, within timeout: Duration) async throws {
        do {
            _ = try await peer.inspect(operation, path.description, payload, timeout: timeout)
        } catch let error as CoordinatorError where error.code == .peerLost {
            throw unlinked
        }
    }

    private var unlinked: CoordinatorError {
        guard let status = state.withLock({ $0.process?.process.exitStatus }) else {
            return CoordinatorError(.startFailed, "the new process for \(path) has not dialled within \(runtime.options.startTimeout)")
        }
        return CoordinatorError(.startFailed, "the new process for \(path) has ended while it waited for its life: \(ExitReason(status))")
    }
}
