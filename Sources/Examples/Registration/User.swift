/// A registered user.
struct User: Codable, Sendable, Equatable {
    var profile: Profile
    var preferences: Preferences
}
