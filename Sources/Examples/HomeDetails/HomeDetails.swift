import Coordinators

/// A home screen, and a screen of details that comes and goes: one visit to both.
@main
struct HomeDetails {
    static func main() async throws {
        try await CoordinatorRuntime.main(VisitCoordinator.self, coordinators: [DetailsCoordinator.self])
    }
}
