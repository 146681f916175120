import Coordinators

/// Lets the user edit one contact, and tells its delegates how that ended.
///
/// The editor doesn't know which coordinator started it, nor whether the contact is new. The difference between editing and onboarding is
/// in its configuration.
actor EditCoordinator: Coordinator {
    struct Configuration: CoordinatorConfiguration {
        /// The contact to edit.
        var contact = Contact()
        /// The title of the page.
        var title = "Edit"
        /// Whether the user may leave without saving.
        var mayCancel = true
    }

    enum Page: Codable, Sendable, Equatable {
        /// The contact as it was, to be changed.
        case form(title: String, contact: Contact)
    }

    enum Event: Codable, Sendable, Equatable {
        /// The user wants the contact to be like this.
        case saved(Contact)
        /// The user wants the contact to stay as it was.
        case cancelled
    }

    let context: Context
    private let configuration: Configuration

    init(_ context: Context) {
        self.context = context
        configuration = context.configuration
    }

    static let responders: Responders = [
        .respond(to: Editor.Save.self) { me, save in try me.save(save) },
        .respond(to: Editor.Cancel.self) { me, _ in try me.cancel() },
    ]

    /// Shows the contact of the configuration, which is in place when the editor starts.
    func start() async throws {
        context.show(.form(title: configuration.title, contact: configuration.contact))
    }

    private func save(_ save: Editor.Save) throws(ContactsError) {
        guard !save.name.isEmpty else { throw .nameIsMissing }
        context.delegates => .saved(Contact(id: configuration.contact.id, name: save.name, phone: save.phone))
    }

    private func cancel() throws(ContactsError) {
        guard configuration.mayCancel else { throw .mustBeSaved }
        context.delegates => .cancelled
    }
}
