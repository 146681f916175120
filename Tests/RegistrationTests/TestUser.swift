import Coordinators
import TestSupport
import WireProtocol

@testable import Registration

/// A user who answers as told, and writes down what she was shown.
actor TestUser: Coordinator {
    /// The screens that the user was shown, each with the stack at that time; at last, the end.
    struct Diary: ResponderMessage {
        typealias Reply = [String]
    }

    struct Configuration: CoordinatorConfiguration {
        var app = AppCoordinator.Configuration()
        /// The name that she enters; empty: she never answers.
        var names = ["Ada"]
        var overview = [Screen.Overview.Reply.signOut]
        var menu = [Screen.SettingsMenu.Reply.close]
    }

    let context: Context
    private var script: Configuration
    private var diary: [String] = []

    init(_ context: Context) {
        self.context = context
        script = context.configuration
    }

    static let responders: Responders = [
        .respond(to: Diary.self) { me, _ in me.diary },
        .respond(to: Screen.ProfileForm.self) { me, _ in try await me.fillInProfile() },
        .respond(to: Screen.PreferencesForm.self) { me, _ in try await me.fillInPreferences() },
        .respond(to: Screen.Confirmation.self) { me, shown in try await me.see("confirm \(shown.user.profile.name)") },
        .respond(to: Screen.Overview.self) { me, shown in try await me.choose(shown) },
        .respond(to: Screen.SettingsMenu.self) { me, shown in try await me.choose(shown) },
    ]

    func start() async throws {
        context.task { await self.play() }
    }

    private func play() async {
        do {
            let user = try await context.run(AppCoordinator.self, as: "app") { $0 = script.app }
            diary.append("finished: \(user.profile.name), newsletter \(user.preferences.newsletter)")
        } catch {
            diary.append("failed: \(error)")
        }
    }

    private func fillInProfile() async throws -> Profile {
        try await see("profile?")
        let name = script.names.removeFirst()
        if name.isEmpty { try await untilCancelled() }
        return Profile(name: name, email: "")
    }

    private func fillInPreferences() async throws -> Preferences {
        try await see("preferences?")
        return Preferences(newsletter: true)
    }

    private func choose(_ shown: Screen.Overview) async throws -> Screen.Overview.Reply {
        try await see("dashboard of \(shown.user.profile.name)")
        return script.overview.removeFirst()
    }

    private func choose(_ shown: Screen.SettingsMenu) async throws -> Screen.SettingsMenu.Reply {
        try await see("settings of \(shown.user.profile.name)")
        return script.menu.removeFirst()
    }

    private func see(_ screen: String) async throws {
        let stack = try await context.navigation().map { " \($0.path):\($0.page.stringValue ?? "?")" }
        diary.append(screen + stack.joined())
    }
}
