import SimulationSupport

/// Runs worlds of worker processes.
public struct WorkerSimulation {
    /// The outcome of a run.
    public struct Outcome {
        /// The invariant that was broken first; `nil` when all went well.
        public let violation: WorkerViolation?
        /// The number of events that the machines received.
        public let events: Int
        /// The course of the run, line by line, if a trace was requested.
        public let trace: [String]
    }

    /// The faults that are planted.
    public var mutations: Mutations

    /// Creates a simulation of the real machines, or of ones that faults have been planted in.
    public init(mutations: Mutations = Mutations()) {
        self.mutations = mutations
    }

    /// Runs a scenario from its first moment to its last; the same scenario goes the same way every time.
    public func run(_ scenario: WorkerScenario, recordsTrace: Bool = false) -> Outcome {
        let world = WorkerWorld(scenario, mutations, recordsTrace: recordsTrace)
        do throws(WorkerViolation) {
            try world.run()
            return Outcome(violation: nil, events: world.events, trace: world.trace)
        } catch {
            return Outcome(violation: error, events: world.events, trace: world.trace + ["violation: \(error)"])
        }
    }

    /// Leaves out steps as long as the same invariant is broken.
    public func minimise(_ scenario: WorkerScenario) -> WorkerScenario {
        guard let invariant = run(scenario).violation?.invariant else { return scenario }
        var minimal = scenario
        minimal.steps = minimised(scenario.steps) { steps in
            var candidate = scenario
            candidate.steps = steps
            return run(candidate).violation?.invariant == invariant
        }
        return minimal
    }
}
