import Testing
import WorkerLifecycleSimulation

/// A simulator that finds nothing proves nothing: here it has something to find.
@Suite struct WorkerFaultTests {
    /// The number of seeds within which every fault has to be found.
    private static let seeds: UInt64 = 1_000

    @Test(arguments: PlantedFault.allCases)
    func isFoundAndMinimised(fault: PlantedFault) throws {
        let simulation = WorkerSimulation(mutations: fault.mutations)
        let seed = try #require(
            (0..<Self.seeds).first { simulation.run(WorkerScenario(seed: $0)).violation != nil },
            "\(fault) was not found"
        )
        let scenario = WorkerScenario(seed: seed)
        let found = try #require(simulation.run(scenario).violation)
        #expect(found.invariant == fault.invariant ?? found.invariant)
        let minimal = simulation.minimise(scenario)
        let first = simulation.run(minimal, recordsTrace: true)
        let second = simulation.run(scenario.keeping(Set(minimal.steps.map(\.number))), recordsTrace: true)
        #expect(first.violation?.invariant == found.invariant)
        #expect(first.trace == second.trace)
        for step in minimal.steps {
            let without = minimal.keeping(Set(minimal.steps.map(\.number)).subtracting([step.number]))
            #expect(simulation.run(without).violation?.invariant != found.invariant, "step \(step.number) isn't needed")
        }
        print("\(fault): \(seed + 1) seed(s); \(found); \(scenario.steps.count) steps, \(minimal.steps.count) needed")
    }
}
