import Coordinators
import CoordinatorsTesting
import TestSupport
import Testing
import WireProtocol

@testable import Contacts

@Suite("The editor, whoever started it", .timeLimit(minutes: 1))
struct EditorTests {
    private static let grace = Contact(id: 7, name: "Grace", phone: "1")

    @Test("The configuration is in place before the start, and the first page shows it", arguments: Where.allCases)
    func configuredBeforeStart(_ place: Where) async throws {
        try await Self.run(place) { runtime in
            let form = try #require(try await runtime.navigation().first)
            #expect(form.path == "/editor")
            #expect(form.page == ["form": ["title": "New", "contact": ["id": 7, "name": "Grace", "phone": "1"]]])
        }
    }

    @Test("The delegates get every save and every cancel, in order", arguments: Where.allCases)
    func events(_ place: Where) async throws {
        try await Self.run(place) { runtime in
            try await runtime.ask(Editor.Save(name: "Grace H", phone: "2"), at: "/editor")
            try await runtime.ask(Editor.Cancel(), at: "/editor")
            let expected: [EditCoordinator.Event] = [.saved(Contact(id: 7, name: "Grace H", phone: "2")), .cancelled]
            try await eventually("both have heard both") {
                try await runtime.ask(EditorHost.Heard()) == EditorHost.Heard.Reply(byRow: expected, byDelegate: expected)
            }
        }
    }

    @Test("A refused action sends no event to the delegates", arguments: Where.allCases)
    func refused(_ place: Where) async throws {
        try await Self.run(place, mayCancel: false) { runtime in
            await #expect(throws: (any Error).self) { try await runtime.ask(Editor.Save(name: "", phone: "2"), at: "/editor") }
            await #expect(throws: (any Error).self) { try await runtime.ask(Editor.Cancel(), at: "/editor") }
            try await runtime.ask(Editor.Save(name: "Grace", phone: "2"), at: "/editor")
            try await eventually("the save was heard") { try await runtime.ask(EditorHost.Heard()).byRow.count == 1 }
            #expect(try await runtime.ask(EditorHost.Heard()).byRow == [.saved(Contact(id: 7, name: "Grace", phone: "2"))])
        }
    }

    @Test("A stopped editor leaves nothing behind", arguments: Where.allCases)
    func stopped(_ place: Where) async throws {
        try await Self.run(place) { runtime in
            try await runtime.ask(EditorHost.Stop())
            #expect(try await runtime.snapshot().children.isEmpty)
            #expect(try await runtime.stack().isEmpty)
            let error = await #expect(throws: CoordinatorError.self) { try await runtime.ask(EditorHost.Stop()) }
            #expect(error?.code == .noSuchChild)
        }
    }

    private static func run(
        _ place: Where,
        mayCancel: Bool = true,
        _ body: (CoordinatorRuntime) async throws -> Void
    ) async throws {
        try await withRuntime(EditorHost.self, options: RunningContacts.options(place)) {
            $0.editor = EditCoordinator.Configuration(contact: grace, title: "New", mayCancel: mayCancel)
        } _: { runtime in
            try await body(runtime)
        }
    }
}
