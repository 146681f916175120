import Foundation

/// A figure that depends on a number, as a line for each program; both axes are logarithmic.
struct LineChart {
    private struct Line {
        let label: String
        let points: [(x: Double, y: Double)]
    }

    let svg: String

    init(_ plot: Plot, _ figures: [Measured], _ machine: Machine) {
        let lines = Self.lines(figures)
        let points = lines.flatMap(\.points)
        let horizontal = Scale(points.map(\.x), from: 90, to: Drawing.width - 210)
        let vertical = Scale(points.map(\.y), from: Drawing.height - 80, to: 60)
        var drawing = Drawing(title: plot.title, note: machine.description)
        drawing.text(plot.axis, at: ((90 + Drawing.width - 210) / 2, Drawing.height - 38), anchor: "middle")
        for value in vertical.decades {
            let y = vertical.position(of: value)
            drawing.line([(90, y), (Drawing.width - 210, y)], colour: "#dee2e6", width: 1)
            drawing.text(Self.text(value), at: (82, y + 4), anchor: "end")
        }
        for value in Set(points.map(\.x)).sorted() {
            drawing.text(Self.text(value), at: (horizontal.position(of: value), Drawing.height - 58), anchor: "middle")
        }
        for (index, line) in lines.enumerated() {
            let colour = Drawing.colours[index % Drawing.colours.count]
            let places = line.points.map { (x: horizontal.position(of: $0.x), y: vertical.position(of: $0.y)) }
            drawing.line(places, colour: colour, width: index == 0 ? 3 : 2)
            places.forEach { drawing.dot(at: $0, colour: colour) }
            drawing.text(line.label, at: (Drawing.width - 196, 72 + Double(index) * 20), anchor: "start", colour: colour)
        }
        svg = drawing.svg
    }

    private static func text(_ value: Double) -> String {
        switch value {
        case 1e6...: String(format: "%g M", value / 1e6)
        case 1e3...: String(format: "%g k", value / 1e3)
        default: String(format: "%g", value)
        }
    }

    private static func lines(_ figures: [Measured]) -> [Line] {
        var order = [Programs.ours]
        var points: [String: [(x: Double, y: Double)]] = [:]
        for measured in figures {
            guard case .line(_, let x) = measured.figure.point else { continue }
            if let ours = measured.ours { points[Programs.ours, default: []].append((x, ours.median)) }
            for peer in measured.peers {
                if !order.contains(peer.label) { order.append(peer.label) }
                points[peer.label, default: []].append((x, peer.summary.median))
            }
        }
        return order.compactMap { label in points[label].map { Line(label: label, points: $0.sorted { $0.x < $1.x }) } }
    }
}

/// A logarithmic axis.
private struct Scale {
    private let least: Double
    private let greatest: Double
    private let start: Double
    private let end: Double

    init(_ values: [Double], from start: Double, to end: Double) {
        let positive = values.filter { $0 > 0 }
        least = log10(positive.min() ?? 1) - 0.1
        greatest = log10(positive.max() ?? 10) + 0.1
        (self.start, self.end) = (start, end)
    }

    /// 1, 10, 100 and so on within the axis; with 2 and 5 between them where these are few.
    var decades: [Double] {
        let steps = greatest - least > 2 ? [1.0] : [1.0, 2, 5]
        return (Int(least.rounded(.down))...Int(greatest.rounded(.up))).flatMap { power in steps.map { $0 * pow(10, Double(power)) } }
            .filter { (least...greatest).contains(log10($0)) }
    }

    func position(of value: Double) -> Double {
        start + (log10(max(value, .leastNormalMagnitude)) - least) / (greatest - least) * (end - start)
    }
}
