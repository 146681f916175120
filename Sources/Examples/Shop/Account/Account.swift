import Coordinators

/// What can be asked of the account section.
enum Account {
    /// Logs a customer in; whoever was logged in before is logged out, even if the attempt fails.
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
