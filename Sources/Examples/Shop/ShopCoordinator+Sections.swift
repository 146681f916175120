import Coordinators

extension ShopCoordinator {
    /// Opens a section that doesn't live: at the beginning, for a deep link, or when the customer comes back after leaving its last page.
    func open(_ section: ChildKey) async throws {
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
        case .cart: try await display(.cart)
        case .payment: try await context.open(Route(ChildKey.payment, PaymentPage.checkout))
        }
    }

    /// Returns a section's handle; never the section itself, which lives in another process.
    ///
    /// This includes a section that is being restarted, or that an operator has stopped.
    func section<Section: Coordinator>(_ type: Section.Type, _ key: ChildKey) async throws -> Child<Section> {
        if let section = context.child(type, as: key) { return section }
        try await open(key)
        guard let section = context.child(type, as: key) else { throw ShopError.notOpenYet }
        return section
    }
}

extension Responder<ShopCoordinator> {
    /// Returns a row that passes a message of one section on to another, within the time that the asker has left.
    static func passOn<Message: ResponderMessage, Section: Coordinator>(
        _ message: Message.Type,
        to section: Section.Type,
        _ key: ShopCoordinator.ChildKey
    ) -> Responder {
        .respond(to: message) { me, message, asked in
            let child = try await me.section(section, key)
            return try await child.ask(message, timeout: asked.remainingTime ?? .seconds(5))
        }
    }
}
