extension OwnershipMachine {
    /// An event of the node's lease, of the cluster's keys, or of a subtree.
    ///
    /// The shell tells answers as they come, late ones and doubled ones too.
    public enum Event: Hashable, Sendable {
        /// The store has given the node a lease. `sentAt`: when the request was sent, not when the answer came.
        case joined(lease: Int64, sentAt: Duration, granted: Duration)
        /// The store has refused the join, or can't be reached.
        case joinFailed
        /// The store has renewed the lease. `sentAt`: when the request was sent, not when the answer came.
        case renewed(lease: Int64, sentAt: Duration, granted: Duration)
        /// The renewal has failed, and the lease may live.
        case renewalFailed(lease: Int64)
        /// The store doesn't have the lease: it has expired, or an operator has revoked it.
        case leaseLost(lease: Int64)
        /// The leader has assigned the path to this node. `moves`: how many nodes it was moved on from because it failed there.
        case assigned(String, moves: Int)
        /// The path isn't assigned to this node any more.
        case unassigned(String)
        /// An operator has stopped the path on all nodes, until it's started again. May be told again.
        case stopRequested(String)
        /// An operator has started a path again that was stopped on all nodes, or it isn't to run there any more. May be told again.
        case startRequested(String)
        /// The path's key is the node's, on this lease, and was created at this epoch.
        case claimed(String, lease: Int64, Epoch)
        /// The path's key is that of another owner, or on another lease.
        case claimRefused(String, lease: Int64)
        /// Whether the claim has succeeded isn't known; a claim that is repeated on the same lease gets the same answer.
        case claimFailed(String, lease: Int64)
        /// The path's key is this one now; `lease`: `nil` when it hangs on none.
        case ownerSeen(String, Epoch, lease: Int64?)
        /// The path's key was deleted at this revision.
        case ownerGone(String, revision: UInt64)
        /// A receiver has refused what the node has written or sent, since it has seen this higher epoch.
        case refusedAsStale(String, Epoch)
        /// Nothing is left of the subtree that was started with this epoch.
        case stopped(String, Epoch)
        /// The subtree has ended by itself, beyond its limit of restarts, and nothing is left of it.
        case gaveUp(String, Epoch)
        /// The path's key isn't the node's any more.
        case released(String, Epoch)
        /// Whether the key was released isn't known.
        case releaseFailed(String, Epoch)
        /// An operator or the end of the process wants the node to give everything over and leave.
        case drainRequested
        /// The time of the latest ``Directive/wake(at:)`` has come.
        case timePassed
    }

    /// A step that the shell has to carry out.
    public enum Directive: Hashable, Sendable {
        /// Ask the store for a lease, and answer with `joined` or `joinFailed`.
        case join
        /// Renew the lease, and answer with `renewed`, `renewalFailed` or `leaseLost`.
        case renew(lease: Int64)
        /// Give the lease back, so that what hangs on it is gone at once. Nothing is answered: it expires anyway.
        case revoke(lease: Int64)
        /// Create the path's key on the lease if it isn't there and the path is still assigned to the node; answer with `claimed`, `claimRefused`
        /// or `claimFailed`. A key that hangs on this lease already is the node's, even if the assignment has changed: an earlier try has made it.
        case claim(String, lease: Int64)
        /// Start the subtree with this epoch, and tell receivers of it; answer with `stopped` or `gaveUp` when nothing is left of it.
        case start(String, Epoch)
        /// From now on take nothing for the subtree, and write nothing of it, under this epoch. Carried out before the next directive.
        case fence(String, Epoch)
        /// Stop the subtree, or stop it sooner: with `drains` after it has handled what it has taken and its writes are answered, else by killing
        /// it. Answer with `stopped`.
        case stop(String, Epoch, drains: Bool)
        /// Delete the path's key if it was created at this epoch, and answer with `released` or `releaseFailed`. With a
        /// failure, the same transaction tells the leader of it and deletes the path's assignment.
        case release(String, Epoch, ReleaseReason)
        /// Say `timePassed` at this time, and forget earlier wakes.
        case wake(at: Duration)
        /// The node has left the cluster. Given once, as the last directive of all but ``revoke(lease:)`` of a lease that comes late.
        case left
    }

    /// The reason for which a node releases a subtree.
    public enum ReleaseReason: Hashable, Sendable {
        /// The subtree is assigned to another node, or to none, or the node leaves.
        case handedOver
        /// The subtree has failed here too, and is to be tried on another node. `moves`: how many nodes it was moved on from, this one included.
        case failed(moves: Int)
        /// The subtree has failed on as many nodes as it may, and isn't placed again before an operator says so.
        case givenUp
    }
}
