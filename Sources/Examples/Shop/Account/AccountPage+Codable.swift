// Written out, so that scripts read `{"page": "login", "error": …}` and `{"page": "profile", "user": …}`.
extension AccountPage: Codable {
    private enum Name: String, Codable { case login, profile }
    private enum CodingKeys: CodingKey { case page, error, user }

    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        switch try container.decode(Name.self, forKey: .page) {
        case .login: self = .login(LoginPage(error: try container.decodeIfPresent(String.self, forKey: .error)))
        case .profile: self = .profile(UserProfilePage(user: try container.decode(User.self, forKey: .user)))
        }
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        switch self {
        case .login(let page):
            try container.encode(Name.login, forKey: .page)
            try container.encodeIfPresent(page.error, forKey: .error)
        case .profile(let page):
            try container.encode(Name.profile, forKey: .page)
            try container.encode(page.user, forKey: .user)
        }
    }
}
