import Control
import Processes
import WireProtocol

/// A measurement of the asks of one message at one path: at one rate, or at parts of the greatest rate, which it then finds first.
struct Bench: Sendable {
    /// What is measured.
    struct Settings: Sendable {
        var path: String
        var message: String
        var payload: JSONValue
        /// The asks a second; nil means that the greatest rate is to be found.
        var rate: Double?
        var ramp: Duration
        /// The time of each load.
        var duration: Duration
        var concurrency: Int
        /// The time that each ask waits for its reply.
        var timeout: Duration
    }

    /// The parts of the greatest rate at which latency is measured, in percent.
    static let percentages = [10, 50, 90]

    private let settings: Settings
    private let pool: ConnectionPool
    private let liveLine: LiveLine

    init(_ settings: Settings, at directory: RuntimeDirectory, liveLine: LiveLine) {
        self.settings = settings
        self.liveLine = liveLine
        pool = ConnectionPool(to: directory, concurrency: settings.concurrency)
    }

    private var ask: ControlOperation {
        .ask(path: settings.path, message: settings.message, payload: settings.payload, timeout: settings.timeout)
    }

    /// Measures, and returns what there is when it ends: after all loads, at an interruption, or when the daemon can't be reached any more.
    ///
    /// - Throws: the error of the first ask, which is made to see whether the others have a chance.
    @concurrent
    func report() async throws(ControlError) -> BenchReport {
        defer { pool.close() }
        do throws(LoadFailure) { _ = try await perform(ask) } catch { throw error.error }
        Interruption.watch()
        var report = BenchReport(settings)
        if let rate = settings.rate {
            await measure(.init(name: "\(rate.grouped)/s", targetRate: rate), &report)
        } else {
            await measureParts(of: &report)
        }
        report.connections = pool.count
        liveLine.clear()
        return report
    }

    /// Finds the greatest rate, that of the control socket alone before it, and measures at parts of it.
    private func measureParts(of report: inout BenchReport) async {
        await measure(.init(name: "pings alone"), of: .ping, for: min(settings.duration, .seconds(2)), &report)
        guard !report.hasEnded else { return }
        await measure(.init(name: BenchReport.Target.maximum), &report)
        let maximum = report.maximumRate ?? 0
        for percent in Self.percentages where maximum > 0 && !report.hasEnded {
            let target = BenchReport.Target(
                name: "\(percent)% of maximum",
                percentOfMaximum: percent,
                targetRate: maximum * Double(percent) / 100
            )
            await measure(target, &report)
        }
    }

    private func measure(
        _ target: BenchReport.Target,
        of operation: ControlOperation? = nil,
        for duration: Duration? = nil,
        _ report: inout BenchReport
    ) async {
        let duration = duration ?? settings.duration
        let pace: LoadPace =
            if let rate = target.targetRate {
                .scheduled(LoadSchedule(rate: rate, ramp: settings.ramp, duration: duration))
            } else {
                .saturating(duration)
            }
        let operation = operation ?? ask
        let generator = LoadGenerator(pace, concurrency: settings.concurrency, patience: settings.timeout) {
            () async throws(LoadFailure) in try await perform(operation)
        }
        let figures = await generator.run { [liveLine] in
            while !Interruption.hasCome, generator.fatalError == nil {
                liveLine.show(target, generator, end: pace.end)
                guard (try? await Task.sleep(for: .milliseconds(50))) != nil else { return }
            }
        }
        report.loads.append(BenchReport.Load(target: target, figures: figures))
        report.isInterrupted = Interruption.hasCome
        report.fatalError = generator.fatalError
    }

    /// Carries an operation out; returns the time that the daemon waited for a reply, when it's an ask.
    private func perform(_ operation: ControlOperation) async throws(LoadFailure) -> Duration? {
        let answer = try await pool.call(operation)
        guard case .integer(let microseconds)? = answer["duration_us"] else { return nil }
        return .microseconds(microseconds)
    }
}
