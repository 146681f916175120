import Coordinators

/// The messages to the coordinator that knows the accounts.
enum Account {
    /// Asks for the user with this address and password; `WrongPassword` if there is none.
    struct Verify: ResponderMessage {
        typealias Reply = User
        static let isIdempotent = true
        var email: String
        var password: String
    }
}

extension Account.Verify {
    /// The only account.
    var user: User {
        get throws(WrongPassword) {
            guard email == "ada@example.org", password == "lovelace" else { throw WrongPassword() }
            return User(name: "Ada", email: email)
        }
    }
}

/// The address and the password don't belong together.
struct WrongPassword: Error, Codable, CustomStringConvertible {
    var description: String { "wrong address or password" }
}
