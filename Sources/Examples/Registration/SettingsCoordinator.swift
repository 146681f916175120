import Coordinators

/// Lets the user change her settings, and finishes with the changed user.
actor SettingsCoordinator: Coordinator {
    typealias Configuration = User
    typealias Output = User

    enum ChildKey: String, CoordinatorKey { case registration }

    enum Page: String, Codable, Sendable {
        /// The list of settings.
        case menu
        /// The sheet in which the registration is shown; modal.
        case sheet
    }

    let context: Context
    private var user: User

    init(_ context: Context) {
        self.context = context
        user = context.configuration
    }

    static let responders: Responders = [
        .respond(to: Settings.CloseSheet.self) { me, _ in me.closeSheet() }
    ]

    func run() async throws {
        context.show(.menu)
        while try await context.ask(Screen.SettingsMenu(user: user), timeout: Screen.patience) == .editProfile {
            try await editProfile()
        }
        context.finish(user)
    }

    /// Runs the registration again, in a sheet: the preferences are known here, so it asks for the profile only.
    private func editProfile() async throws {
        context.present(.sheet)
        do {
            user = try await context.run(RegistrationCoordinator.self, as: .registration) {
                $0.known.preferences = user.preferences
            }
            closeSheet()
        } catch let error as CoordinatorError where error.code == .dismissed {
            // The user has closed the sheet, and the registration went with it: everything stays as it was.
        }
    }

    /// Takes away the sheet and everything over it.
    private func closeSheet() {
        if context.pages.contains(.sheet) { context.dismiss() }
    }
}
