import Coordinators

/// What a section can ask of the application.
enum App {
    /// Has the user change the settings, and returns who she is then.
    struct ChangeSettings: ResponderMessage {
        typealias Reply = User
        var user: User
    }
}
