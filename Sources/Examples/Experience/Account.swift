import Coordinators

/// What can be asked of whoever knows the accounts.
enum Account {
    /// Asks whose address and password these are; `WrongPassword` if they are nobody's.
    struct Verify: ResponderMessage {
        typealias Reply = User
        static let isIdempotent = true
        var email: String
        var password: String
    }
}

extension Account.Verify {
    /// The one account there is.
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
