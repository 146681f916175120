/// A page of the catalogue section.
enum CatalogPage: Codable, Sendable, Equatable {
    /// All products, the promoted ones first. Can transition to: list (with other promotions), product.
    case list(promoted: [String] = [])
    /// One product. Can transition to: list.
    case product(sku: String)
}
