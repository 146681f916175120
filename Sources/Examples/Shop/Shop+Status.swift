import Coordinators

extension Shop {
    /// Asks the shop for the configuration that it runs with.
    struct Status: ResponderMessage {
        typealias Reply = ShopConfiguration
        static let isIdempotent = true
    }
}
