import Coordinators

/// Who uses the app.
///
/// A value that can be encoded: what is provided in one process is inherited in all processes below it.
struct Session: Codable, Sendable, Equatable {
    /// Who is logged in.
    var user: User?
    /// Who was here the last time.
    var cachedEmail: String?
}

enum SessionKey: DependencyKey {
    typealias Value = Session
}

extension Dependencies {
    /// Who uses the app.
    var session: Session? {
        get { self[SessionKey.self] }
        set { self[SessionKey.self] = newValue }
    }
}
