import Coordinators

// MARK: radianttap/Coordinator

// snippet: radianttap
extension DependencyKeys {
    var members: DependencyKey<any AccountStore> { .init() }
}

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

    static let responders: Responders = [
        .respond(to: Members.Login.self, needs: \.members) { _, login, members in
            guard try await members.verify(login.username, login.password) else { throw WrongPassword() }
            return login.username
        }
    ]
}
// end

struct WrongPassword: Error, Codable {}

// MARK: Ljungberg

struct Contact: Codable, Sendable, Equatable { var name: String }

// snippet: ljungberg
enum Contacts {
    struct Edit: ResponderMessage {
        typealias Reply = Contact
        var contact: Contact
    }
}

actor EditContactCoordinator: Coordinator {
    struct Configuration: Codable, Sendable { var contact: Contact }
    typealias Output = Contact

    let context: Context

    init(_ context: Context) { self.context = context }

    func run() async throws { context.finish(Contact(name: context.configuration.contact.name + ", edited")) }
}

actor ContactsCoordinator: Coordinator {
    let context: Context

    init(_ context: Context) { self.context = context }

    static let responders: Responders = [
        .respond(to: Contacts.Edit.self) { me, edit in
            try await me.context.run(EditContactCoordinator.self, as: "edit \(edit.contact.name)", with: .init(contact: edit.contact))
        }
    ]
}
// end

// MARK: CoordinatorKit

// snippet: coordinatorkit
enum Session { struct Open: ResponderMessage { var isValid: Bool } }

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

    static let responders: Responders = [
        .observe(SessionCoordinator.self) { me, child, event in
            switch event {
            case .succeeded: await child.remove()
            case .failed(let reason): print("\(child.path): \(reason)")
            }
        }
    ]

    func start() async throws { try await context.start(SessionCoordinator.self, as: "session") }
}
// end

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

// snippet: tutorial
enum Home { struct ShowDetails: ResponderMessage {} }

actor DetailsCoordinator: Coordinator {
    enum Page: Codable, Sendable, Equatable { case details }

    let context: Context

    init(_ context: Context) { self.context = context }

    func start() async throws { context.show(.details) }
}

actor HomeCoordinator: Coordinator {
    let context: Context

    init(_ context: Context) { self.context = context }

    static let responders: Responders = [
        .respond(to: Home.ShowDetails.self) { me, _ in
            try await me.context.start(DetailsCoordinator.self, as: "details", restart: .temporary)
        }
    ]
}
// end
