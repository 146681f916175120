/// What one program has printed in its runs, by the figures' names.
struct Samples {
    private var values: [String: [Double]] = [:]

    mutating func add(_ figures: [String: Double]) {
        for (name, value) in figures { values[name, default: []].append(value) }
    }

    /// Returns the median of the runs, and the least and the greatest.
    func summary(of key: String, in unit: Unit) -> Summary? {
        guard let values = values[key]?.sorted(), let least = values.first, let greatest = values.last else { return nil }
        let middle = values.count / 2
        let median = values.count % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2
        return Summary(median: median / unit.divisor, least: least / unit.divisor, greatest: greatest / unit.divisor)
    }
}

/// The median of some runs, and their spread.
struct Summary: Codable {
    let median: Double
    let least: Double
    let greatest: Double
}

/// A figure with what was measured for it.
struct Measured {
    let figure: Figure
    let ours: Summary?
    /// The peers that have printed the figure, in the order of their runs.
    let peers: [(label: String, summary: Summary)]
    /// How many times the reference's figure ours is.
    let ratio: Double?

    init(_ figure: Figure, _ labels: [String], _ samples: [String: Samples]) {
        self.figure = figure
        ours = samples[figure.subject]?.summary(of: figure.key, in: figure.unit)
        peers = labels.compactMap { label in
            // Variants of ours are no peers, and are compared with their reference and those that they name.
            let isPeer = figure.subject == Programs.ours && !label.hasPrefix(Programs.ours)
            guard isPeer || label == figure.reference || figure.besides.contains(label) else { return nil }
            let key = label == figure.reference ? figure.referenceKey ?? figure.key : figure.key
            return samples[label]?.summary(of: key, in: figure.unit).map { (label, $0) }
        }
        let reference = peers.first { $0.label == figure.reference }?.summary.median
        ratio = if let ours, let reference, reference > 0 { ours.median / reference } else { nil }
    }

    /// Whether the gate is reached; `nil` if there is none, or if it couldn't be measured.
    var meetsGate: Bool? { figure.requirement.flatMap { meets($0, $0.gate) } }

    var meetsGoal: Bool? { figure.requirement.flatMap { requirement in requirement.goal.flatMap { meets(requirement, $0) } } }

    private func meets(_ requirement: Requirement, _ limit: Double) -> Bool? {
        (requirement.isRatio ? ratio : ours?.median).map { requirement.isMet(by: $0, limit) }
    }
}

/// All that was measured, and why the rest was not.
struct Results {
    private(set) var figures: [Measured] = []
    private(set) var omissions: [String] = []

    mutating func add(_ results: (figures: [Measured], omissions: [String])) {
        figures += results.figures
        omissions += results.omissions
    }
}
