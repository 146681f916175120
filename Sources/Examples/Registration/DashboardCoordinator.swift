import Coordinators

/// What the user sees who has registered; finishes with who she is when she signs out.
actor DashboardCoordinator: Coordinator {
    typealias Configuration = User
    typealias Output = User

    enum Page: String, Codable, Sendable { case overview }

    let context: Context<DashboardCoordinator>
    private var user: User

    init(_ context: Context<DashboardCoordinator>, _ configuration: User) {
        self.context = context
        user = configuration
    }

    /// It knows that settings can be changed; by whom, it doesn't know: the message climbs.
    func run() async throws {
        context.show(.overview)
        while try await context.ask(Screen.Overview(user: user), timeout: Screen.patience) == .settings {
            user = try await context.ask(App.ChangeSettings(user: user), timeout: Screen.patience)
        }
        context.finish(user)
    }
}
