// What a run returns is declared there, and belongs to the API of this target.
@_exported public import SimulationSupport

/// An invariant, which holds after every event.
package enum Invariant: String, Sendable, Hashable, CaseIterable {
    /// A path has at most one life.
    case oneLife
    /// The incarnations of a path grow.
    case incarnationsGrow
    /// The restarts within the period never exceed the intensity.
    case intensity
    /// A restart never comes before its time.
    case backoff
    /// Children are stopped one at a time, in reverse start order, when their supervisor ends.
    case stopOrder
    /// A child whose stop was requested is started only by a request.
    case stopWins
    /// A directive concerns a life that exists, and is given once.
    case directive
    /// A supervisor that waits for a time is woken for it.
    case wake
    /// A supervisor that has ended has no child that lives or waits, and gives no directives.
    case noLeak
    /// Every start and every stop comes to its end, in a bounded number of events.
    case quiescence
    /// An escalation reaches the parent exactly once.
    case escalation
    /// A supervisor ends by itself when its significant children have, and only then.
    case autoShutdown
    /// A removed id is unknown.
    case removal
    /// A child lives exactly if it does by the supervisor's table.
    case table
    /// A supervisor gives the directives that the model predicts.
    case model
}

/// An invariant that was broken.
package typealias Violation = BrokenInvariant<Invariant>

extension Invariant: WorldInvariant {
    /// The names of modules and types that descriptions are told without.
    package static let noise = [
        "SupervisionSimulation.", "Supervision.", "Swift.", "Supervisor.Change", "RestartType", "ChildSpecification",
        "Shutdown.", "Model.Ending", "Model.ExpectedDirective",
    ]
}
