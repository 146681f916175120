/// A paid cart of a customer.
struct Order: Codable, Sendable, Equatable {
    /// The number of the cart.
    var number: Int
    /// The customer's name.
    var customer: String
    /// The items of the cart, at the prices of the day.
    var items: [CartLine]
    /// The price of all items together, in minor units.
    var total: Int
    /// The currency of the prices.
    var currency: String
}
