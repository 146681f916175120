import SimulationSupport

/// Runs worlds of worker processes.
package struct WorkerSimulation {
    /// The faults that are planted.
    package var mutations: Mutations

    /// Creates a simulation of the real machines, or of ones that faults have been planted in.
    package init(mutations: Mutations = Mutations()) {
        self.mutations = mutations
    }

    /// Runs a scenario from its first moment to its last; the same scenario goes the same way every time.
    package func run(_ scenario: WorkerScenario, recordsTrace: Bool = false) -> Outcome<WorkerInvariant> {
        Outcome(of: WorkerWorld(scenario, mutations, recordsTrace: recordsTrace))
    }

    /// Leaves out steps as long as the same invariant is broken.
    package func minimise(_ scenario: WorkerScenario) -> WorkerScenario { scenario.minimised { run($0) } }
}

extension WorkerWorld: SimulatedWorld {}

extension WorkerScenario: SteppedScenario {}
