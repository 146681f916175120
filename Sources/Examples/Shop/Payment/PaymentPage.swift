/// A page of the payment section: how far a payment has come.
enum PaymentPage: Codable, Sendable, Equatable {
    /// The cart is to be paid. Can transition to: receipt.
    case checkout
    /// It was paid. Can transition to: checkout, for the next cart.
    case receipt(Order)
}
