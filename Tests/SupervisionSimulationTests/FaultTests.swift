import SupervisionSimulation
import Testing

/// A simulator that finds nothing proves nothing: here it has something to find.
@Suite struct FaultTests {
    /// The first seed that shows the fault.
    private func find(_ fault: FaultyMachine, _ simulation: Simulation) -> UInt64? {
        (0..<2_000).first { simulation.run(Scenario(seed: $0)).violation != nil }
    }

    @Test(arguments: FaultyMachine.allCases)
    func itIsFoundAndMinimised(fault: FaultyMachine) throws {
        let simulation = Simulation { fault.mutation() }
        let seed = try #require(find(fault, simulation), "\(fault) was not found")
        // The invariant checker alone, which knows nothing of how a supervisor works, has to find it as well.
        let invariantsAlone = Simulation(checks: .invariants) { fault.mutation() }
        let other = try #require(find(fault, invariantsAlone), "\(fault) was not found without the model")

        let scenario = Scenario(seed: seed)
        let found = try #require(simulation.run(scenario).violation)
        let minimal = simulation.minimise(scenario)
        let first = simulation.run(minimal, recordsTrace: true)
        let second = simulation.run(scenario.keeping(Set(minimal.steps.map(\.number))), recordsTrace: true)
        #expect(first.violation?.invariant == found.invariant)
        #expect(first.trace == second.trace)
        for step in minimal.steps {
            let without = minimal.keeping(Set(minimal.steps.map(\.number)).subtracting([step.number]))
            #expect(simulation.run(without).violation?.invariant != found.invariant, "step \(step.number) isn't needed")
        }
        print(
            "\(fault): \(seed + 1) seed(s), \(other + 1) without the model; \(found.invariant);",
            "\(scenario.steps.count) steps, \(minimal.steps.count) needed"
        )
    }

    @Test func allOrdersShowAFaultToo() {
        let explorations = Exploration.all(children: 2, events: 3) { FaultyMachine.repeatsAnIncarnation.mutation() }
        #expect(explorations.contains { $0.run().violation?.invariant == .incarnationsGrow })
    }

    @Test func allOrdersShowThatARestartIsTakenFromASibling() {
        let explorations = Exploration.all(children: 2, events: 4) { FaultyMachine.takesARestartFromASibling.mutation() }
        #expect(explorations.contains { $0.run().violation?.invariant == .intensity })
    }
}
