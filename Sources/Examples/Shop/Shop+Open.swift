import Coordinators

extension Shop {
    /// Goes to a section of the shop, and a page of it.
    ///
    /// The sender knows the sections, but not the coordinators behind them.
    struct Open: ResponderMessage {
        static let isIdempotent = true
        var section: ShopSection
    }
}

/// A part of the shop; where a customer may want to go to one of its pages, with the page.
enum ShopSection: Codable, Sendable, Equatable {
    case account
    case catalog(page: CatalogPage)
    case cart
    case payment
}
