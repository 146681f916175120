public import Coordinators
import Glibc

extension Fixture {
    /// The variable with the directory in which each process of a standing fixture leaves a trace of its bootstrap.
    public static let bootstrapVariable = "FIXTURE_BOOTSTRAP"

    /// The options of the program: with a bootstrap that leaves a trace, if that is wanted.
    public static func programOptions() -> CoordinatorRuntime.Options {
        var options = CoordinatorRuntime.Options()
        guard let directory = bootstrapDirectory else { return options }
        options.runtimeDirectory = "\(directory)/run"
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
    }

    private static var bootstrapDirectory: String? { getenv(bootstrapVariable).map { String(cString: $0) } }
}
