import Control

extension BenchReport {
    /// The report for people: a table of the loads, what failed, and what the columns mean.
    var text: String {
        let asker = "\(settings.message) asked at \(settings.path), at most \(settings.concurrency) at a time"
        let connected = "on \(connections) connection\(connections == 1 ? "" : "s") to the daemon's control socket"
        let header = ["load", "due", "answered", "", "p50", "p90", "p99", "p99.9", "max"]
        let alignments = [TextLayout.Alignment.left, .right, .right, .left] + Array(repeating: .right, count: 5)
        let table = TextLayout.table([header] + loads.flatMap(\.rows), alignments)
        let ending = isInterrupted ? "Interrupted: this is the result so far.\n\n" : ""
        let explanation = Self.explanation + (maximumRate == nil ? "" : Self.explanationOfPings)
        return "\(asker),\n\(connected)\n\n\(table)\n\(failures)\(ending)\(explanation)"
    }

    private var failures: String {
        let lines = loads.flatMap { load in
            let failures = load.figures.sortedFailures.map { code, failure in
                "\(load.target.name): \(failure.count.grouped) failed with \(code): \(TextLayout.printable(failure.example))\n"
            }
            let unanswered = load.figures.unanswered
            guard unanswered > 0 else { return failures }
            let line = "\(load.target.name): \(unanswered.grouped) had no answer at the end; their waiting time counts as latency\n"
            return failures + [line]
        }
        return lines.isEmpty ? "" : lines.joined() + "\n"
    }

    private static let explanation = """
        latency: from the time at which an ask was due at the rate, whatever became of those before it, until coordinatorctl had its answer.
                 It contains the wait for a free place, both ways through the control socket, and the time in the tree.
        in tree: from the daemon's ask on behalf of the path until it had the reply.

        """

    private static let explanationOfPings = """
        pings alone: what the control socket can carry when the tree has nothing to do; a maximum near it is the socket's, not the tree's.

        """
}

extension BenchReport.Load {
    /// The load's rows of the table.
    fileprivate var rows: [[String]] {
        let due = target.targetRate.map { "\($0.grouped)/s" } ?? "-"
        let answered = "\(figures.rate.grouped)/s"
        let inTree = cells(of: inTree)
        // At a greatest rate no ask is due at a time of its own, and a ping waits for no reply.
        guard let latency else { return [[target.name, due, answered, "in tree"] + inTree] }
        return [[target.name, due, answered, "latency"] + cells(of: latency), ["", "", "", "in tree"] + inTree]
    }

    private func cells(of percentiles: LatencyPercentiles?) -> [String] {
        percentiles?.values.map(\.latencyText) ?? Array(repeating: "-", count: 5)
    }
}

extension UInt64 {
    /// The number as microseconds in a unit that suits it, with three digits: `312µs`, `1.23ms`, `45.6s`.
    var latencyText: String {
        switch self {
        case ..<1_000: "\(self)µs"
        case ..<1_000_000: Self.threeDigits(self, of: 1_000) + "ms"
        default: Self.threeDigits(self, of: 1_000_000) + "s"
        }
    }

    private static func threeDigits(_ value: UInt64, of unit: UInt64) -> String {
        let (whole, rest) = value.quotientAndRemainder(dividingBy: unit)
        switch whole {
        case ..<10: return "\(whole)." + (rest * 100 / unit).paddedToTwoDigits
        case ..<100: return "\(whole).\(rest * 10 / unit)"
        default: return "\(whole)"
        }
    }

    private var paddedToTwoDigits: String { self < 10 ? "0\(self)" : "\(self)" }
}

extension BinaryInteger {
    /// The number with commas between thousands.
    var grouped: String {
        let digits = String(magnitude)
        let groups = digits.enumerated().map { index, digit in
            index > 0 && (digits.count - index) % 3 == 0 ? ",\(digit)" : String(digit)
        }
        return (self < 0 ? "-" : "") + groups.joined()
    }
}

extension Double {
    /// The number with commas between thousands; with one decimal below 100.
    var grouped: String {
        let tenths = Int((self * 10).rounded())
        return self < 100 && tenths % 10 != 0 ? "\(tenths / 10).\(tenths % 10)" : Int(rounded()).grouped
    }
}
