/// Somebody who has registered.
struct User: Codable, Sendable, Equatable {
    var profile: Profile
    var preferences: Preferences
}
