import ConcurrencySupport
import Control
import Glibc

/// A line on a terminal that shows a measurement while it runs; nothing when standard error isn't a terminal.
final class LiveLine: Sendable {
    private static let interval = Duration.milliseconds(250)

    private struct State {
        var shownAt = ContinuousClock.now - .seconds(1)
        var answered = 0
    }

    private let isOn: Bool
    private let state = Lock(State())

    init(isOn: Bool = isatty(STDERR_FILENO) == 1) { self.isOn = isOn }

    /// Shows a load's figures so far, several times a second at most.
    func show(_ target: BenchReport.Target, _ generator: LoadGenerator, end: Duration) {
        guard isOn else { return }
        let now = ContinuousClock.now
        let figures = generator.figures
        let rate = state.withLock { state -> Double? in
            let elapsed = state.shownAt.duration(to: now)
            guard elapsed >= Self.interval else { return nil }
            defer { state = State(shownAt: now, answered: figures.answered) }
            return Double(max(0, figures.answered - state.answered)) / (elapsed / .seconds(1))
        }
        if let rate { write(Self.text(of: target, figures, rate: rate, age: generator.age, end: end)) }
    }

    /// Removes the line.
    func clear() {
        if isOn { write("") }
    }

    static func text(of target: BenchReport.Target, _ figures: LoadFigures, rate: Double, age: Duration, end: Duration) -> String {
        let time = "\(min(age, end).briefText) of \(end.briefText)"
        let latency = target.targetRate == nil ? figures.timesInTree : figures.latency
        let percentiles = LatencyPercentiles(latency).map { "  p50 \($0.p50.latencyText)  p99 \($0.p99.latencyText)" } ?? ""
        let failed = figures.failed > 0 ? "  \(figures.failed.grouped) failed" : ""
        return "\(target.name)  \(time)  \(rate.grouped)/s\(percentiles)\(failed)"
    }

    private func write(_ text: String) {
        let bytes = Array(Terminal.replacingLine(by: text).utf8)
        _ = Glibc.write(STDERR_FILENO, bytes, bytes.count)
    }
}
