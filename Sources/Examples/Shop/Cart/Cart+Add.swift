import Coordinators

extension Cart {
    /// Puts a product into the cart; the reply is the number of items that are in it now.
    ///
    /// The message isn't idempotent: sent twice, it adds the product twice. So the runtime doesn't send it again when a process is lost on
    /// the way.
    ///
    /// Errors: `ShopError.noSuchProduct`, `ShopError.invalidQuantity`.
    struct Add: ResponderMessage {
        typealias Reply = Int

        /// The quantities that can be added at once.
        static let quantities = 1...1_000

        var sku: String
        var quantity = 1
    }
}

extension Cart.Add {
    // Written by hand for the default: `{"sku": "apple"}` means one.
    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        sku = try container.decode(String.self, forKey: .sku)
        quantity = try container.decodeIfPresent(Int.self, forKey: .quantity) ?? 1
    }
}
