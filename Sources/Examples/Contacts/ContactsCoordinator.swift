import Coordinators

/// Browses the contacts, and starts an editor for the one to be changed.
///
/// This coordinator knows how an editor is configured and which events it sends when the user is done, but not how it edits.
actor ContactsCoordinator: Coordinator {
    /// Two keys for one type of coordinator: a new user's introduction is the editing of her own, still empty contact.
    enum ChildKey: String, CoordinatorKey { case edit, onboarding }

    struct Configuration: CoordinatorConfiguration {
        /// The contacts that exist at the start.
        var contacts = Contact.samples
        /// Whether the user has to introduce herself first.
        var isFirstLaunch = false
    }

    enum Page: Codable, Sendable, Equatable {
        /// All contacts. Can transition to: detail.
        case list
        /// One of them. Can transition to: the detail of another.
        case detail(id: Contact.ID)
    }

    enum Event: Codable, Sendable, Equatable {
        /// The user is done with an editor, and back where she was before.
        case editorClosed
    }

    let context: Context
    private let isFirstLaunch: Bool
    private var contacts: [Contact]

    init(_ context: Context) {
        self.context = context
        isFirstLaunch = context.configuration.isFirstLaunch
        contacts = context.configuration.contacts
    }

    static let responders: Responders = [
        .respond(to: Contacts.List.self) { me, _ in me.contacts },
        .respond(to: Contacts.Open.self) { me, open in try me.showDetail(of: open.id) },
        .respond(to: Contacts.Edit.self) { me, edit in try await me.edit(edit.id) },

        // The pages are reached through the coordinator that browses, whichever editor is in front.
        .forward(prefix: "Editor.", to: EditCoordinator.self),

        // This row takes the place of `coordinator.delegate = self`.
        .observe(EditCoordinator.self) { me, editor, event in await me.editorIsDone(editor, event) },
    ]

    func start() async throws {
        context.show(.list)
        guard isFirstLaunch else { return }
        try await context.start(EditCoordinator.self, as: .onboarding) {
            $0.title = "Who are you?"
            $0.contact.id = (contacts.map(\.id).max() ?? 0) + 1
            $0.mayCancel = false
        }
    }

    private func showDetail(of id: Contact.ID) throws(ContactsError) {
        let page = Page.detail(id: try contact(id).id)
        if context.pages.count > 1 { context.replaceTop(page) } else { context.show(page) }
    }

    private func edit(_ id: Contact.ID) async throws {
        guard context.child(EditCoordinator.self) == nil else { throw ContactsError.editorIsOpen }
        let contact = try contact(id)
        // This runs before the editor starts. It makes a value, which reaches an editor in another process, and every later incarnation of
        // it.
        try await context.start(EditCoordinator.self, as: .edit, in: .worker) {
            $0.contact = contact
        }
    }

    private func editorIsDone(_ editor: Child<EditCoordinator>, _ event: EditCoordinator.Event) async {
        if case .saved(let contact) = event { keep(contact) }
        // Stopping the editor rewinds the pages to those before the start. The call returns when that is done, so no callback is needed.
        await editor.remove()
        context.delegates => .editorClosed
    }

    private func keep(_ contact: Contact) {
        if let index = contacts.firstIndex(where: { $0.id == contact.id }) {
            contacts[index] = contact
        } else {
            contacts.append(contact)
        }
    }

    private func contact(_ id: Contact.ID) throws(ContactsError) -> Contact {
        guard let contact = contacts.first(where: { $0.id == id }) else { throw .noSuchContact(id: id) }
        return contact
    }
}
