import Coordinators
import Fixtures

/// The program that the tests' workers run.
@main
struct FixtureWorker {
    static func main() async throws {
        if CommandLine.arguments.contains("--silent") { try await SilentWorker.run() }
        try await CoordinatorRuntime.main(
            RootCoordinator.self,
            coordinators: [MiddleCoordinator.self, BrokenCoordinator.self, HidingCoordinator.self] + Fixture.privateWorkers,
            options: Fixture.programOptions(),
            configure: Fixture.configure
        )
    }
}
