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

    /// Asks for the products that the shop would like to sell today.
    ///
    /// It's answered more than once: what the section knows already, then what it has found out.
    struct Promoted: ResponderMessage {
        typealias Reply = [Product]
        static let isIdempotent = true
    }

    /// Buys a product, and whatever else is in the cart, at once.
    ///
    /// Errors: those of `Cart.Add` and `Payment.Checkout`; the product stays in the cart then. Not idempotent, because adding isn't.
    struct BuyNow: ResponderMessage {
        typealias Reply = Order
        var sku: String
    }

    /// Asks for the number on the cart's symbol: as many items as the section last saw go into the cart.
    struct Badge: ResponderMessage {
        typealias Reply = Int
        static let isIdempotent = true
    }
}
