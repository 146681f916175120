import Coordinators

/// The messages to the payment section.
enum Payment {
    /// Buys the content of the cart.
    ///
    /// Errors: `ShopError.notLoggedIn`, `ShopError.emptyCart`. If a process is lost on the way, the payment goes on all the same. Ask again for the
    /// order: the same cart is never paid twice.
    struct Checkout: ResponderMessage {
        typealias Reply = Order
    }
}
