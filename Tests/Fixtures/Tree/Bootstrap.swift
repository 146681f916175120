public import Coordinators
import Glibc

extension Fixture {
    /// The variable with the directory in which each process of a standing fixture leaves a trace of its bootstrap.
    public static let bootstrapVariable = "FIXTURE_BOOTSTRAP"

    /// The variable with the seconds for which the workers of a standing fixture outlive it.
    public static let graceVariable = "FIXTURE_ORPHAN_GRACE"

    /// The variable with the number of spares of each worker of a standing fixture.
    public static let sparesVariable = "FIXTURE_SPARES"

    /// The variable with the milliseconds of the program's `heartbeatTimeout`.
    public static let heartbeatVariable = "FIXTURE_HEARTBEAT"

    /// The variable with the milliseconds for which the root of a standing fixture occupies its executor, once its children are ready.
    public static let occupationVariable = "FIXTURE_OCCUPATION"

    /// The variable with which a standing fixture ends with a handler that runs on past its cancellation, and has one.
    public static let stuckVariable = "FIXTURE_STUCK"

    /// The name by which a link to the program has its workers record what they observe: see ``Recorder``.
    public static let recordingName = "recording-worker"

    /// The name by which a link to the program has its workers keep spans and metrics: see ``ProcessBackends``.
    public static let tracingName = "tracing-worker"

    /// The options of the program: with instruments by the name that it runs under, and with a bootstrap that leaves a trace, if that is
    /// wanted.
    public static func programOptions() -> CoordinatorRuntime.Options {
        var options = CoordinatorRuntime.Options()
        let path = CommandLine.arguments.first ?? ""
        switch path.split(separator: "/").last.map(String.init) {
        case recordingName: options.instruments = [Recorder.ofProcess]
        case tracingName: options.instruments = ProcessBackends.instruments
        default: break
        }
        // Processes below have the same name.
        if !options.instruments.isEmpty { options.workerExecutable = path }
        if let text = getenv(heartbeatVariable), let milliseconds = Int(String(cString: text)) {
            options.heartbeatTimeout = .milliseconds(milliseconds)
        }
        if getenv(stuckVariable) != nil { options.whenStuck = .endProcess }
        guard let directory = bootstrapDirectory else { return options }
        options.runtimeDirectory = "\(directory)/run"
        if let grace = getenv(graceVariable).flatMap({ Int(String(cString: $0)) }) { options.orphanGrace = .seconds(grace) }
        options.bootstrap = { path in
            // What waits here would be overtaken by anything that doesn't wait for the bootstrap.
            try await realTime(.milliseconds(50), because: "it takes the time in which anything that is wrong could overtake it")
            Probe(directory: directory).note("bootstrapped:\(path):\(LiveInstances.all)")
        }
        return options
    }

    /// Has a program that traces its bootstraps start two workers.
    public static func configure(_ configuration: inout RootCoordinator.Configuration) {
        guard let directory = bootstrapDirectory else { return }
        Probe(directory: directory).note("configured")
        configuration.children = ["a", "b"]
        configuration.placement = "worker"
        configuration.spares = getenv(sparesVariable).flatMap { Int(String(cString: $0)) } ?? 0
        configuration.isStuck = getenv(stuckVariable) != nil
        configuration.occupation = getenv(occupationVariable).flatMap { Int(String(cString: $0)) } ?? 0
    }

    private static var bootstrapDirectory: String? { getenv(bootstrapVariable).map { String(cString: $0) } }
}
