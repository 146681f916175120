import Control

/// The way of a message as text: a line for each row that has handled it, and one for each border between processes.
struct TraceText {
    private let trace: TraceResult
    private let path: String
    private let message: String
    private var lines: [[String]] = [["AT", "WAIT", "TOOK", ""]]

    init(_ trace: TraceResult, path: String, message: String) {
        (self.trace, self.path, self.message) = (trace, path, message)
        appendLines()
    }

    var text: String {
        let processes = Set(trace.hops.map(\.pid) + [trace.pid]).count
        let outcome = trace.error == nil ? "answered" : "failed"
        let title =
            "trace \(TextLayout.printable(trace.trace))  \(TextLayout.printable(message)), \(outcome) in "
            + "\(trace.durationMicroseconds.grouped) µs; \(trace.hops.count) \(trace.hops.count == 1 ? "row" : "rows") "
            + "in \(processes) \(processes == 1 ? "process" : "processes")\n"
        return title + TextLayout.table(lines, [.right, .right, .right, .left]) + summary
    }

    /// Returns whether one hop lies within another in time: the outer one has waited for it.
    private static func contains(_ outer: TraceResult.Hop, _ inner: TraceResult.Hop) -> Bool {
        outer.startMicroseconds <= inner.startMicroseconds
            && inner.startMicroseconds + inner.durationMicroseconds <= outer.startMicroseconds + outer.durationMicroseconds
    }

    private mutating func appendLines() {
        lines.append(["0", "", trace.durationMicroseconds.grouped, "operator, for \(TextLayout.printable(path))"])
        var open: [TraceResult.Hop] = []
        var process = trace.pid
        for hop in trace.hops {
            while let last = open.last, !Self.contains(last, hop) { open.removeLast() }
            if hop.pid != process {
                lines.append(["", "", "", "\(String(repeating: "  ", count: open.count))═ process \(process) ▶ process \(hop.pid)"])
                process = hop.pid
            }
            let indentation = String(repeating: "  ", count: open.count)
            let error = hop.error.map { "  ✗ \(TextLayout.printable($0))" } ?? ""
            lines.append([
                hop.startMicroseconds.grouped, hop.waitedMicroseconds.grouped, hop.durationMicroseconds.grouped,
                "\(indentation)└ \(TextLayout.printable(hop.path))  \(role(of: hop))  \(TextLayout.printable(hop.type))\(error)",
            ])
            open.append(hop)
        }
    }

    /// Returns what the row does with the message: one within which another row handles the same message has intercepted it.
    private func role(of hop: TraceResult.Hop) -> String {
        let isPassedOn = trace.hops.contains {
            $0 != hop && $0.message == hop.message && $0.sender == hop.sender && Self.contains(hop, $0)
        }
        let verb = isPassedOn ? "intercepts" : "responds"
        return hop.message == message ? verb : "\(verb) to \(TextLayout.printable(hop.message))"
    }

    /// The parts of the time: what rows did themselves, what messages waited, and the rest, which is the way between them.
    private var summary: String {
        guard trace.durationMicroseconds > 0, !trace.hops.isEmpty else { return "" }
        // A row's own time is what isn't that of the rows directly within it, their waits, or the ways to them; ways count with the outer row.
        let outermost = trace.hops.filter { hop in !trace.hops.contains { $0 != hop && Self.contains($0, hop) } }
        let rows = min(trace.durationMicroseconds, outermost.reduce(0) { $0 + $1.durationMicroseconds })
        let waits = trace.hops.reduce(0) { $0 + $1.waitedMicroseconds }
        func share(_ part: Int64) -> String { "\(part.grouped) µs, \(part * 100 / trace.durationMicroseconds) %" }
        return
            "in rows \(share(rows)); on the way there and back \(share(trace.durationMicroseconds - rows)); in mailboxes \(share(waits))\n"
    }
}
