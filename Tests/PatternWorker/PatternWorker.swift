import Coordinators
import PatternFixtures

/// The program that the tests' workers run.
@main
struct PatternWorker {
    static func main() async throws {
        try await CoordinatorRuntime.main(
            PatternRoot.self,
            coordinators: PatternLifecycle.coordinators + PatternFlows.coordinators + PatternRegressions.coordinators
                + PatternObservation.coordinators,
            options: PatternObservation.options
        )
    }
}
