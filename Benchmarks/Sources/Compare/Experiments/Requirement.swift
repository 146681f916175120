/// What a figure must reach: the gate always, the goal in the end.
struct Requirement {
    enum Bound { case atLeast, atMost }

    let bound: Bound
    let gate: Double
    let goal: Double?
    /// Whether the ratio to the reference is meant, or the value itself.
    let isRatio: Bool

    /// Bounds of the ratio to the reference.
    static func ratio(_ bound: Bound, gate: Double, goal: Double? = nil) -> Requirement {
        Requirement(bound: bound, gate: gate, goal: goal, isRatio: true)
    }

    /// Bounds of the value in the figure's unit.
    static func value(_ bound: Bound, gate: Double, goal: Double? = nil) -> Requirement {
        Requirement(bound: bound, gate: gate, goal: goal, isRatio: false)
    }

    func isMet(by number: Double, _ limit: Double) -> Bool {
        switch bound {
        case .atLeast: number >= limit
        case .atMost: number <= limit
        }
    }
}
