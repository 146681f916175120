/// A picture of several figures.
enum Plot: String, CaseIterable {
    case roundTrips = "round-trips"
    case asksAcross = "asks-across"
    case asksInProcess = "asks-in-process"
    case oneWayAcross = "one-way-across"
    case oneWayInProcess = "one-way-in-process"
    case chain
    case fanOut = "fan-out"
    case starts
    case workers

    /// A figure's place in a plot.
    enum Point {
        /// All programs beside each other.
        case bar(Plot)
        /// On one line for each program, above this value.
        case line(Plot, at: Double)

        var plot: Plot {
            switch self {
            case .bar(let plot), .line(let plot, _): plot
            }
        }
    }

    var title: String {
        switch self {
        case .roundTrips: "Round trip between two processes, 64 B, p50 in µs (less is better)"
        case .asksAcross: "Asks a second across processes (more is better)"
        case .asksInProcess: "Asks a second in one process (more is better)"
        case .oneWayAcross: "One-way messages a second across processes (more is better)"
        case .oneWayInProcess: "One-way messages a second in one process (more is better)"
        case .chain: "Ask that climbs a chain in one process, p50 in µs (less is better)"
        case .fanOut: "Events delivered a second (more is better)"
        case .starts: "Children started one by one, a second (more is better)"
        case .workers: "Workers started at once, in seconds (less is better)"
        }
    }

    /// What the horizontal axis says.
    var axis: String {
        switch self {
        case .roundTrips: ""
        case .asksAcross, .asksInProcess: "concurrent asks"
        case .oneWayAcross, .oneWayInProcess: "bytes"
        case .chain: "levels"
        case .fanOut: "receivers"
        case .starts: "children"
        case .workers: "workers"
        }
    }
}
