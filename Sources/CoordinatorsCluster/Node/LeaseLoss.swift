import Logging
import Ownership

/// The loss of a node's lease, by which its subtrees were stopped.
package struct LeaseLoss: Sendable {
    /// Why the lease was lost, in words.
    package let reason: String
    /// The paths of the subtrees that were stopped.
    package let subtrees: [String]
    /// The time of the loss.
    package let time: ContinuousClock.Instant
    /// The time at which the node was a member again; `nil`: it isn't yet.
    package fileprivate(set) var end: ContinuousClock.Instant?
}

/// What a node can tell of itself and of the store.
package struct NodeStanding: Sendable {
    /// The progress of the node's membership, as ``ClusterNode/membership`` has it.
    package let membership: String
    /// The time of the store's last answer about the node's lease; `nil`: it hasn't answered yet.
    package let lastAnswer: ContinuousClock.Instant?
    /// Why the last request about the lease has failed; `nil`: it hasn't.
    package let trouble: String?
    /// The last loss of a lease; `nil`: there was none.
    package let loss: LeaseLoss?
}

extension ClusterNode {
    /// What the node can tell of itself and of the store.
    package var standing: NodeStanding {
        NodeStanding(membership: membership, lastAnswer: lastAnswer, trouble: trouble, loss: loss)
    }

    /// Takes note of the loss of a lease, and logs it with what it stops.
    func noteLoss(of former: NodeLease, _ event: OwnershipMachine.Event, _ directives: [OwnershipMachine.Directive]) {
        let reason =
            if case .leaseLost = event { "the store doesn't have the lease any more: it had expired, or was revoked" } else {
                "the store hasn't renewed the lease of \(options.terms.timeToLive) in time"
            }
        let subtrees = directives.compactMap { directive -> String? in
            if case .fence(let path, _) = directive { path } else { nil }
        }
        loss = LeaseLoss(reason: reason, subtrees: subtrees, time: .now)
        options.logger.error(
            "the node has lost its lease and fences its subtrees",
            metadata: [
                "lease": "\(former.id)", "reason": "\(reason)", "stopped": "\(subtrees.joined(separator: " "))",
                "policy": "on_store_loss: \(options.onStoreLoss)",
            ]
        )
    }

    /// Logs what a change of the node's membership means for its subtrees.
    func noteMembership(since former: OwnershipMachine.State) {
        switch (former, machine.state) {
        case (.joining, .member):
            guard var loss, loss.end == nil else { return }
            loss.end = .now
            self.loss = loss
            options.logger.notice(
                "the node is a member again; subtrees start where they are assigned",
                metadata: ["absence": "\(ContinuousClock.now - loss.time)", "stopped": "\(loss.subtrees.joined(separator: " "))"]
            )
        case (.member, .frozen):
            options.logger.warning(
                "the store hasn't renewed the node's lease in time; the node goes on with what it owns, and takes nothing new",
                metadata: ["policy": "on_store_loss: \(options.onStoreLoss)", "error": "\(trouble ?? "the store doesn't answer")"]
            )
        case (.frozen, .member): options.logger.notice("the store has renewed the node's lease again")
        default: break
        }
    }
}
