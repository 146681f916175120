/// A page of the account section: on a server, the step of the flow that the customer has reached.
enum AccountPage: Sendable, Equatable {
    /// No customer is logged in. Can transition to: login (with an error), profile.
    case login(LoginPage)
    /// A customer is logged in. Can transition to: login.
    case profile(UserProfilePage)

    /// The customer who is logged in; nil if there is none.
    var user: User? {
        switch self {
        case .login: nil
        case .profile(let page): page.user
        }
    }
}

/// Asks for name and password.
///
/// The page doesn't know which type checks them, nor which page comes next.
struct LoginPage: Sendable, Equatable {
    /// The reason why the last attempt failed, for the customer to read.
    var error: String?
}

/// Shows the customer who is logged in.
struct UserProfilePage: Sendable, Equatable {
    let user: User
}
