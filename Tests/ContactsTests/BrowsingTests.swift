import Coordinators
import TestSupport
import Testing
import WireProtocol

@testable import Contacts

@Suite("Browse, edit, and back", .timeLimit(minutes: 1))
struct BrowsingTests {
    @Test("The editor's page lies over the details", arguments: Where.allCases)
    func editing(_ place: Where) async throws {
        try await RunningContacts.with(place) { contacts in
            #expect(try await contacts.runtime.stack() == ["/ list"])
            try await contacts.runtime.ask(Contacts.Open(id: 2))
            try await contacts.runtime.ask(Contacts.Edit(id: 2), timeout: .seconds(30))
            #expect(try await contacts.runtime.stack() == ["/ list", "/ detail 2", "/edit form"])

            let editor = try await contacts.runtime.snapshot(of: "/edit")
            #expect(editor.type == "EditCoordinator")
            #expect(editor.host == (place == .worker ? .worker : .inProcess))
        }
    }

    @Test("Stopping the editor rewinds to the page that it was started from, and a saved contact is kept", arguments: Where.allCases)
    func saving(_ place: Where) async throws {
        try await RunningContacts.with(place) { contacts in
            try await contacts.runtime.ask(Contacts.Open(id: 2))
            let before = try await contacts.runtime.stack()
            try await contacts.runtime.ask(Contacts.Edit(id: 2), timeout: .seconds(30))
            try await contacts.end(Editor.Save(name: "Alan M. Turing", phone: "555 0199"))

            #expect(try await contacts.runtime.stack() == before)
            #expect(try await contacts.list().map(\.name) == ["Grace Hopper", "Alan M. Turing"])
            #expect(try await contacts.list().last?.phone == "555 0199")
        }
    }

    @Test("A cancelled edit leaves the contact as it was", arguments: Where.allCases)
    func cancelling(_ place: Where) async throws {
        try await RunningContacts.with(place) { contacts in
            try await contacts.runtime.ask(Contacts.Edit(id: 1), timeout: .seconds(30))
            try await contacts.end(Editor.Cancel())
            #expect(try await contacts.runtime.stack() == ["/ list"])
            #expect(try await contacts.list() == Contact.samples)
        }
    }

    @Test("Each of several editors gets the contact as the one before left it", arguments: Where.allCases)
    func twice(_ place: Where) async throws {
        try await RunningContacts.with(place) { contacts in
            for number in 1...2 {
                try await contacts.runtime.ask(Contacts.Edit(id: 1), timeout: .seconds(30))
                let name = try await contacts.runtime.navigation().last?.page["form"]?["contact"]?["name"]?.stringValue
                #expect(name == (number == 1 ? "Grace Hopper" : "Grace 1"))
                try await contacts.end(Editor.Save(name: "Grace \(number)", phone: ""))
            }
            #expect(try await contacts.list().first?.name == "Grace 2")
            #expect(try await contacts.runtime.stack() == ["/ list"])
        }
    }

    @Test("One contact is edited at a time, and only an existing one", arguments: Where.allCases)
    func refused(_ place: Where) async throws {
        try await RunningContacts.with(place) { contacts in
            let runtime = contacts.runtime
            await #expect(throws: ContactsError.noSuchContact(id: 9)) { try await runtime.ask(Contacts.Open(id: 9)) }
            await #expect(throws: ContactsError.noSuchContact(id: 9)) { try await runtime.ask(Contacts.Edit(id: 9), timeout: .seconds(30)) }
            let noEditor = await #expect(throws: CoordinatorError.self) { try await runtime.ask(Editor.Cancel()) }
            #expect(noEditor?.code == .noSuchChild)
            try await runtime.ask(Contacts.Edit(id: 1), timeout: .seconds(30))
            await #expect(throws: ContactsError.editorIsOpen) { try await runtime.ask(Contacts.Edit(id: 2), timeout: .seconds(30)) }
            // What the editor refuses comes from another program here, and then as its description.
            let error = await #expect(throws: (any Error).self) { try await runtime.ask(Editor.Save(name: "", phone: "1")) }
            #expect("\(try #require(error))" == "a contact needs a name")
            #expect(try await runtime.stack() == ["/ list", "/edit form"])
        }
    }

    @Test("The details of another contact replace those of the first")
    func details() async throws {
        try await RunningContacts.with(.inProcess) { contacts in
            try await contacts.runtime.ask(Contacts.Open(id: 1))
            try await contacts.runtime.ask(Contacts.Open(id: 2))
            #expect(try await contacts.runtime.stack() == ["/ list", "/ detail 2"])
        }
    }

    @Test("An editor whose process is killed is there again, with the contact it was given")
    func killed() async throws {
        try await RunningContacts.with(.worker) { contacts in
            try await contacts.runtime.ask(Contacts.Edit(id: 2), timeout: .seconds(30))
            let before = try await contacts.runtime.navigation()
            try await contacts.runtime.kill("/edit")
            try await eventually("the editor lives again") {
                let editor = try await contacts.runtime.snapshot(of: "/edit")
                return editor.state == .active && editor.incarnation == 2
            }
            #expect(try await contacts.runtime.navigation().map(\.page) == before.map(\.page))
            try await contacts.end(Editor.Save(name: "Alan", phone: ""))
            #expect(try await contacts.list().last?.name == "Alan")
            #expect(try await contacts.runtime.stack() == ["/ list"])
        }
    }
}
