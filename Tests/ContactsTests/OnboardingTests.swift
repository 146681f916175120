import Coordinators
import TestSupport
import Testing
import WireProtocol

@testable import Contacts

@Suite("Onboarding: the same editor under another key", .timeLimit(minutes: 1))
struct OnboardingTests {
    @Test("The first launch begins with an empty contact, and can't be cancelled")
    func begins() async throws {
        try await RunningContacts.with(.inProcess, isFirstLaunch: true) { contacts in
            let runtime = contacts.runtime
            let children = try await runtime.snapshot().children
            #expect(children.map(\.type) == ["EditCoordinator"])
            #expect(try await runtime.stack() == ["/ list", "/onboarding form"])
            #expect(
                try await runtime.navigation().last?.page
                    == ["form": ["title": "Who are you?", "contact": ["id": 3, "name": "", "phone": ""]]]
            )
            await #expect(throws: ContactsError.mustBeSaved) { try await runtime.ask(Editor.Cancel()) }
            await #expect(throws: ContactsError.editorIsOpen) { try await runtime.ask(Contacts.Edit(id: 1), timeout: .seconds(30)) }
        }
    }

    @Test("A user who has introduced herself is a contact like the others, and can be edited", arguments: Where.allCases)
    func ends(_ place: Where) async throws {
        try await RunningContacts.with(place, isFirstLaunch: true) { contacts in
            try await contacts.end(Editor.Save(name: "Ada", phone: "0"))
            #expect(try await contacts.runtime.stack() == ["/ list"])
            #expect(try await contacts.list() == Contact.samples + [Contact(id: 3, name: "Ada", phone: "0")])

            try await contacts.runtime.ask(Contacts.Edit(id: 3), timeout: .seconds(30))
            try await contacts.end(Editor.Save(name: "Ada Lovelace", phone: "0"))
            #expect(try await contacts.list().map(\.name) == ["Grace Hopper", "Alan Turing", "Ada Lovelace"])
        }
    }

    @Test("A user who isn't new isn't asked")
    func notAgain() async throws {
        try await RunningContacts.with(.inProcess) { contacts in
            let children = try await contacts.runtime.snapshot().children
            #expect(children.isEmpty)
            #expect(try await contacts.runtime.stack() == ["/ list"])
        }
    }
}
