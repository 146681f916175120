import Coordinators
import CoordinatorsTesting
import Logging
import TestSupport
import Testing
import WireProtocol

@testable import Contacts

/// The contacts as a root of their own, with the test as their user.
struct RunningContacts {
    let runtime: CoordinatorRuntime

    static func with(_ place: Where, isFirstLaunch: Bool = false, _ body: (RunningContacts) async throws -> Void) async throws {
        try await withRuntime(ContactsCoordinator.self, options: options(place)) {
            $0.isFirstLaunch = isFirstLaunch
        } _: { runtime in
            try await body(RunningContacts(runtime: runtime))
        }
    }

    static func options(_ place: Where) -> CoordinatorRuntime.Options {
        var options = CoordinatorRuntime.Options()
        options.workerExecutable = program.path
        options.runsInOneProcess = place == .inProcess
        options.logger.logLevel = .error
        return options
    }

    /// All contacts.
    func list() async throws -> [Contact] { try await runtime.ask(Contacts.List()) }

    /// Ends an editing as the user does, and returns when the editor is gone.
    func end<Message: ResponderMessage>(_ message: Message) async throws where Message.Reply == NoReply {
        try await runtime.ask(message)
        try await eventually("the editor is gone, and its page") {
            let pages = try await runtime.navigation()
            return try await runtime.snapshot().children.isEmpty && pages.allSatisfy { $0.path == .root }
        }
    }

    static let program = BuiltProgram("Contacts")
}

extension CoordinatorRuntime {
    /// The stack, bottom first, in words: whose page, and which.
    func stack() async throws -> [String] {
        try await navigation().map { entry in
            let page = entry.page.objectValue?.first
            return "\(entry.path) \(page?.key ?? "?")" + (page?.value["id"]?.integerValue.map { " \($0)" } ?? "")
        }
    }
}
