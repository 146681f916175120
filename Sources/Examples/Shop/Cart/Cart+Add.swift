import Coordinators

extension Cart {
    /// Puts a product into the cart; the reply is how many items are in it now.
    ///
    /// Not idempotent: said twice, it is in the cart twice. So nobody repeats it for the asker when a process is lost on the way.
    ///
    /// Errors: `ShopError.noSuchProduct`, `ShopError.invalidQuantity`.
    struct Add: ResponderMessage {
        typealias Reply = Int

        /// How many can be added at once.
        static let quantities = 1...1_000

        var sku: String
        var quantity = 1
    }
}

extension Cart.Add {
    // Written out for the default: people say `{"sku": "apple"}` and mean one.
    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        sku = try container.decode(String.self, forKey: .sku)
        quantity = try container.decodeIfPresent(Int.self, forKey: .quantity) ?? 1
    }
}
