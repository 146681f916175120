import Coordinators

/// The messages to the cart section.
enum Cart {
    /// Asks for the cart with all that is in it.
    struct Contents: ResponderMessage {
        typealias Reply = CartContents
        static let isIdempotent = true
    }

    /// Shows the cart above whatever is shown, or hides it again; to be sent one way.
    struct Toggle: ResponderMessage {}

    /// Empties the cart.
    struct Clear: ResponderMessage {
        static let isIdempotent = true
    }

    /// Gives the cart another number, unless it has one by now: the payment of it was given up.
    struct Renumber: ResponderMessage {
        static let isIdempotent = true
        var number: Int
    }

    /// Takes out of the cart what has been bought, and begins the next cart; what was added meanwhile moves over.
    ///
    /// Settling an order again does nothing, so a sender that can't tell whether it was settled may send it again.
    struct Settle: ResponderMessage {
        static let isIdempotent = true
        var order: Order
    }
}
