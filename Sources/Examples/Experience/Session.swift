import Coordinators

/// The present and the previous user of the app.
///
/// The session can be encoded: when it's provided in one process, all processes below inherit it.
struct Session: Codable, Sendable, Equatable {
    /// The user who is logged in.
    var user: User?
    /// The address of the user who was logged in the last time.
    var cachedEmail: String?
}

extension DependencyKeys {
    /// The present and the previous user of the app.
    var session: DependencyKey<Session> { .init() }
}
