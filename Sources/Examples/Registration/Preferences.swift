/// The choices of a user.
struct Preferences: Codable, Sendable, Equatable {
    var newsletter: Bool
}
