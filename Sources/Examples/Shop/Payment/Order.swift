/// What a customer has bought.
struct Order: Codable, Sendable, Equatable {
    /// The number of the cart that it was.
    var number: Int
    /// The customer's name.
    var customer: String
    /// What was bought, at the prices of the day.
    var items: [CartLine]
    /// What it cost together, in minor units.
    var total: Int
    /// What these are the minor units of.
    var currency: String
}
