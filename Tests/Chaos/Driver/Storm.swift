import ChaosHistory
import Glibc
import Supervision

/// The faults of a run, one after the other: when, what, and against whom.
struct Storm {
    /// A fault that is due.
    struct Blow {
        let fault: Record.Fault
        /// A number below 1 that says which of the places is hit.
        let place: Double
        /// For how long what is held up is held up.
        let milliseconds: Int
        /// Which of two directions a link is clogged in.
        let isUpward: Bool
    }

    let roles: [Record.Role]
    private let faults: [(fault: Record.Fault, rate: Double)]
    private var generator: SplitMix64
    /// The longest time in seconds for which a root that has ended stays away.
    private let longestPause: Double

    init(seed: UInt64, killsPerSecond: Double, faults: [Record.Fault], targets: [Target], longestPause: Double) {
        generator = SplitMix64(seed: seed)
        roles = targets.map(\.role)
        self.longestPause = longestPause
        self.faults = faults.map { ($0, $0 == .kill ? killsPerSecond : killsPerSecond / 10) }
    }

    /// The nanoseconds until the next fault.
    mutating func pause() -> Int64 {
        let rate = faults.reduce(0) { $0 + $1.rate }
        return Int64(-log(1 - Double.random(in: 0..<1, using: &generator)) / rate * 1e9)
    }

    /// The nanoseconds for which the root stays away.
    mutating func absence() -> Int64 { Int64(Double.random(in: 0...1, using: &generator) * longestPause * 1e9) }

    mutating func blow() -> Blow {
        var rest = Double.random(in: 0..<faults.reduce(0) { $0 + $1.rate }, using: &generator)
        let fault =
            faults.first {
                rest -= $0.rate; return rest < 0
            }?.fault ?? .kill
        return Blow(
            fault: fault,
            place: .random(in: 0..<1, using: &generator),
            milliseconds: .random(in: 50...1_500, using: &generator),
            isUpward: .random(using: &generator)
        )
    }

    /// Chooses one of the lives, each as often as its role says.
    func choose(_ place: Double, among lives: [Population.Life]) -> Population.Life? {
        let candidates = lives.filter { roles.contains($0.role) }
        let weights = candidates.map { Self.weight(of: $0.role) }
        var rest = place * weights.reduce(0, +)
        for (life, weight) in zip(candidates, weights) {
            rest -= weight
            if rest < 0 { return life }
        }
        return candidates.last
    }

    private static func weight(of role: Record.Role) -> Double {
        switch role {
        case .leaf: 10
        case .sender, .parent: 2
        case .root: 1
        }
    }
}
