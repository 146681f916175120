import Coordinators

/// Registration: a flow of steps, of which those are skipped that aren't needed, and which is used again in the settings.
@main
struct Registration {
    static func main() async throws {
        try await CoordinatorRuntime.main(RegistrationTour.self, coordinators: [RegistrationCoordinator.self])
    }
}
