import SimulationSupport

/// Runs worlds.
package struct Simulation {
    /// The checks that are made.
    package var checks: Checks
    /// Makes the mutation that stands between a supervisor and the world, anew for every life of every supervisor.
    package var mutation: (() -> Machine.Mutation)?

    /// Creates a simulation of the real supervisor, or of a mutated one.
    package init(checks: Checks = .all, mutation: (() -> Machine.Mutation)? = nil) {
        self.checks = checks
        self.mutation = mutation
    }

    /// Runs a scenario from its first moment to its last; the same scenario goes the same way every time.
    package func run(_ scenario: Scenario, recordsTrace: Bool = false) -> Outcome<Invariant> {
        Outcome(of: World(scenario, checks: checks, recordsTrace: recordsTrace, mutation: mutation))
    }

    /// Leaves out steps as long as the same invariant is broken.
    package func minimise(_ scenario: Scenario) -> Scenario { scenario.minimised { run($0) } }
}

extension World: SimulatedWorld {}

extension Scenario: SteppedScenario {}
