/// A page of the payment section: the stage of a payment.
enum PaymentPage: Codable, Sendable, Equatable {
    /// The cart is to be paid. Can transition to: receipt.
    case checkout
    /// The cart was paid. Can transition to: checkout, for the next cart.
    case receipt(Order)
}
