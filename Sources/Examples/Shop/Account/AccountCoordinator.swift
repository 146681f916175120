import Coordinators

/// The account section: the login flow in its five steps.
///
/// The pages don't know the manager, the manager doesn't know the pages, and neither knows the coordinator, which knows them both.
actor AccountCoordinator: Coordinator {
    typealias Page = AccountPage

    let context: Context
    // The error of the last attempt. The manager knows which customer is logged in.
    private var error: ShopError?

    init(_ context: Context) { self.context = context }

    static let responders: Responders = [
        .respond(to: Account.Login.self, needs: \.accounts) { me, login, accounts in try await me.logIn(login, accounts) },
        .respond(to: Account.Logout.self, needs: \.accounts) { me, _, accounts in try await me.logOut(accounts) },
        .respond(to: Account.Current.self, needs: \.accounts) { me, _, accounts in try await me.currentPage(accounts) },
    ]

    /// Step 1: show the login page; or the profile, to a customer who is logged in already.
    func display(page: AccountPage) async throws {
        context.setRoot(try await context.ask(Account.Current()))
    }

    /// Step 2: name and password come from the login page.
    private func logIn(_ login: Account.Login, _ accounts: AccountManager) async throws -> User {
        do {
            // Step 3: they go to the account manager.
            let user = try await accounts.logIn(name: login.name, password: login.password)
            // Step 5: the manager knows the customer, whose profile replaces the login page.
            error = nil
            replacePage(by: .profile(UserProfilePage(user: user)))
            return user
        } catch let refusal as ShopError {
            // Step 4: the manager refuses, and the error goes back to the login page.
            error = refusal
            replacePage(by: .login(LoginPage(error: refusal.description)))
            throw refusal
        }
    }

    private func logOut(_ accounts: AccountManager) async throws {
        try await accounts.logOut()
        error = nil
        replacePage(by: .login(LoginPage()))
    }

    private func currentPage(_ accounts: AccountManager) async throws -> AccountPage {
        if let user = try await accounts.currentUser { return .profile(UserProfilePage(user: user)) }
        return .login(LoginPage(error: error?.description))
    }

    // A login may come from any section. Unless the customer looks at this one, there is no page to replace.
    private func replacePage(by page: AccountPage) {
        if !context.pages.isEmpty { context.replaceTop(page) }
    }
}
