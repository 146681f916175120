import Foundation

/// An SVG picture that is drawn line by line.
struct Drawing {
    static let (width, height) = (720.0, 400.0)
    /// Ours first.
    static let colours = ["#d9480f", "#1c7ed6", "#2f9e44", "#7048e8", "#868e96", "#e64980"]

    private var elements: [String] = []

    /// - Parameter note: What stands below the picture.
    init(title: String, note: String) {
        text(title, at: (24, 30), anchor: "start", size: 16)
        text(note, at: (24, Self.height - 10), anchor: "start", size: 10, colour: "#868e96")
    }

    var svg: String {
        """
        <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 \(Int(Self.width)) \(Int(Self.height))" font-family="sans-serif">
        <rect width="100%" height="100%" fill="white"/>
        \(elements.joined(separator: "\n"))
        </svg>

        """
    }

    mutating func text(_ text: String, at point: (x: Double, y: Double), anchor: String, size: Int = 12, colour: String = "#343a40") {
        let escaped = text.replacing("&", with: "&amp;").replacing("<", with: "&lt;")
        elements.append(
            "<text x=\"\(Self.text(point.x))\" y=\"\(Self.text(point.y))\" font-size=\"\(size)\" text-anchor=\"\(anchor)\" fill=\"\(colour)\">\(escaped)</text>"
        )
    }

    mutating func line(_ points: [(x: Double, y: Double)], colour: String, width: Double) {
        let list = points.map { "\(Self.text($0.x)),\(Self.text($0.y))" }.joined(separator: " ")
        elements.append("<polyline points=\"\(list)\" fill=\"none\" stroke=\"\(colour)\" stroke-width=\"\(width)\"/>")
    }

    mutating func dot(at point: (x: Double, y: Double), colour: String) {
        elements.append("<circle cx=\"\(Self.text(point.x))\" cy=\"\(Self.text(point.y))\" r=\"4\" fill=\"\(colour)\"/>")
    }

    mutating func bar(at point: (x: Double, y: Double), width: Double, height: Double, colour: String) {
        elements.append(
            "<rect x=\"\(Self.text(point.x))\" y=\"\(Self.text(point.y))\" width=\"\(Self.text(width))\" height=\"\(Self.text(height))\" fill=\"\(colour)\"/>"
        )
    }

    private static func text(_ coordinate: Double) -> String { String(format: "%.1f", coordinate) }
}
