import Foundation

/// The figures as JSON, for programs: absent values are `null`.
struct JSONReport: Encodable {
    struct Entry: Encodable {
        let measured: Measured

        enum Key: String, CodingKey {
            case name, ours, unit, spread, peers, reference, ratio, gate, goal
            case gateMet = "gate_met"
            case goalMet = "goal_met"
        }

        func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: Key.self)
            let figure = measured.figure
            try container.encode(figure.name, forKey: .name)
            try container.encode(measured.ours?.median, forKey: .ours)
            try container.encode(figure.unit.rawValue, forKey: .unit)
            try container.encode(measured.ours.map { [$0.least, $0.greatest] }, forKey: .spread)
            try container.encode(Dictionary(measured.peers.map { ($0.label, $0.summary.median) }) { $1 }, forKey: .peers)
            try container.encode(figure.reference, forKey: .reference)
            try container.encode(measured.ratio, forKey: .ratio)
            try container.encode(figure.requirement?.gate, forKey: .gate)
            try container.encode(measured.meetsGate, forKey: .gateMet)
            try container.encode(figure.requirement?.goal, forKey: .goal)
            try container.encode(measured.meetsGoal, forKey: .goalMet)
        }
    }

    let machine: String
    let figures: [Entry]

    init(_ figures: [Measured], _ machine: Machine) {
        self.machine = machine.description
        self.figures = figures.map(Entry.init)
    }

    func write(to path: String) throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        try encoder.encode(self).write(to: URL(filePath: path))
    }
}
