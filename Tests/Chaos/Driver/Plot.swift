import ChaosHistory

/// The root's memory, descriptors and threads during a storm, one below the other, as SVG.
enum Plot {
    private static let (left, width, height) = (80.0, 600.0, 90.0)

    static func svg(of samples: [(time: Int64, sample: Record.Sample)]) -> String {
        let panels: [(title: String, value: (Record.Sample) -> Int)] = [
            ("resident memory, KiB", \.kibibytes), ("descriptors", \.descriptors), ("threads", \.threads),
        ]
        let drawn = panels.enumerated().map { index, panel in
            self.panel(panel.title, samples.map { ($0.time, panel.value($0.sample)) }, top: 30 + Double(index) * (height + 40))
        }
        let seconds = samples.isEmpty ? 0 : (samples[samples.count - 1].time - samples[0].time) / 1_000_000_000
        return """
            <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 720 430" font-family="sans-serif" font-size="12">
            <rect width="100%" height="100%" fill="white"/>
            \(drawn.joined(separator: "\n"))
            <text x="\(left)" y="420" fill="#868e96">0 to \(seconds) seconds of storm</text>
            </svg>

            """
    }

    private static func panel(_ title: String, _ points: [(time: Int64, value: Int)], top: Double) -> String {
        // Zero is in the picture: what looks flat is flat.
        let most = Double(max(points.map(\.value).max() ?? 1, 1)) * 1.1
        let (begin, end) = (points.first?.time ?? 0, points.last?.time ?? 1)
        let places = points.map { point in
            let x = left + Double(point.time - begin) / Double(max(end - begin, 1)) * width
            let y = top + height - Double(point.value) / most * height
            return "\(rounded(x)),\(rounded(y))"
        }
        let last = points.last.map { "\($0.value)" } ?? ""
        return """
            <text x="\(left)" y="\(top - 6)" fill="#343a40">\(title)</text>
            <polyline points="\(left),\(top) \(left),\(top + height) \(left + width),\(top + height)" fill="none" stroke="#dee2e6"/>
            <polyline points="\(places.joined(separator: " "))" fill="none" stroke="#d9480f" stroke-width="1.5"/>
            <text x="\(left - 8)" y="\(top + 10)" text-anchor="end" fill="#868e96">\(Int(most))</text>
            <text x="\(left - 8)" y="\(top + height)" text-anchor="end" fill="#868e96">0</text>
            <text x="\(left + width + 4)" y="\(top + 10)" fill="#d9480f">\(last)</text>
            """
    }

    private static func rounded(_ value: Double) -> Double { (value * 10).rounded() / 10 }
}
