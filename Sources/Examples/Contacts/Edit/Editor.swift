import Coordinators

/// The messages that the editor's page sends to its coordinator.
enum Editor {
    /// The user has pressed "Save".
    ///
    /// Errors: `ContactsError.nameIsMissing`.
    struct Save: ResponderMessage {
        var name: String
        var phone: String
    }

    /// The user has pressed "Cancel".
    ///
    /// Errors: `ContactsError.mustBeSaved`.
    struct Cancel: ResponderMessage {}
}
