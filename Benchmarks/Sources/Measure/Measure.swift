import Coordinators
import Glibc

/// Measures one thing about coordinators, and prints a line for each figure: its name and its value.
///
///     Measure asks place=worker concurrency=1,256 milliseconds=1000
///
/// Times are in nanoseconds, sizes in bytes. `Benchmarks/run` starts this program and those of the peers in turn.
@main
struct Measure {
    private static let measurements: [String: any Measurement.Type] = [
        "asks": ConcurrentAsks.self,
        "chain": ChainDepth.self,
        "fan-out": FanOut.self,
        "kills": Kills.self,
        "names": MessageNames.self,
        "one-way": OneWayMessages.self,
        "parked": ParkedMessages.self,
        "pool-members": PoolMembers.self,
        "round-trips": RoundTrips.self,
        "slow-consumer": SlowConsumers.self,
        "starts": Starts.self,
        "unhandled": UnhandledAsks.self,
        "worker-starts": WorkerStarts.self,
        "workers": Workers.self,
    ]

    /// The variable by which workers learn of the longest busy wait, in microseconds.
    private static let busyWaitVariable = "MEASURE_BUSY_WAIT"

    private static var options: CoordinatorRuntime.Options {
        var options = CoordinatorRuntime.Options()
        if let text = getenv(busyWaitVariable), let microseconds = Int(String(cString: text)) {
            options.busyWait = .microseconds(microseconds)
        }
        return options
    }

    static func main() async throws {
        await CoordinatorRuntime.runWorkerIfRequested(coordinators: HostedTypes.all, options: options)
        do {
            try await measure()
        } catch {
            let line = Array("Measure: \(error)\n".utf8)
            _ = write(STDERR_FILENO, line, line.count)
            exit(1)
        }
    }

    /// Runs off the main actor: calling actors in a loop from there is a hundred times slower.
    @concurrent
    private static func measure() async throws {
        let words = CommandLine.arguments.dropFirst()
        guard let name = words.first, let type = measurements[name] else {
            throw UsageError("usage: Measure \(measurements.keys.sorted().joined(separator: "|")) [NAME=VALUE]...")
        }
        var arguments = try Arguments(words.dropFirst())
        let measurement = try type.init(&arguments)
        let busyWait = try arguments.take("busy-wait", default: "")
        try arguments.finish()
        if !busyWait.isEmpty { setenv(busyWaitVariable, busyWait, 1) }
        var options = options
        options.logger.logLevel = .critical
        options.startTimeout = .seconds(120)
        let runtime = CoordinatorRuntime(Root.self, options: options)
        try await runtime.start()
        try await measurement.measure(runtime)
        await runtime.stop()
    }
}

/// One thing that is measured, with its settings.
protocol Measurement: Sendable {
    /// Takes the settings from the command line.
    init(_ arguments: inout Arguments) throws

    /// Measures in a fresh tree, and prints the figures.
    func measure(_ runtime: CoordinatorRuntime) async throws
}

/// A command line that this program doesn't understand.
struct UsageError: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}
