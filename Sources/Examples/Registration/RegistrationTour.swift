import Coordinators

/// Plays a user, who is also the screen: it displays what it's asked, and answers.
actor RegistrationTour: Coordinator {
    let context: Context
    private var names = ["Ada Byron", "Ada Lovelace"]
    private var choices = (overview: [Screen.Overview.Reply.settings, .signOut], menu: [Screen.SettingsMenu.Reply.editProfile, .close])

    init(_ context: Context) { self.context = context }

    static let responders: Responders = [
        .respond(to: Screen.ProfileForm.self) { me, _ in try await me.fillInProfile() },
        .respond(to: Screen.PreferencesForm.self) { me, _ in try await me.fillInPreferences() },
        .respond(to: Screen.Confirmation.self) { me, shown in try await me.look("is this right, \(shown.user.profile.name)?") },
        .respond(to: Screen.Overview.self) { me, shown in try await me.choose(shown) },
        .respond(to: Screen.SettingsMenu.self) { me, shown in try await me.choose(shown) },
    ]

    /// The device's owner provides the user's preferences; the user enters her profile herself.
    func run() async throws {
        let user = try await context.run(AppCoordinator.self, as: "app") {
            $0.known.preferences = Preferences(newsletter: false)
        }
        try await look("signed out")
        print("registered: \(user.profile.name)")
        context.finish()
    }

    private func fillInProfile() async throws -> Profile {
        try await look("who are you?")
        return Profile(name: names.removeFirst(), email: "ada@example.org")
    }

    private func fillInPreferences() async throws -> Preferences {
        try await look("what do you want?")
        return Preferences(newsletter: false)
    }

    private func choose(_ shown: Screen.Overview) async throws -> Screen.Overview.Reply {
        try await look("dashboard of \(shown.user.profile.name)")
        return choices.overview.removeFirst()
    }

    private func choose(_ shown: Screen.SettingsMenu) async throws -> Screen.SettingsMenu.Reply {
        try await look("settings of \(shown.user.profile.name)")
        return choices.menu.removeFirst()
    }

    /// Prints the text of the screen, and the coordinators whose pages are on the stack.
    private func look(_ text: String) async throws {
        let owners = try await context.navigation().map(\.path.description)
        print("\(text) [\(owners.joined(separator: " "))]")
    }
}
