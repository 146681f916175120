import Coordinators

/// Decides what the application begins with: a registration, or the dashboard for a registered user.
actor AppCoordinator: Coordinator {
    typealias Output = User

    /// A misspelt key doesn't compile.
    enum ChildKey: String, CoordinatorKey { case registration, dashboard, settings }

    struct Configuration: CoordinatorConfiguration {
        /// The user who has registered before.
        var user: User?
        /// The data that is known of a user who hasn't registered.
        var known = DeviceManagement()
    }

    let context: Context
    private let configuration: Configuration

    init(_ context: Context) {
        self.context = context
        configuration = context.configuration
    }

    static let responders: Responders = [
        .respond(to: App.ChangeSettings.self) { me, change in
            try await me.context.run(SettingsCoordinator.self, as: .settings, with: change.user)
        }
    ]

    /// Each `run` starts a child, waits until it finishes, and removes it: there is no list of children to keep.
    func run() async throws {
        let user = try await registeredUser()
        context.finish(try await context.run(DashboardCoordinator.self, as: .dashboard, with: user))
    }

    private func registeredUser() async throws -> User {
        if let user = configuration.user { return user }
        return try await context.run(RegistrationCoordinator.self, as: .registration, in: .worker) {
            $0.known = configuration.known
        }
    }
}
