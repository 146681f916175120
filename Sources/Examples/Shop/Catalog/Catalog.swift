import Coordinators

/// The messages to the catalogue section.
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

    /// Asks for the products that the shop promotes today.
    ///
    /// The message is answered more than once: with the products that the section knows already, then with the ones that it has found out.
    struct Promoted: ResponderMessage {
        typealias Reply = [Product]
        static let isIdempotent = true
    }

    /// Buys a product, and all others in the cart, at once.
    ///
    /// Errors: those of `Cart.Add` and `Payment.Checkout`; the product stays in the cart then. Not idempotent, because adding isn't.
    struct BuyNow: ResponderMessage {
        typealias Reply = Order
        var sku: String
    }

    /// Asks for the number on the cart's symbol: the number of items in the cart when the section last saw one added.
    struct Badge: ResponderMessage {
        typealias Reply = Int
        static let isIdempotent = true
    }
}
