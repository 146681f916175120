import Coordinators

/// Registers a user in up to three steps, and finishes with the user.
///
/// The flow doesn't know where it's shown: as the first thing in the application, or in a sheet over the settings.
actor RegistrationCoordinator: Coordinator {
    typealias Output = User

    struct Configuration: CoordinatorConfiguration {
        /// The data that need not be asked for.
        var known = DeviceManagement()
    }

    enum Page: String, Codable, Sendable {
        /// Can transition to: preferences, confirmation.
        case profile
        /// Can transition to: confirmation.
        case preferences
        /// The last one.
        case confirmation
    }

    let context: Context
    private let known: DeviceManagement

    init(_ context: Context) {
        self.context = context
        known = context.configuration.known
    }

    /// The coordinator decides what comes next; a step whose answer is known is skipped.
    func run() async throws {
        let profile = try await answer(to: Screen.ProfileForm(), on: .profile, unlessKnown: known.profile)
        let preferences = try await answer(to: Screen.PreferencesForm(), on: .preferences, unlessKnown: known.preferences)
        let user = User(profile: profile, preferences: preferences)
        // The user has entered nothing, so there is nothing to confirm.
        let isKnown = known.profile != nil && known.preferences != nil
        _ = try await answer(to: Screen.Confirmation(user: user), on: .confirmation, unlessKnown: isKnown ? NoReply() : nil)
        context.finish(user)
    }

    private func answer<Question: ResponderMessage>(
        to question: Question,
        on page: Page,
        unlessKnown known: Question.Reply?
    ) async throws -> Question.Reply {
        if let known { return known }
        context.show(page)
        return try await context.ask(question, timeout: Screen.patience)
    }
}
