/// The name and address of a user.
struct Profile: Codable, Sendable, Equatable {
    var name: String
    var email: String
}
