import Coordinators

/// The messages to the account section.
enum Account {
    /// Logs a customer in; another one who was logged in before is logged out, even if the attempt fails.
    struct Login: ResponderMessage {
        typealias Reply = User
        var name: String
        var password: String
    }

    /// Logs the customer out.
    struct Logout: ResponderMessage {
        static let isIdempotent = true
    }

    /// Asks which page the section shows.
    struct Current: ResponderMessage {
        typealias Reply = AccountPage
        static let isIdempotent = true
    }
}
