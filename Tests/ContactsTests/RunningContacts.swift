import Coordinators
import CoordinatorsTesting
import Glibc
import Logging
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
        options.workerExecutable = executable
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

    /// The program, which is built beside the tests.
    static let executable: String = {
        var buffer = [CChar](repeating: 0, count: 4_096)
        let length = readlink("/proc/self/exe", &buffer, buffer.count - 1)
        let test = String(decoding: buffer[..<max(length, 0)].map { UInt8(bitPattern: $0) }, as: UTF8.self)
        return String(test[..<(test.lastIndex(of: "/") ?? test.startIndex)]) + "/Contacts"
    }()
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

/// Waits until something holds, at most ten seconds.
func eventually(_ what: Comment, _ condition: () async throws -> Bool) async throws {
    let deadline = ContinuousClock.now + .seconds(10)
    while ContinuousClock.now < deadline {
        if try await condition() { return }
        try await Task.sleep(for: .milliseconds(2))
    }
    Issue.record(what)
}
