/// A page of the shop itself: what isn't any section's.
enum ShopPage: Codable, Sendable, Equatable {
    /// Below everything else.
    case storefront
    /// The cart, above whatever else is shown; presented, so that it can be hidden again.
    case cart
}
