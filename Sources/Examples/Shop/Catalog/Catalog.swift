import Coordinators

/// What can be asked of the catalogue section.
enum Catalog {
    /// Asks for all products, by title.
    struct Products: ResponderMessage {
        typealias Reply = [Product]
        static let isIdempotent = true
    }

    /// Asks for one product; `ShopError.noSuchProduct` if there is none.
    struct Find: ResponderMessage {
        typealias Reply = Product
        static let isIdempotent = true
        var sku: String
    }

    /// Asks for the number on the cart's symbol: as many items as the section last saw go into the cart.
    struct Badge: ResponderMessage {
        typealias Reply = Int
        static let isIdempotent = true
    }
}
