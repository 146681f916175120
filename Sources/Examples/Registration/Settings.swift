import Coordinators

/// The messages that the settings' pages send to their coordinator.
enum Settings {
    /// The user has closed the sheet in which the profile is edited.
    ///
    /// Without a sheet it does nothing.
    struct CloseSheet: ResponderMessage {}
}
