import Coordinators

/// The questions that a flow asks the user.
///
/// A screen displays one thing and gathers one answer. It doesn't know which screen comes next, nor in which flow it is. A coordinator
/// further up displays the screens, and responds.
enum Screen {
    /// Asks for name and address.
    struct ProfileForm: ResponderMessage {
        typealias Reply = Profile
    }

    /// Asks what the user wants.
    struct PreferencesForm: ResponderMessage {
        typealias Reply = Preferences
    }

    /// Shows what was entered, until the user confirms it.
    struct Confirmation: ResponderMessage {
        var user: User
    }

    /// Shows the dashboard, until the user wants to go somewhere else.
    struct Overview: ResponderMessage {
        enum Reply: String, Codable { case settings, signOut }
        var user: User
    }

    /// Shows the settings, until the user wants something changed or is done.
    struct SettingsMenu: ResponderMessage {
        enum Reply: String, Codable { case editProfile, close }
        var user: User
    }

    /// The time that a user may take to answer.
    static let patience = Duration.seconds(3_600)
}
