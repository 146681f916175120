import Coordinators

/// The login: one screen and the actions on it.
///
/// The login doesn't know what comes after it. It reports its events, and the observers decide.
actor LoginCoordinator: SceneCoordinator {
    enum Event: Codable, Sendable, Equatable {
        case loggedIn(User)
        case failed(reason: String)
    }

    enum Page: Codable, Sendable, Equatable {
        case form(email: String)
    }

    let context: Context
    let scene = LoginScreen()

    init(_ context: Context) { self.context = context }

    static let responders: Responders = [
        .respond(to: Login.Submit.self) { me, submit in await me.logIn(password: submit.password) },
        .respond(to: Login.Cancel.self) { me, _ in await me.context.requestDismissal() },
    ]

    /// Fills in the address of the last user, if there is one.
    func start() async throws {
        if let email = context.dependencies.session?.cachedEmail { scene.email = email }
        context.show(.form(email: scene.email))
    }

    private func logIn(password: String) async {
        do {
            // A coordinator further up knows the accounts.
            let user = try await context.ask(Account.Verify(email: scene.email, password: password))
            context.delegates => .loggedIn(user)
        } catch {
            context.delegates => .failed(reason: "\(error)")
        }
    }
}
