import Coordinators

// MARK: radianttap/Coordinator

enum Members {
    struct Login: ResponderMessage {
        typealias Reply = String
        var username: String
        var password: String
    }
}

actor MemberCoordinator: Coordinator {
    let context: Context

    init(_ context: Context) { self.context = context }

    // snippet: radianttap
    static let responders: Responders = [
        .respond(to: Members.Login.self, needs: \.accounts) { me, login, accounts in
            guard try await accounts.verify(login.username, login.password) else { throw WrongPassword() }
            return login.username
        }
    ]
    // end
}

struct WrongPassword: Error, Codable {}

// MARK: Ljungberg

struct Contact: Codable, Sendable, Equatable { var name: String }

enum Contacts {
    struct Edit: ResponderMessage {
        typealias Reply = Contact
        var contact: Contact
    }
}

actor EditContactCoordinator: Coordinator {
    struct Configuration: Codable, Sendable { var contact: Contact }

    let context: Context
    private let contact: Contact

    init(_ context: Context) {
        self.context = context
        contact = context.configuration.contact
    }

    typealias Output = Contact

    func run() async throws { context.finish(Contact(name: contact.name + ", edited")) }
}

actor ContactsCoordinator: Coordinator {
    let context: Context

    init(_ context: Context) { self.context = context }

    // snippet: ljungberg
    static let responders: Responders = [
        .respond(to: Contacts.Edit.self) { me, edit in
            try await me.context.run(EditContactCoordinator.self, as: "edit \(edit.contact.name)", with: .init(contact: edit.contact))
        }
    ]
    // end
}

// MARK: CoordinatorKit

enum Session {
    struct Open: ResponderMessage { var isValid: Bool }
}

actor SessionCoordinator: Coordinator {
    enum Event: Codable, Sendable { case succeeded, failed(reason: String) }

    let context: Context

    init(_ context: Context) { self.context = context }

    static let responders: Responders = [
        .respond(to: Session.Open.self) { me, open in
            me.context.delegates => (open.isValid ? .succeeded : .failed(reason: "expired"))
        }
    ]
}

actor SessionsCoordinator: Coordinator {
    let context: Context

    init(_ context: Context) { self.context = context }

    // snippet: coordinatorkit
    static let responders: Responders = [
        .observe(SessionCoordinator.self) { me, child, event in
            switch event {
            case .succeeded: await child.remove()
            case .failed(let reason): print("\(child.path): \(reason)")
            }
        }
    ]
    // end

    func start() async throws { try await context.start(SessionCoordinator.self, as: "session") }
}

// MARK: Kulman

enum Registration {
    struct Submit: ResponderMessage { var name: String }
}

actor RegistrationCoordinator: Coordinator {
    struct Output: Codable, Sendable { var name: String }

    let context: Context

    init(_ context: Context) { self.context = context }

    static let responders: Responders = [
        .respond(to: Registration.Submit.self) { me, submit in me.context.finish(Output(name: submit.name)) }
    ]
}

actor DashboardCoordinator: Coordinator {
    struct Configuration: CoordinatorConfiguration { var name = "" }

    let context: Context

    init(_ context: Context) { self.context = context }
}

// snippet: kulman
actor EntryCoordinator: Coordinator {
    enum ChildKey: String, CoordinatorKey { case registration, dashboard }

    let context: Context

    init(_ context: Context) { self.context = context }

    func start() async throws {
        context.task { [context] in
            let profile = try await context.run(RegistrationCoordinator.self, as: .registration)
            try await context.start(DashboardCoordinator.self, as: .dashboard) { $0.name = profile.name }
        }
    }
}
// end

// MARK: The tutorial

enum Home {
    struct ShowDetails: ResponderMessage {}
}

actor DetailsCoordinator: Coordinator {
    enum Page: Codable, Sendable, Equatable { case details }

    let context: Context

    init(_ context: Context) { self.context = context }

    func start() async throws { context.show(.details) }
}

actor HomeCoordinator: Coordinator {
    let context: Context

    init(_ context: Context) { self.context = context }

    // snippet: tutorial
    static let responders: Responders = [
        .respond(to: Home.ShowDetails.self) { me, _ in
            try await me.context.start(DetailsCoordinator.self, as: "details", restart: .temporary)
        }
    ]
    // end
}
