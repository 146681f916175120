/// The public data of a person.
struct User: Codable, Sendable, Equatable {
    var name: String
    var email: String
}
