/// The outcome of a run.
package struct Outcome<Invariant: WorldInvariant> {
    /// The invariant that was broken first; nil when all went well.
    package let violation: BrokenInvariant<Invariant>?
    /// The number of events that the machines received.
    package let events: Int
    /// The course of the run, line by line, if a trace was requested.
    package let trace: [String]

    /// Runs a world from its first moment to its last.
    package init(of world: some SimulatedWorld<Invariant>) {
        var violation: BrokenInvariant<Invariant>?
        do throws(BrokenInvariant<Invariant>) { try world.run() } catch { violation = error }
        self.violation = violation
        events = world.events
        trace = world.trace + (violation.map { ["violation: \($0)"] } ?? [])
    }
}

/// A world in a time of its own, whose invariants hold after every event.
package protocol SimulatedWorld<Invariant>: AnyObject {
    associatedtype Invariant: WorldInvariant

    /// The number of events that the machines have received.
    var events: Int { get }
    /// The course of the run so far, line by line, if a trace was requested.
    var trace: [String] { get }

    /// Runs the world to its end.
    func run() throws(BrokenInvariant<Invariant>)
}

/// A scenario that may be run without some of its steps.
package protocol SteppedScenario {
    associatedtype Step

    var steps: [Step] { get set }
}

extension SteppedScenario {
    /// Leaves out steps as long as the same invariant is broken.
    package func minimised<Invariant>(by run: (Self) -> Outcome<Invariant>) -> Self {
        guard let invariant = run(self).violation?.invariant else { return self }
        var minimal = self
        minimal.steps = SimulationSupport.minimised(steps) { steps in
            var candidate = self
            candidate.steps = steps
            return run(candidate).violation?.invariant == invariant
        }
        return minimal
    }
}
