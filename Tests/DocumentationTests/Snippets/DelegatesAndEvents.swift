import Coordinators

enum Login {
    struct Submit: ResponderMessage {
        typealias Reply = Bool
        var name: String
        var password: String
    }
}

enum Gate {
    struct WhoIsIn: ResponderMessage { typealias Reply = String }
    struct Audit: ResponderMessage { typealias Reply = [String] }
}

// snippet: events
actor LoginCoordinator: Coordinator {
    enum Event: Codable, Sendable, Equatable {
        case loggedIn(user: String)
        case refused(user: String)
    }

    let context: Context

    init(_ context: Context) { self.context = context }

    static let responders: Responders = [
        .respond(to: Login.Submit.self) { me, submit in
            let isIn = submit.password == "open sesame"
            me.context.delegates => (isIn ? .loggedIn(user: submit.name) : .refused(user: submit.name))
            return isIn
        }
    ]
}
// end

// snippet: delegate
actor LoginAuditor: CoordinatorDelegate {
    typealias Subject = LoginCoordinator

    private(set) var lines: [String] = []

    func child(_ child: Child<LoginCoordinator>, didSend event: LoginCoordinator.Event) async {
        lines.append("\(child.path): \(event)")
    }
}
// end

actor GateCoordinator: Coordinator {
    let context: Context
    private let auditor = LoginAuditor()
    private var user = "nobody"
    private var crashes = 0

    init(_ context: Context) { self.context = context }

    static let responders: Responders = [
        // snippet: rows
        .observe(LoginCoordinator.self) { me, child, event in
            guard case .loggedIn(let user) = event else { return }
            me.user = user
            await child.remove()
        },
        .lifecycle { me, child, change in
            if case .crashed = change { me.crashes += 1 }
        },
        .dismissal { me, child in
            me.user == "nobody" ? .refuse : .dismiss
        },
        // end
        .respond(to: Gate.WhoIsIn.self) { me, _ in me.user },
        .respond(to: Gate.Audit.self) { me, _ in await me.auditor.lines },
    ]

    // snippet: add
    func start() async throws {
        let login = try await context.start(LoginCoordinator.self, as: "login")
        login.delegates += auditor
    }
    // end

    func ignore() {
        guard let login = context.child(LoginCoordinator.self) else { return }
        // snippet: remove
        login.delegates -= auditor
        // end
    }
}

// snippet: sequence
func firstUser(of login: Child<LoginCoordinator>) async -> String? {
    for await event in login.events() {
        if case .loggedIn(let user) = event { return user }
    }
    return nil
}
// end

func closures(of login: Child<LoginCoordinator>) {
    // snippet: closure
    let subscription = login.onEvent { event in
        if case .refused(let user) = event { print("refused:", user) }
    }
    // end
    // snippet: cancel
    subscription.cancel()
    // end
}

func far(_ context: GateCoordinator.Context) async throws {
    // snippet: path
    for await event in try await context.events(of: LoginCoordinator.self, at: "/gate/login") {
        print(event)
    }
    // end
}
