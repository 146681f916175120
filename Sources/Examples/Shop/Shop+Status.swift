import Coordinators

extension Shop {
    /// Asks the shop what it runs with.
    struct Status: ResponderMessage {
        typealias Reply = ShopConfiguration
        static let isIdempotent = true
    }
}
