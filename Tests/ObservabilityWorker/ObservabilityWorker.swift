import Coordinators
import ObservabilityFixtures

/// The program that the tests' workers run.
@main
struct ObservabilityWorker {
    static func main() async throws {
        try await CoordinatorRuntime.main(
            RelayCoordinator.self,
            coordinators: [RelayCoordinator.self],
            options: ProcessBackends.options
        )
    }
}
