import Coordinators

/// The messages that the cart responds to, and its errors.
enum Cart {
    struct Add: ResponderMessage {
        typealias Reply = Cart.Contents
        typealias Failure = OneOf<Cart.UnknownProduct, Cart.SoldOut, Cart.InvalidQuantity>
        var sku: String
        var quantity: Int
    }

    struct Show: ResponderMessage { typealias Reply = Cart.Contents }

    /// Answered with the contents now, and after each change.
    struct Watch: ResponderMessage {
        typealias Reply = Cart.Contents
        typealias Failure = Cart.UnknownProduct
        /// The product that the reader is interested in.
        var sku: String?
    }

    /// Pays; the cart asks the shop for the price of each product.
    struct Checkout: ResponderMessage {
        typealias Reply = Cart.Receipt
        /// The time that the payment takes.
        var milliseconds = 0
    }

    struct Clear: ResponderMessage {}

    struct Contents: Codable, Sendable, Equatable {
        var quantities: [String: Int] = [:]
        /// The payments that are under way.
        var payments = 0
    }

    struct Receipt: Codable, Sendable {
        var total: Int
        /// The trace that the payment belongs to, for questions about it.
        var trace: String?
    }

    struct UnknownProduct: ResponderError { var sku: String }
    struct SoldOut: ResponderError { var sku: String, left: Int }
    /// The quantity isn't one from 1 to 100.
    struct InvalidQuantity: ResponderError { var quantity: Int }
}

/// The messages that the shop itself responds to.
enum Stock {
    struct Price: ResponderMessage {
        typealias Reply = Int
        typealias Failure = Cart.UnknownProduct
        static var isIdempotent: Bool { true }
        var sku: String
    }
}
