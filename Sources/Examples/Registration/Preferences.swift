/// What somebody wants.
struct Preferences: Codable, Sendable, Equatable {
    var newsletter: Bool
}
