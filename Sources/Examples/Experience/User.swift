/// A person, as everybody may see one.
struct User: Codable, Sendable, Equatable {
    var name: String
    var email: String
}
