import SimulationSupport

/// Runs worlds.
public struct Simulation {
    /// The outcome of a run.
    public struct Outcome {
        /// The invariant that was broken first; nil when all went well.
        public let violation: Violation?
        /// The number of events that the supervisors received.
        public let events: Int
        /// The course of the run, line by line, if a trace was requested.
        public let trace: [String]
    }

    /// The checks that are made.
    public var checks: Checks
    /// Makes the mutation that stands between a supervisor and the world, anew for every life of every supervisor.
    public var mutation: (() -> Machine.Mutation)?

    /// Creates a simulation of the real supervisor, or of a mutated one.
    public init(checks: Checks = .all, mutation: (() -> Machine.Mutation)? = nil) {
        self.checks = checks
        self.mutation = mutation
    }

    /// Runs a scenario from its first moment to its last; the same scenario goes the same way every time.
    public func run(_ scenario: Scenario, recordsTrace: Bool = false) -> Outcome {
        let world = World(scenario, checks: checks, recordsTrace: recordsTrace, mutation: mutation)
        do throws(Violation) {
            try world.run()
            return Outcome(violation: nil, events: world.events, trace: world.trace)
        } catch {
            return Outcome(violation: error, events: world.events, trace: world.trace + ["violation: \(error)"])
        }
    }

    /// Leaves out steps as long as the same invariant is broken.
    public func minimise(_ scenario: Scenario) -> Scenario {
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
