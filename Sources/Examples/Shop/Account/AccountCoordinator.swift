import Coordinators

/// The account section: the login flow in its five steps.
///
/// The pages don't know the manager, the manager doesn't know the pages, and neither knows the coordinator, which knows them both.
actor AccountCoordinator: Coordinator {
    typealias Configuration = ShopConfiguration

    let context: Context<AccountCoordinator>
    private let accounts: AccountManager
    private var page = AccountPage.login(LoginPage())

    init(_ context: Context<AccountCoordinator>, _ configuration: ShopConfiguration) {
        self.context = context
        accounts = AccountManager(database: ShopDatabase(path: configuration.database))
    }

    static let responders: [Responder<AccountCoordinator>] = [
        .respond(to: Account.Login.self) { me, login in try await me.logIn(login) },
        .respond(to: Account.Logout.self) { me, _ in try await me.logOut() },
        .respond(to: Account.Current.self) { me, _ in me.page },
    ]

    /// Step 1: show the login page; after a crash, the page of the customer who is still logged in.
    func start() async throws {
        if let user = try await accounts.currentUser { page = .profile(UserProfilePage(user: user)) }
    }

    /// Step 2: name and password come from the login page.
    private func logIn(_ login: Account.Login) async throws -> User {
        do {
            // Step 3: they go to the account manager.
            let user = try await accounts.logIn(name: login.name, password: login.password)
            // Step 5: the manager knows the customer, whose profile replaces the login page.
            page = .profile(UserProfilePage(user: user))
            return user
        } catch let error as ShopError {
            // Step 4: the manager refuses, and the error goes back to the login page.
            page = .login(LoginPage(error: error.description))
            throw error
        }
    }

    private func logOut() async throws {
        try await accounts.logOut()
        page = .login(LoginPage())
    }
}
