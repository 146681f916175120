import Coordinators

extension ShopCoordinator {
    /// One handle for each section; never the section itself, which lives in another process.
    struct Sections: Sendable {
        let account: Child<AccountCoordinator>
        let catalog: Child<CatalogCoordinator>
        let cart: Child<CartCoordinator>
        let payment: Child<PaymentCoordinator>
    }
}

extension Responder<ShopCoordinator> {
    /// A row that has a section answer what climbed out of another one, within the time that the asker has left.
    static func passOn<Message: ResponderMessage, Section: Coordinator>(
        _ message: Message.Type,
        to section: any KeyPath<ShopCoordinator.Sections, Child<Section>> & Sendable
    ) -> Responder {
        .respond(to: message) { me, message, asked in
            let child = try me.openSections()[keyPath: section]
            return try await child.ask(message, timeout: asked.remainingTime ?? .seconds(5))
        }
    }
}
