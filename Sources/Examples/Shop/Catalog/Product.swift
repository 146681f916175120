/// A product of the shop.
struct Product: Codable, Sendable, Equatable {
    /// The stock-keeping unit, by which programs name the product.
    var sku: String
    /// The title that people read.
    var title: String
    /// The price of one item in the currency's minor units: 250 is 2.50 €.
    var price: Int
}
