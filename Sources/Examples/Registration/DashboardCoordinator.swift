import Coordinators

/// The screens of a registered user; finishes with the user when she signs out.
actor DashboardCoordinator: Coordinator {
    typealias Configuration = User
    typealias Output = User

    enum Page: String, Codable, Sendable { case overview }

    let context: Context
    private var user: User

    init(_ context: Context) {
        self.context = context
        user = context.configuration
    }

    /// Runs the dashboard.
    ///
    /// A change of the settings is a message that climbs, so this coordinator doesn't know which one answers.
    func run() async throws {
        context.show(.overview)
        while try await context.ask(Screen.Overview(user: user), timeout: Screen.patience) == .settings {
            user = try await context.ask(App.ChangeSettings(user: user), timeout: Screen.patience)
        }
        context.finish(user)
    }
}
