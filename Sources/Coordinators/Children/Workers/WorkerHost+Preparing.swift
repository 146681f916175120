import ConcurrencySupport
import Processes
import Supervision
import WireProtocol

/// The preparation of a process for a certain life, which begins later.
extension WorkerHost {
    /// Spawns a process that waits for a life of this coordinator, and returns when the process has its link and has said that it could host
    /// it; discards the process when that fails.
    ///
    /// - Throws: The reason why the process is of no use.
    func prepare(for definition: CoordinatorDefinition) async throws {
        // The runtime's end waits until nothing is left of the process.
        runtime.spares.add { await self.gone.value }
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
            let payload = try LifeProposal(definition).payload
            _ = try await peer.inspect(LifeProposal.operation, path.description, payload, timeout: deadline - .now)
        } catch let error as CoordinatorError where error.code == .unsupported {
            // A worker of another release doesn't know the question.
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
