/// Something that can be bought.
struct Product: Codable, Sendable, Equatable {
    /// The stock-keeping unit: what the product is called among machines.
    var sku: String
    /// What it is called among people.
    var title: String
    /// What one of it costs, in the currency's minor units: 250 is 2.50 €.
    var price: Int
}
