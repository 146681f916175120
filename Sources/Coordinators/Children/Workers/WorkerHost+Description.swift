import ConcurrencySupport
import Processes
import WireProtocol
import WorkerLifecycle

extension WorkerHost {
    /// The state of the worker's descriptions of itself.
    struct Description: Sendable {
        /// Whether the worker has left the last request for its own description unanswered; false before the first one.
        var isMissing = false
        /// The signal that there is a link in use again, or never will be.
        var nextLink: OneShot<Void>?
    }

    /// The time after which a worker that doesn't respond is suspected to hang.
    private var suspectAfter: Duration { min(.seconds(3), runtime.options.heartbeatTimeout * 3 / 10) }
    /// The time for which the description of a suspected worker is awaited.
    private static let glance = Duration.milliseconds(200)

    var hasNoLink: CoordinatorError {
        CoordinatorError(.peerLost, "\(path) has no link at the moment", maybeExecuted: false)
    }

    /// Returns the link in use, after waiting for it while it's being made or replaced.
    ///
    /// - Parameter former: A link that has broken, which the machine may not know yet.
    func linkedPeer(within duration: Duration, after former: Peer? = nil) async -> Peer? {
        let deadline = MonotonicTime.now + duration
        while true {
            let (peer, next) = state.withLock { state -> (Peer?, OneShot<Void>?) in
                if let peer = state.linkedPeer, peer !== former { return (peer, nil) }
                if state.machine.hasEnded { return (nil, nil) }
                let next = state.description.nextLink ?? OneShot()
                state.description.nextLink = next
                return (nil, next)
            }
            guard let next else { return peer }
            guard await next.value(before: deadline) != nil else { return nil }
        }
    }

    /// Resumes the callers that wait for a link, when there is one in use or there never will be.
    func settleNextLink() {
        let next = state.withLock { state in
            defer { state.description.nextLink = nil }
            return state.description.nextLink
        }
        next?.settle(())
    }

    /// Has the worker describe the coordinator at a path or those below it.
    ///
    /// A worker that has left its last request unanswered, or that gives no sign of life, is given only a short time; after its next answer
    /// it's trusted again.
    func describe(_ operation: Operation, _ target: String, _ budget: TimeoutBudget) async throws -> JSONValue {
        let deadline = MonotonicTime.now + budget.duration
        var former: Peer?
        while let peer = await linkedPeer(within: isDoubtful ? Self.glance : deadline - .now, after: former) {
            let answer = OneShot<Result<JSONValue, any Error>>()
            ask(peer, operation, target, budget, answer)
            guard let result = await self.answer(answer, before: deadline) else {
                throw CoordinatorError(.timedOut, "\(path) says nothing about itself")
            }
            do {
                return try result.get()
            } catch let error as CoordinatorError where error.code == .peerLost {
                // The request is sent again on the next link.
                former = peer
            }
        }
        throw hasNoLink
    }

    private func answer(_ answer: OneShot<Result<JSONValue, any Error>>, before deadline: MonotonicTime) async -> Result<
        JSONValue, any Error
    >? {
        while MonotonicTime.now < deadline {
            if let result = await answer.value(before: min(deadline, .now + Self.glance)) { return result }
            // A stopped process can't answer; it isn't suspected before some heartbeats are missing.
            if isDoubtful || process?.isStopped == true { break }
        }
        return nil
    }

    /// Asks a worker of another build once for its description, so that a snapshot needn't wait for one that never answers.
    func checkDescription() {
        let attachment = state.withLock { state in state.machine.link.flatMap { state.links.attached[$0] } }
        guard let attachment, attachment.hello.buildID != BuildID.current else { return }
        ask(attachment.peer, .inspect, path.description, .initial, OneShot())
    }

    /// Whether the worker is shown as unresponsive unless it describes itself within a moment.
    var isDoubtful: Bool {
        let (isMissing, lastSign) = state.withLock { ($0.description.isMissing, $0.machine.lastSign) }
        // A silent executor describes nothing either.
        return isMissing || executorSilence != nil || lastSign.map { MonotonicTime.now.sinceOrigin - $0 > suspectAfter } ?? false
    }

    var waitingPlace: CoordinatorSnapshot.WaitingPlace? {
        let peer = state.withLock { $0.linkedPeer }
        return CoordinatorSnapshot.WaitingPlace(.credit, peer?.messagesWithoutRoom ?? [])
    }

    var executorSilence: Duration? {
        let silence = state.withLock { $0.machine.executorSilence(now: MonotonicTime.now.sinceOrigin) }
        return silence.flatMap { $0 >= suspectAfter ? $0 : nil }
    }

    private func ask(
        _ peer: Peer,
        _ operation: Operation,
        _ target: String,
        _ budget: TimeoutBudget,
        _ answer: OneShot<Result<JSONValue, any Error>>
    ) {
        tasks.add { [self] in
            do {
                let description = try await peer.inspect(operation.rawValue, target, budget.payload, timeout: budget.duration)
                handle(.heard) { $0.description.isMissing = false }
                answer.settle(.success(description))
            } catch {
                // Every error but a timeout counts as an answer too.
                let isMissing = (error as? CoordinatorError)?.code == .timedOut && target == path.description
                state.withLock { if $0.linkedPeer === peer { $0.description.isMissing = isMissing } }
                answer.settle(.failure(error))
            }
        }
    }
}
