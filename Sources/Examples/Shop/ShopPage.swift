/// A page of the shop itself, which belongs to no section.
enum ShopPage: Codable, Sendable, Equatable {
    /// The page below everything else.
    case storefront
    /// The cart, above all other pages; presented, so that it can be hidden again.
    case cart
}
