import SimulationSupport
import SupervisionSimulation
import Testing

/// A simulator that finds nothing proves nothing: here it has something to find.
@Suite struct FaultTests {
    @Test(arguments: SupervisionFault.allCases)
    func itIsFoundAndMinimised(fault: SupervisionFault) throws {
        var events = 0
        let finding = try #require(TreeSimulation(fault.mutation).check(0..<2_000, events: &events), "\(fault) was not found")
        #expect(finding.flaws == [])
        print("\(fault): \(finding.summary)")
    }

    @Test(arguments: [
        (SupervisionFault.repeatsAnIncarnation, 3, Invariant.incarnationsGrow), (.takesARestartFromASibling, 4, .intensity),
        (.forgetsAttempts, 4, .attempts), (.restartsOneForTheRest, 4, .siblings),
    ])
    func allOrdersShowAFaultToo(fault: SupervisionFault, events: Int, invariant: Invariant) {
        let explorations = SupervisionState.all(children: 2, mutation: fault.mutation)
        #expect(explorations.contains { $0.run(events: events).violation?.invariant == invariant })
    }
}
