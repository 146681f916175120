/// The cart with all that is in it.
struct CartContents: Codable, Sendable, Equatable {
    /// Counts the carts.
    ///
    /// What is paid becomes the order of this number, so a cart can't be paid twice.
    let number: Int
    /// One line for each product.
    let lines: [CartLine]
    /// How many items there are.
    let count: Int
    /// What they cost together, in minor units.
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
    /// What one of it costs, in minor units.
    var price: Int
    var quantity: Int
}
