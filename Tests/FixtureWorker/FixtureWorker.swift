import Coordinators
import Fixtures

/// The program that the tests' workers run.
@main
struct FixtureWorker {
    static func main() async throws {
        if CommandLine.arguments.contains("--silent") { try await SilentWorker.run() }
        if let directory = Siblings.directory { return try await Siblings.main(in: directory) }
        let coordinators: [any Coordinator.Type] = [
            MiddleCoordinator.self, LedgerCoordinator.self, BesideCoordinator.self, BrokenCoordinator.self, HidingCoordinator.self,
        ]
        try await CoordinatorRuntime.main(
            RootCoordinator.self,
            coordinators: coordinators + Fixture.privateWorkers,
            options: Fixture.programOptions(),
            configure: Fixture.configure
        )
    }
}
