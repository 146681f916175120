// What a run returns is declared there, and belongs to the API of this target.
@_exported public import SimulationSupport

/// An invariant of a worker process or of a pool of spares.
package enum WorkerInvariant: String, Sendable, Hashable, CaseIterable {
    /// A start that was requested ends once, with what it ended of.
    case startEndsOnce
    /// A life that was ready ends once, with what it ended of.
    case lifeEndsOnce
    /// A path never lives twice: no end is told before the process and its descendants are gone.
    case oneLife
    /// Every process that was spawned is confirmed gone, or is a live child or spare.
    case noLeak
    /// A signal follows the grace that was granted, unless there is a stated reason to send it sooner.
    case grace
    /// A stop ends within the time of its ladder: the stop frame, SIGTERM, SIGKILL.
    case stopEnds
    /// A process that is to be ended is ended when its time has come.
    case killed
    /// A link carries no frame before the welcome, nor after its end.
    case link
    /// A worker on a link that is in use has been told what it has to know.
    case told
    /// The coordinator is reachable exactly when the owner believes so.
    case reachable
    /// A life is recycled for a reason, once, and not while it's paused; it's drained then.
    case recycling
    /// A worker that is ready is pinged.
    case heartbeat
    /// A machine that waits for a time is woken for it.
    case wake
    /// A directive is given when it may be, and once.
    case directive
    /// The pool has no more spares than it should.
    case target
    /// The pool has its spares again when nothing hinders it.
    case recovery
    /// The pool is closed when its spares are gone, and only then.
    case closing
    /// The world comes to rest.
    case quiescence
}

/// An invariant that was broken.
package typealias WorkerViolation = BrokenInvariant<WorkerInvariant>

extension WorkerInvariant: WorldInvariant {
    /// The names of modules and types that descriptions are told without.
    package static let noise = ["WorkerLifecycleSimulation.", "WorkerLifecycle.", "Supervision.", "Swift.", "WorkerMachine.", "Shutdown."]
}

/// Runs worlds of worker processes.
package typealias WorkerSimulation = Simulation<WorkerWorld>
