// What a run returns is declared there, and belongs to the API of this target.
@_exported public import SimulationSupport

/// An invariant, which holds after every event.
package enum Invariant: String, Sendable, Hashable, CaseIterable {
    /// A path has at most one life.
    case oneLife
    /// The incarnations of a path grow.
    case incarnationsGrow
    /// A child whose life has ended by itself is restarted, given up, forgotten or left, as its restart type and the reason say.
    case verdict
    /// A restart is decided when those within the period don't exceed the intensity with it, and the child is given up otherwise.
    case intensity
    /// Restarts in a row are counted from one; a request, a long enough time of being ready, and a sibling's failure while the child was
    /// stopped begin anew.
    case attempts
    /// A restart waits as long as the documentation says for its attempt, and never comes before its time.
    case backoff
    /// A start comes when its time has come, and a requested one at once.
    case punctuality
    /// The strategy's siblings are stopped one at a time in reverse start order, then started one at a time in start order.
    case siblings
    /// When their supervisor ends, children are stopped by their partial order, each as soon as it may be.
    case stopOrder
    /// A child whose stop was requested is stopped, and started only by a request.
    case stopWins
    /// A directive concerns a life that exists, and is given once.
    case directive
    /// Each change of a child is reported, and no other.
    case report
    /// A supervisor that waits for a time is woken for it.
    case wake
    /// A supervisor that has ended has no child that lives or waits, and gives no directives.
    case noLeak
    /// Every start and every stop comes to its end, in a bounded number of events.
    case quiescence
    /// A supervisor that gives up ends all its children, and its escalation reaches the parent exactly once.
    case escalation
    /// A supervisor ends by itself when its significant children have, and only then.
    case autoShutdown
    /// A child is forgotten when it's to be, and only then; a removed id is unknown.
    case removal
    /// A specification or a policy that makes no sense is refused, and no other.
    case refusal
    /// By the supervisor's table each child is in the state that the events and the directives have led to.
    case table
}

/// An invariant that was broken.
package typealias Violation = BrokenInvariant<Invariant>

extension Invariant: WorldInvariant {
    /// The names of modules and types that descriptions are told without.
    package static let noise = [
        "SupervisionSimulation.", "Supervision.", "Swift.", "Supervisor.Change", "RestartType", "ChildSpecification",
        "Shutdown.", "SupervisorChecker.",
    ]
}

/// Runs trees of supervisors.
package typealias TreeSimulation = Simulation<World>
