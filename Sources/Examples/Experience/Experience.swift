import Coordinators

/// An app with two experiences, the login and what comes after it: one visit to it, from the first screen to the last.
@main
struct Experience {
    static func main() async throws {
        try await CoordinatorRuntime.main(VisitCoordinator.self, coordinators: [LoginCoordinator.self, PlayerCoordinator.self])
    }
}
