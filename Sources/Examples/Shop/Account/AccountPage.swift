/// A page of the account section: on a server, the step of the flow that the customer has reached.
enum AccountPage: Sendable, Equatable {
    /// Nobody is logged in. Can transition to: login (with an error), profile.
    case login(LoginPage)
    /// A customer is logged in. Can transition to: login.
    case profile(UserProfilePage)

    /// The customer, when one is logged in.
    var user: User? {
        switch self {
        case .login: nil
        case .profile(let page): page.user
        }
    }
}

/// Asks for name and password.
///
/// It knows neither who checks them nor which page comes next.
struct LoginPage: Sendable, Equatable {
    /// Why the last attempt failed, for the customer to read.
    var error: String?
}

/// Shows who is logged in.
struct UserProfilePage: Sendable, Equatable {
    let user: User
}
