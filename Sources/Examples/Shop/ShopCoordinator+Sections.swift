import Coordinators

extension ShopCoordinator {
    /// Opens a section that isn't there: at the beginning, for a deep link, or because the customer has left its last page and comes back.
    func open(_ section: ChildKey) async throws {
        switch section {
        case .account: try await context.start(AccountCoordinator.self, as: .account, in: .worker)
        case .catalog: try await context.start(CatalogCoordinator.self, as: .catalog, in: .worker)
        case .cart: try await context.start(CartCoordinator.self, as: .cart, in: .worker)
        case .payment: try await context.start(PaymentCoordinator.self, as: .payment, in: .worker, with: configuration)
        }
    }

    /// Goes where a customer wants to go.
    func open(_ section: ShopSection) async throws {
        switch section {
        // Which of its pages it shows, the account section knows best.
        case .account: try await context.open(Route(ChildKey.account, AccountPage.login(LoginPage())))
        case .catalog(let page): try await context.open(Route(ChildKey.catalog, page))
        case .cart: try await display(.cart)
        case .payment: try await context.open(Route(ChildKey.payment, PaymentPage.checkout))
        }
    }

    /// A section's handle; never the section itself, which lives in another process.
    ///
    /// A section that is being restarted, or that an operator has stopped, is there all the same.
    func section<Section: Coordinator>(_ type: Section.Type, _ key: ChildKey) async throws -> Child<Section> {
        if let section = context.child(type, as: key) { return section }
        try await open(key)
        guard let section = context.child(type, as: key) else { throw ShopError.notOpenYet }
        return section
    }
}

extension Responder<ShopCoordinator> {
    /// A row that has a section answer what climbed out of another one, within the time that the asker has left.
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
