import Coordinators

/// The messages of a section to the application.
enum App {
    /// Lets the user change the settings, and returns the changed user.
    struct ChangeSettings: ResponderMessage {
        typealias Reply = User
        var user: User
    }
}
