import Coordinators

/// The messages that the browsing pages send to their coordinator.
extension Contacts {
    /// All contacts, in the order in which they were added.
    struct List: ResponderMessage {
        typealias Reply = [Contact]
        static let isIdempotent = true
    }

    /// A contact was selected in the list: show its details.
    ///
    /// Errors: `ContactsError.noSuchContact`.
    struct Open: ResponderMessage {
        var id: Contact.ID
    }

    /// The edit button was pressed on a contact's details; returns when the editor is ready.
    ///
    /// Errors: `ContactsError.noSuchContact`, `ContactsError.editorIsOpen`.
    struct Edit: ResponderMessage {
        var id: Contact.ID
    }
}
