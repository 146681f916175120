/// A customer as everybody may see one: without the password.
struct User: Codable, Sendable, Equatable {
    /// What the customer logs in with.
    var name: String
    /// What the customer is called.
    var fullName: String
}
