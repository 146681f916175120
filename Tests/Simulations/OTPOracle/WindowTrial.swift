import SimulationSupport
import Supervision
import SupervisionSimulation

/// Ends of a supervisor's children in real time, for the window in which restarts are counted.
///
/// OTP has counted in whole seconds since its version 25, so a pair of ends is either at least a second less than the period apart, and
/// counted together by both, or at least one and a half seconds more, and not.
package struct WindowTrial: Sendable, CustomStringConvertible {
    private let number: Int
    private let policy: SupervisionPolicy
    /// The milliseconds from the beginning, and which child ends.
    private let ends: [(time: Int, slot: Int)]

    /// Creates the trial of a seed; it takes twelve seconds at most.
    package init(number: Int, seed: UInt64) {
        var dice = SplitMix64(seed: SplitMix64.drawn(seed, UInt64(number)))
        self.number = number
        let period = Int.random(in: 1...3, using: &dice)
        let children = Int.random(in: 1...3, using: &dice)
        policy = SupervisionPolicy(
            dice.one(of: SupervisionPolicy.Strategy.allCases),
            intensity: Int.random(in: 0...4, using: &dice),
            period: .seconds(period),
            backoff: .none
        )
        var ends: [(time: Int, slot: Int)] = []
        var time = Int.random(in: 0...1_000, using: &dice)
        while ends.count < 12, time < 12_000 {
            ends.append((time, Int.random(in: 0..<children, using: &dice)))
            time += dice.oneIn(3) ? 1_000 * period + 1_500 : 100 * Int.random(in: 0...15, using: &dice)
            while time < 12_000, let early = ends.first(where: { Self.isUnclear(time - $0.time, period) }) {
                time = early.time + 1_000 * period + 1_500
            }
        }
        self.ends = ends
    }

    private static func isUnclear(_ distance: Int, _ period: Int) -> Bool {
        distance > 1_000 * (period - 1) && distance < 1_000 * period + 1_500
    }

    /// The strategy, the limits and the times.
    package var description: String { line }

    private var line: String {
        let words = policy.words.split(separator: " ").prefix(3).joined(separator: " ")
        return "window \(number) \(words) \(ends.map { "\($0.time):\($0.slot)" }.joined(separator: " "))"
    }

    /// Returns the number, from 1, of the end at which our supervisor gives up; 0: it doesn't.
    package var ours: Int {
        var supervisor = Supervisor(policy: policy)
        for slot in Set(ends.map(\.slot)).sorted() {
            _ = supervisor.settle(supervisor.handle(.startRequested(ChildSpecification(id: "\(slot)")), now: .zero), now: .zero)
        }
        for (position, end) in ends.enumerated() {
            guard let incarnation = supervisor.state(of: "\(end.slot)")?.incarnation else { return -1 }
            let now = Duration.milliseconds(end.time)
            let directives = supervisor.settle(supervisor.handle(.exited("\(end.slot)", incarnation, .signaled(9)), now: now), now: now)
            if directives.contains(where: { if case .escalate = $0 { true } else { false } }) { return position + 1 }
        }
        return 0
    }

    /// Lets OTP's supervisors do the same, all at once, and describes those that do otherwise than ours.
    package static func compare(_ trials: [WindowTrial], on node: ErlangNode) throws -> [String] {
        let answers = try node.answer(to: trials.map(\.line) + ["windows"])
        return zip(trials, answers).compactMap { trial, answer in
            answer == "\(trial.number) \(trial.ours)" ? nil : "\(trial): ours \(trial.number) \(trial.ours), OTP's \(answer)"
        }
    }
}
