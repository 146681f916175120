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

    /// The options of the program: with a bootstrap that leaves a trace, if that is wanted.
    public static func programOptions() -> CoordinatorRuntime.Options {
        var options = CoordinatorRuntime.Options()
        if let text = getenv(heartbeatVariable), let milliseconds = Int(String(cString: text)) {
            options.heartbeatTimeout = .milliseconds(milliseconds)
        }
        guard let directory = bootstrapDirectory else { return options }
        options.runtimeDirectory = "\(directory)/run"
        if let grace = getenv(graceVariable).flatMap({ Int(String(cString: $0)) }) { options.orphanGrace = .seconds(grace) }
        options.bootstrap = { path in
            // What waits here would be overtaken by anything that doesn't wait for the bootstrap.
            try await Task.sleep(for: .milliseconds(50))
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
        configuration.occupation = getenv(occupationVariable).flatMap { Int(String(cString: $0)) } ?? 0
    }

    private static var bootstrapDirectory: String? { getenv(bootstrapVariable).map { String(cString: $0) } }
}
