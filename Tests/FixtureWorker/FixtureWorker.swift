import Coordinators
import Fixtures

/// The program that the tests' workers run, and some daemons and tests as a root.
@main
struct FixtureWorker {
    static func main() async throws {
        let arguments = CommandLine.arguments
        if arguments.contains("--silent") { try await SilentWorker.run() }
        if arguments.count == 4, arguments[1] == "--relay" { return try await VersionRelay.main(cart: arguments[2], client: arguments[3]) }
        if Doomed.exitCode != nil { return try await Doomed.main() }
        if let directory = Siblings.directory { return try await Siblings.main(in: directory) }
        try await CoordinatorRuntime.main(
            RootCoordinator.self,
            coordinators: Fixture.coordinators,
            options: Fixture.programOptions(),
            configure: Fixture.configure
        )
    }
}
