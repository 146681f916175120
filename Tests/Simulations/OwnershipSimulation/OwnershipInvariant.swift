package import SimulationSupport

/// An invariant of ownership across nodes.
package enum OwnershipInvariant: String, Sendable, Hashable, CaseIterable {
    /// No write of an older epoch is accepted after one of a newer epoch.
    case order
    /// At most one node believes that it may write, as long as the rules of timing hold and no foreign hand has changed a key.
    case oneOwner
    /// A subtree is started with an epoch that the store has given to that node, higher than all that were started before.
    case epoch
    /// Nothing is written under an epoch that was fenced.
    case fence
    /// A subtree that is handed over has stopped before its key is released, and loses nothing of what it has taken.
    case handOver
    /// A node that knows that an operator has stopped a path on all nodes doesn't start it.
    case stop
    /// Some time after all faults have ended, each path runs on one node: the one that the store names. One that an operator has stopped on all
    /// nodes runs on none, and is neither owned nor assigned.
    case recovery
}

/// An invariant of ownership that was broken.
package typealias OwnershipViolation = BrokenInvariant<OwnershipInvariant>

extension OwnershipInvariant: WorldInvariant {
    /// The names of modules and types that descriptions are told without.
    package static let noise = ["OwnershipSimulation.", "Ownership.", "OwnershipMachine.", "OwnershipScenario.", "Swift."]
}

/// A mistake that the shell around the machine, a receiver, or the choice of a lease's terms could make.
package enum OwnershipFault: String, Sendable, CaseIterable {
    /// The deadline is counted from the answer of a renewal, not from its request.
    case countsFromTheAnswer
    /// A node trusts its lease for as long as the store keeps it.
    case leavesNoMargin
    /// The clock doesn't count the time for which the machine slept.
    case sleepsWithTheMachine
    /// A write is made without a look at the clock: the timer will come.
    case writesWithoutLooking
    /// A node goes on when its lease is over.
    case neverFences
    /// A key is released while its subtree still stops.
    case releasesBeforeTheStop
    /// A subtree is handed over without what it has taken.
    case stopsWithoutDraining
    /// A receiver takes what carries a lower epoch.
    case admitsLowerEpochs
    /// The store's answer for a lease that is gone is taken for a renewal: etcd's gateway answers 200, with no time to live.
    case believesADeadLease
    /// A claim that finds another owner's key is taken for a success.
    case takesARefusalForAClaim
    /// The deletion of a key goes unseen.
    case overlooksDeletions
    /// A release is believed that was never sent.
    case forgetsReleases
    /// A node whose lease was lost doesn't join again.
    case joinsOnce
    /// A node doesn't tell its machine that an operator has stopped a path on all nodes.
    case overlooksStops
    /// The leader assigns a path that an operator has stopped on all nodes.
    case placesWhatIsStopped
    /// A node doesn't tell its machine that an operator has started a path again.
    case overlooksStarts
}

/// Runs worlds of ownership across nodes.
package typealias OwnershipSimulation = Simulation<OwnershipWorld>
