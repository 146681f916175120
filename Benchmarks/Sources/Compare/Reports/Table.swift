import Foundation

/// The figures as text: a line for each of ours, and below it one for each peer.
struct Table: CustomStringConvertible {
    let description: String

    init(_ figures: [Measured], title: String) {
        let rows = [["figure", "median", "spread", "ratio", "gate", "goal"]] + figures.flatMap(Self.rows)
        let widths = rows[0].indices.map { column in rows.map { $0[column].count }.max() ?? 0 }
        let lines = rows.map { row in
            zip(row, widths).map { $0.padding(toLength: $1, withPad: " ", startingAt: 0) }.joined(separator: "  ")
                .replacing(/\s+$/, with: "")
        }
        let gates = figures.compactMap(\.meetsGate)
        let goals = figures.compactMap(\.meetsGoal)
        let summary = "\(gates.count { $0 }) of \(gates.count) gates and \(goals.count { $0 }) of \(goals.count) goals are met."
        description = ([title, ""] + lines + ["", summary]).joined(separator: "\n")
    }

    private static func rows(_ measured: Measured) -> [[String]] {
        let figure = measured.figure
        let ours = [
            figure.name,
            measured.ours.map { text($0.median, figure.unit) } ?? "failed",
            measured.ours.map(spread) ?? "",
            ratio(measured.ratio),
            limit(figure, figure.requirement?.gate, measured.meetsGate),
            limit(figure, figure.requirement?.goal, measured.meetsGoal),
        ]
        let peers = measured.peers.map { label, summary in
            let times = measured.ours.flatMap { summary.median > 0 ? $0.median / summary.median : nil }
            return ["    \(label)", text(summary.median, figure.unit), spread(summary), ratio(times), "", ""]
        }
        return [ours] + peers
    }

    private static func spread(_ summary: Summary) -> String {
        summary.least == summary.greatest ? "" : "\(number(summary.least)) … \(number(summary.greatest))"
    }

    private static func ratio(_ ratio: Double?) -> String { ratio.map { "\(number($0)) ×" } ?? "" }

    private static func limit(_ figure: Figure, _ limit: Double?, _ isMet: Bool?) -> String {
        guard let limit, let requirement = figure.requirement else { return "" }
        let bound = requirement.bound == .atLeast ? "≥" : "≤"
        let verdict = isMet.map { $0 ? "met" : "missed" } ?? "unknown"
        return "\(bound) \(requirement.isRatio ? "\(limit) ×" : text(limit, figure.unit)) \(verdict)"
    }

    private static func text(_ value: Double, _ unit: Unit) -> String {
        unit == .perSecond ? "\(number(value))/s" : "\(number(value)) \(unit.rawValue)"
    }

    /// Three digits, with k and M for thousands and millions.
    static func number(_ value: Double) -> String {
        switch abs(value) {
        case 1e6...: digits(value / 1e6) + " M"
        case 1e4...: digits(value / 1e3) + " k"
        default: digits(value)
        }
    }

    private static func digits(_ value: Double) -> String {
        switch abs(value) {
        case 100...: String(format: "%.0f", value)
        case 10...: String(format: "%.1f", value)
        case 0: "0"
        case ..<0.1: String(format: "%.4f", value)
        case ..<1: String(format: "%.3f", value)
        default: String(format: "%.2f", value)
        }
    }
}
