/// The customers and their session.
///
/// The manager doesn't depend on pages or coordinators.
struct AccountManager: Sendable {
    let database: ShopDatabase

    /// The customer who is logged in.
    var currentUser: User? {
        get async throws { try await database.userOfSession() }
    }

    /// Ends the session, and begins another if the password is right.
    ///
    /// - Throws: `ShopError.wrongNameOrPassword`.
    func logIn(name: String, password: String) async throws -> User {
        let credentials = try await database.credentials(of: name)
        guard await matches(password, credentials?.passwordHash ?? .ofNobody), let credentials else {
            try await database.endSession()
            throw ShopError.wrongNameOrPassword
        }
        try await database.beginSession(of: credentials)
        return credentials.user
    }

    /// Ends the session, if there is one.
    func logOut() async throws {
        try await database.endSession()
    }

    // This runs off the caller's actor: a good password hash is slow by design, and the coordinator has other callers meanwhile.
    @concurrent
    private func matches(_ password: String, _ hash: PasswordHash) async -> Bool {
        hash.matches(password)
    }
}
