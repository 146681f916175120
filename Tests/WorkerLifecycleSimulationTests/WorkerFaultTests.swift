import SimulationSupport
import Testing
import WorkerLifecycleSimulation

/// A simulator that finds nothing proves nothing: here it has something to find.
@Suite struct WorkerFaultTests {
    @Test(arguments: PlantedFault.allCases)
    func isFoundAndMinimised(fault: PlantedFault) throws {
        var events = 0
        let finding = try #require(WorkerSimulation(fault.mutations).check(0..<1_000, events: &events), "\(fault) was not found")
        #expect(finding.violation.invariant == fault.invariant ?? finding.violation.invariant)
        #expect(finding.flaws == [])
        print("\(fault): \(finding.summary)")
    }

    @Test(arguments: [PlantedFault.losesAWake, .recyclesWithoutDraining, .ignoresARefusedTicket, .grantsNoTermination])
    func allOrdersShowAFaultToo(fault: PlantedFault) {
        #expect(WorkerState.all(mutation: fault.mutations.worker).contains { $0.run(events: 4).violation != nil })
    }
}
