import Coordinators

/// The root of the app: it decides which experience a person sees, and changes it when the login reports a user.
///
/// The coordinator presents the screens; the log, another delegate of the same login, only records. Neither knows of the other.
actor AppCoordinator: Coordinator {
    enum ChildKey: String, CoordinatorKey { case login, main }

    /// The pages of the app itself.
    enum Page: Codable, Sendable, Equatable {
        /// Below everything else, so that the stack is never empty.
        case launch
        /// The description of a problem, modal.
        case problem(String)
    }

    /// The experience that the person sees from now on.
    enum Event: Codable, Sendable, Equatable {
        case showsProblem(String)
        case showsMain(User)
        case closedPlayer
    }

    let context: Context
    // Delegates are held weakly: this property keeps the log alive.
    private let log = LoginLog()
    private var resting: Set<CoordinatorPath> = []

    init(_ context: Context) { self.context = context }

    static let responders: Responders = [
        .observe(LoginCoordinator.self) { me, _, event in
            switch event {
            case .loggedIn(let user): await me.didLogIn(user)
            case .failed(let reason): me.present(reason)
            }
        },
        .observe(MainExperienceCoordinator.self) { me, _, event in
            switch event {
            case .closedPlayer: me.context.delegates => .closedPlayer
            }
        },
        // Without the login there would be nothing on the screen.
        .dismissal { _, child in child.key(as: ChildKey.self) == .login ? .refuse : .dismiss },

        .respond(to: Account.Verify.self) { _, verify in try verify.user },
        .respond(to: App.Children.self) { me, _ in me.context.children.map(\.path.key) },
        .respond(to: App.Log.self) { me, _ in await me.log.lines },
        .respond(to: App.EnterBackground.self) { me, _ in try await me.enterBackground() },
        .respond(to: App.EnterForeground.self) { me, _ in try await me.enterForeground() },
        .respond(to: App.Throttled.self) { me, message, asked in
            if message.isResting { me.resting.insert(asked.sender) } else { me.resting.remove(asked.sender) }
            return NoReply()
        },

        // Touches are passed down to the coordinator whose screen it is.
        .forward(prefix: "Login.", to: .login),
        .forward(prefix: "Player.", to: .main),
    ]

    /// The state of the session chooses the experience; after a restart it chooses again.
    func start() async throws {
        context.show(.launch)
        if context.dependencies.session?.user == nil {
            let login = try await context.start(LoginCoordinator.self, as: .login, in: .worker)
            login.delegates += log
        } else {
            try await context.start(MainExperienceCoordinator.self, as: .main)
        }
    }

    private func didLogIn(_ user: User) async {
        dismissProblem()
        do {
            try await context.remove(.login)
            await context.provide(\.session, Session(user: user, cachedEmail: user.email))
            try await context.start(MainExperienceCoordinator.self, as: .main)
            context.delegates => .showsMain(user)
        } catch {
            context.fail(error)
        }
    }

    private func present(_ reason: String) {
        dismissProblem()
        context.present(.problem(reason))
        context.delegates => .showsProblem(reason)
    }

    private func dismissProblem() {
        if case .problem = context.pages.last { context.dismiss() }
    }

    private func enterBackground() async throws -> [CoordinatorPath] {
        for child in context.children(in: .active) {
            if let key: ChildKey = child.key() { try await context.pause(key) }
        }
        return resting.sorted { $0.description < $1.description }
    }

    private func enterForeground() async throws -> [CoordinatorPath] {
        for child in context.children(in: .paused) {
            if let key: ChildKey = child.key() { try await context.resume(key) }
        }
        return resting.sorted { $0.description < $1.description }
    }

    /// Refuses touches for a child that isn't on the screen.
    func open(section: ChildKey) throws { throw NotOnScreen() }
}

/// An error that reports a touch where no screen is.
struct NotOnScreen: Error, Codable, Equatable {}
