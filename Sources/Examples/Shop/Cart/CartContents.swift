/// The cart with all that is in it.
struct CartContents: Codable, Sendable, Equatable {
    /// The number of the cart, counted from 1.
    ///
    /// A paid cart becomes the order of this number, so it can't be paid twice.
    let number: Int
    /// One line for each product.
    let lines: [CartLine]
    /// The number of items in the cart.
    let count: Int
    /// The price of all items together, in minor units.
    let total: Int

    /// Adds the lines up.
    init(number: Int, lines: [CartLine]) {
        self.number = number
        self.lines = lines
        count = lines.reduce(0) { $0 + $1.quantity }
        total = lines.reduce(0) { $0 + $1.quantity * $1.price }
    }
}

/// One product in the cart.
struct CartLine: Codable, Sendable, Equatable {
    var sku: String
    var title: String
    /// The price of one item, in minor units.
    var price: Int
    var quantity: Int
}
