/// A mistake of the user.
enum ContactsError: Error, Codable, Equatable {
    /// No contact has this number.
    case noSuchContact(id: Contact.ID)
    /// One contact is edited at a time.
    case editorIsOpen
    /// A contact needs a name.
    case nameIsMissing
    /// This editor can't be left without saving.
    case mustBeSaved
}

extension ContactsError: CustomStringConvertible {
    var description: String {
        switch self {
        case .noSuchContact(let id): "there is no contact \(id): ask Contacts.List for what there is"
        case .editorIsOpen: "a contact is being edited: save or cancel first"
        case .nameIsMissing: "a contact needs a name"
        case .mustBeSaved: "this contact can't be cancelled: save it"
        }
    }
}
