public import Coordinators

public enum Account {
    /// A login that climbs to the coordinator that knows the accounts.
    public struct Login: ResponderMessage {
        public typealias Reply = String
        public var name: String
        public var password: String
        public init(name: String, password: String) { (self.name, self.password) = (name, password) }
    }
}

/// A login flow: an error comes back to the login page, success replaces it by the profile.
public actor LoginFlow: Coordinator {
    public enum Page: Codable, Sendable, Equatable {
        case login(error: String?)
        case profile(user: String)
    }

    public enum Event: Codable, Sendable, Equatable {
        case didLogIn(user: String)
        case didFail(reason: String)
    }

    /// The message of the login page when its button is pressed.
    public struct Submit: ResponderMessage {
        public var name: String
        public var password: String
        public init(name: String, password: String) { (self.name, self.password) = (name, password) }
    }

    public struct Shown: ResponderMessage {
        public typealias Reply = [Page]
        public init() {}
    }

    public nonisolated let context: Context

    public init(_ context: Context) { self.context = context }

    public static let responders: Responders = [
        .respond(to: Submit.self) { me, submit in await me.logIn(submit.name, submit.password) },
        .respond(to: Shown.self) { me, _ in me.context.pages },
    ]

    public func start() async throws { context.show(.login(error: nil)) }

    private func logIn(_ name: String, _ password: String) async {
        do {
            let user = try await context.ask(Account.Login(name: name, password: password), timeout: .seconds(15))
            context.replaceTop(.profile(user: user))
            context.delegates => .didLogIn(user: user)
        } catch {
            let reason = Fixture.Refusal.reason(of: error)
            context.replaceTop(.login(error: reason))
            context.delegates => .didFail(reason: reason)
        }
    }
}
