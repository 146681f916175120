/// The outcome of a run.
package struct Outcome<Invariant: WorldInvariant> {
    /// The invariant that was broken first; nil when all went well.
    package let violation: BrokenInvariant<Invariant>?
    /// The number of events that the machines received.
    package let events: Int
    /// The course of the run, line by line, if a trace was requested.
    package let trace: [String]

    init(of world: some SimulatedWorld<Invariant>) {
        var violation: BrokenInvariant<Invariant>?
        do throws(BrokenInvariant<Invariant>) { try world.run() } catch { violation = error }
        self.violation = violation
        events = world.events
        trace = world.trace + (violation.map { ["violation: \($0)"] } ?? [])
    }
}

/// A world in a time of its own, whose invariants hold after every event.
package protocol SimulatedWorld<Invariant>: AnyObject {
    associatedtype Scenario: SeededScenario
    associatedtype Invariant: WorldInvariant
    /// A mistake that can be planted, by which the simulation itself is tested.
    associatedtype PlantedFault

    /// The flag of the simulator's command for such worlds.
    static var flag: String { get }

    /// The number of events that the machines have received.
    var events: Int { get }
    /// The course of the run so far, line by line, if a trace was requested.
    var trace: [String] { get }

    /// Creates the world of a scenario, with a fault planted in it or none.
    init(_ scenario: Scenario, _ fault: PlantedFault?, recordsTrace: Bool)

    /// Runs the world to its end.
    func run() throws(BrokenInvariant<Invariant>)
}

/// A world before its first moment, and all that will be done to it.
package protocol SeededScenario: Sendable {
    associatedtype Step: NumberedStep

    /// The seed of all random numbers.
    var seed: UInt64 { get }
    /// The steps, in order.
    var steps: [Step] { get set }
    /// The world, a line for each part.
    var worldDescription: [String] { get }
    /// The options of the simulator's command that make this scenario of the seed's.
    var options: String { get }

    /// Creates the scenario of a seed.
    init(seed: UInt64)

    /// Returns a step in words.
    func describe(_ step: Step) -> String
}

/// A step of a scenario.
package protocol NumberedStep: Sendable {
    associatedtype Action

    /// The step's number in the whole scenario, which it keeps when others are left out.
    var number: Int { get }
    /// The action.
    var action: Action { get }
}

extension SeededScenario {
    package var worldDescription: [String] { [] }

    package var options: String { "" }

    package func describe(_ step: Step) -> String { "\(step.number): \(step.action)" }

    /// Returns the same world with some of the steps.
    package func keeping(_ numbers: some Sequence<Int>) -> Self {
        var scenario = self
        let kept = Set(numbers)
        scenario.steps.removeAll { !kept.contains($0.number) }
        return scenario
    }
}
