import SimulationSupport
import Supervision
package import SupervisionSimulation

/// Compares our supervisor with OTP's.
package struct Oracle {
    /// The first step at which the two differ.
    package struct Disagreement: Sendable, CustomStringConvertible {
        /// The numbers of the scenario's steps; empty for the end that follows them.
        package let steps: [Int]
        /// What happened before, the same in both.
        package let before: [String]
        package let ours: String
        package let theirs: String

        package var description: String {
            (before.map { "both:  \($0)" } + ["ours:  \(ours)", "OTP's: \(theirs)"]).joined(separator: "\n")
        }
    }

    private let node: ErlangNode
    private let listed: Set<Difference>
    private let mutation: (() -> Watched.Mutation)?
    /// How often each difference that is on purpose was met so far.
    package private(set) var met: [Difference: Int] = [:]
    /// The number of steps that were compared so far.
    package private(set) var steps = 0

    /// Creates a comparison of the real supervisor, or of a mutated one.
    ///
    /// - Parameter listed: The differences that are allowed for.
    package init(
        _ node: ErlangNode,
        listed: Set<Difference> = Set(Difference.allCases),
        mutation: (() -> Watched.Mutation)? = nil
    ) {
        self.node = node
        self.listed = listed
        self.mutation = mutation
    }

    /// Carries out a scenario on both; nil if they do the same.
    package mutating func compare(_ scenario: Scenario) throws -> Disagreement? {
        let trial = Trial(scenario, listed: listed)
        let ours = OurTree(trial, listed: listed, mutation: mutation)
        ours.run()
        met.merge(ours.met) { $0 + $1 }
        steps += ours.course.count
        let theirs = try node.answer(to: ours.script)
        guard let place = ours.course.indices.first(where: { $0 >= theirs.count || ours.course[$0] != theirs[$0] }) else { return nil }
        return Disagreement(
            steps: place < trial.bursts.count ? trial.bursts[place].steps : [],
            before: Array(ours.course[..<place]),
            ours: ours.course[place],
            theirs: place < theirs.count ? theirs[place] : "nothing"
        )
    }

    /// Returns the course of a scenario in both, with the script.
    package func courses(_ scenario: Scenario) throws -> [String] {
        let ours = OurTree(Trial(scenario, listed: listed), listed: listed, mutation: mutation)
        ours.run()
        let theirs = try node.answer(to: ours.script)
        let pairs = ours.course.indices.flatMap { ["ours:  \(ours.course[$0])", "OTP's: \($0 < theirs.count ? theirs[$0] : "nothing")"] }
        return ours.script + pairs
    }

    /// Leaves out steps as long as the two differ.
    package mutating func minimise(_ scenario: Scenario) throws -> Scenario {
        var minimal = scenario
        var failure: (any Error)?
        minimal.steps = minimised(scenario.steps) { steps in
            var candidate = scenario
            candidate.steps = steps
            do { return try failure == nil && compare(candidate) != nil } catch { failure = error }
            return false
        }
        if let failure { throw failure }
        return minimal
    }

    /// Describes the fewest steps of a scenario in which the two differ, and both courses.
    package mutating func report(_ scenario: Scenario) throws -> String {
        let minimal = try minimise(scenario)
        guard let disagreement = try compare(minimal) else { return "seed \(scenario.seed): not the same at a second run" }
        let numbers = minimal.steps.map { String($0.number) }.joined(separator: ",")
        let place = disagreement.steps.isEmpty ? "the end" : "step \(disagreement.steps.map(String.init).joined(separator: ", "))"
        let steps = minimal.worldDescription.map { "  \($0)" } + minimal.steps.map { "  \(minimal.describe($0))" }
        let command = "supervision-simulator --oracle --seed \(scenario.seed) --steps \(numbers) --trace"
        return (["seed \(scenario.seed): our supervisor and OTP's differ at \(place)"] + steps + ["\(disagreement)", command])
            .joined(separator: "\n")
    }
}
