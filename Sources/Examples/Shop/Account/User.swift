/// The public data of a customer: without the password.
struct User: Codable, Sendable, Equatable {
    /// The name with which the customer logs in.
    var name: String
    /// The customer's own name.
    var fullName: String
}
