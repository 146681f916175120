import Coordinators

extension ShopCoordinator {
    /// Opens a section that doesn't live: at the beginning, for a deep link, or for a message after the customer has left its last page.
    func open(section: ChildKey) async throws {
        switch section {
        case .account: try await context.start(AccountCoordinator.self, as: .account, in: .worker)
        case .catalog: try await context.start(CatalogCoordinator.self, as: .catalog, in: .worker)
        case .cart: try await context.start(CartCoordinator.self, as: .cart, in: .worker)
        case .payment: try await context.start(PaymentCoordinator.self, as: .payment, in: .worker, with: configuration)
        }
    }

    /// Opens the page that a customer has chosen.
    func open(_ section: ShopSection) async throws {
        switch section {
        // The account section itself chooses the page that it shows.
        case .account: try await context.open(Route(ChildKey.account, AccountPage.login(LoginPage())))
        case .catalog(let page): try await context.open(Route(ChildKey.catalog, page))
        case .cart: try await display(page: .cart)
        case .payment: try await context.open(Route(ChildKey.payment, PaymentPage.checkout))
        }
    }
}
