/// Runs worlds.
package struct Simulation<World: SimulatedWorld> {
    private let fault: World.PlantedFault?

    /// Creates a simulation of the real parts, or of ones that a fault has been planted in.
    package init(_ fault: World.PlantedFault? = nil) { self.fault = fault }

    /// Runs a scenario from its first moment to its last; the same scenario goes the same way every time.
    package func run(_ scenario: World.Scenario, recordsTrace: Bool = false) -> Outcome<World.Invariant> {
        Outcome(of: World(scenario, fault, recordsTrace: recordsTrace))
    }

    /// Leaves out steps as long as the same invariant is broken.
    package func minimise(_ scenario: World.Scenario) -> World.Scenario {
        guard let invariant = run(scenario).violation?.invariant else { return scenario }
        return scenario.keeping(
            minimised(scenario.steps.map(\.number)) { run(scenario.keeping($0)).violation?.invariant == invariant }
        )
    }

    /// Runs a scenario, and describes the violation and the fewest steps that lead to it if there is one.
    package func check(_ scenario: World.Scenario, events: inout Int) -> Finding<World>? {
        let outcome = run(scenario)
        events += outcome.events
        return outcome.violation.map { Finding(self, scenario, $0) }
    }

    /// Runs the worlds of seeds until one breaks an invariant.
    package func check(_ seeds: Range<UInt64>, events: inout Int) -> Finding<World>? {
        for seed in seeds {
            if let finding = check(World.Scenario(seed: seed), events: &events) { return finding }
        }
        return nil
    }
}

/// A scenario in which an invariant is broken.
package struct Finding<World: SimulatedWorld>: CustomStringConvertible {
    /// The violation.
    package let violation: BrokenInvariant<World.Invariant>
    private let simulation: Simulation<World>
    private let scenario: World.Scenario
    private let minimal: World.Scenario

    fileprivate init(_ simulation: Simulation<World>, _ scenario: World.Scenario, _ violation: BrokenInvariant<World.Invariant>) {
        (self.violation, self.simulation, self.scenario) = (violation, simulation, scenario)
        minimal = simulation.minimise(scenario)
    }

    /// The seed, the violation after the fewest steps, these steps, and the options by which the simulator's command runs them.
    package var description: String {
        let violation = simulation.run(minimal).violation
        let numbers = minimal.steps.map { "\($0.number)" }.joined(separator: ",")
        let lines =
            ["seed \(scenario.seed): \(violation.map { "\($0)" } ?? "nothing broken at a second run")"]
            + (minimal.worldDescription + minimal.steps.map(minimal.describe)).map { "  \($0)" }
            + ["supervision-simulator \(World.flag) --seed \(scenario.seed) --steps '\(numbers)'\(scenario.options) --trace"]
        return lines.joined(separator: "\n")
    }

    /// What was found of a planted fault, in one line.
    package var summary: String {
        "\(scenario.seed + 1) seed(s); \(violation); \(scenario.steps.count) steps, \(minimal.steps.count) needed"
    }

    /// What is wrong with the finding: that its steps aren't the fewest, that they don't go the same way every time, or that they break an
    /// invariant without the fault too.
    package var flaws: [String] {
        let numbers = minimal.steps.map(\.number)
        let (first, second) = (simulation.run(minimal, recordsTrace: true), simulation.run(scenario.keeping(numbers), recordsTrace: true))
        var flaws: [String] = []
        if first.violation?.invariant != violation.invariant { flaws.append("the fewest steps break another invariant") }
        if first.trace != second.trace { flaws.append("the fewest steps go another way at a second run") }
        for number in numbers {
            let others = minimal.keeping(numbers.filter { $0 != number })
            if simulation.run(others).violation?.invariant == violation.invariant { flaws.append("step \(number) isn't needed") }
        }
        if let violation = Simulation<World>().run(scenario).violation { flaws.append("without the fault: \(violation)") }
        return flaws
    }
}
