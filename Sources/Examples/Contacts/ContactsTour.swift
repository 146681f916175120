import Coordinators

/// Plays a user: introduces herself, changes a contact, changes her mind about it, and leaves.
actor ContactsTour: Coordinator {
    let context: Context

    init(_ context: Context) { self.context = context }

    func run() async throws {
        let contacts = try await context.start(ContactsCoordinator.self, as: "contacts") { $0.isFirstLaunch = true }
        var events = contacts.events().makeAsyncIterator()
        try await look("first launch, who are you?")

        try await contacts.ask(Editor.Save(name: "Ada Lovelace", phone: "555 0100"))
        _ = await events.next()
        try await look("introduced")

        try await contacts.ask(Contacts.Open(id: 1))
        try await contacts.ask(Contacts.Edit(id: 1))
        try await look("editing, in another process")

        try await contacts.ask(Editor.Save(name: "Rear Admiral Grace Hopper", phone: "555 0101"))
        _ = await events.next()
        try await look("saved")

        try await contacts.ask(Contacts.Edit(id: 1))
        try await look("editing again")

        try await contacts.ask(Editor.Cancel())
        _ = await events.next()
        try await look("cancelled")

        let names = try await contacts.ask(Contacts.List()).map(\.name)
        await contacts.remove()
        try await look("left")
        print("contacts:", names.joined(separator: ", "))
        context.finish()
    }

    /// Prints whose pages are on the stack.
    private func look(_ moment: String) async throws {
        let owners = try await context.navigation().map(\.path.description)
        print("\(moment):", owners.isEmpty ? "no pages" : owners.joined(separator: " "))
    }
}
