import Foundation

/// The plots of the figures that were measured.
struct Plots {
    private let drawings: [(plot: Plot, svg: String)]

    init(_ figures: [Measured], _ machine: Machine) {
        drawings = Plot.allCases.compactMap { plot in
            let ours = figures.filter { $0.figure.point?.plot == plot }
            guard !ours.isEmpty else { return nil }
            let bars = ours.compactMap { measured -> BarChart? in
                guard case .bar = measured.figure.point else { return nil }
                return BarChart(plot, measured, machine)
            }
            return (plot, bars.first?.svg ?? LineChart(plot, ours, machine).svg)
        }
    }

    func write(to directory: String) throws {
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        for (plot, svg) in drawings { try svg.write(toFile: "\(directory)/\(plot.rawValue).svg", atomically: true, encoding: .utf8) }
    }
}
