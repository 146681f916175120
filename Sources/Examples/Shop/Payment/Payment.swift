import Coordinators

/// What can be asked of the payment section.
enum Payment {
    /// Buys what is in the cart.
    ///
    /// Errors: `ShopError.notLoggedIn`, `ShopError.emptyCart`. If a process is lost on the way, ask again: the same cart is never paid
    /// twice.
    struct Checkout: ResponderMessage {
        typealias Reply = Order
    }
}
