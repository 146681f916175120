import Coordinators
import CoordinatorsTesting
import TestSupport
import Testing

@testable import Experience

@Suite("Several delegates of one login", .timeLimit(minutes: 1))
struct DelegateTests {
    @Test("Each delegate gets each event once, however often it was added, and none after it was removed", arguments: Where.allCases)
    func multicast(_ place: Where) async throws {
        try await withRuntime(StageCoordinator.self, options: place.options) { runtime in
            let heard = try await runtime.ask(Stage.Play(), timeout: .seconds(30))
            #expect(heard.first == ["a login failed: wrong address or password", "Ada has logged in"])
            #expect(heard.second == ["a login failed: wrong address or password"])
            #expect(heard.observed == [.failed(reason: "wrong address or password"), .loggedIn(ada)])
        }
    }
}

enum Stage {
    /// Logs in, wrongly and rightly, before two delegates, one of which leaves in between.
    struct Play: ResponderMessage {
        struct Reply: Codable, Sendable {
            var first: [String]
            var second: [String]
            var observed: [LoginCoordinator.Event]
        }
    }
}

/// A parent that does nothing but listen.
actor StageCoordinator: Coordinator {
    let context: Context
    private var observed: [LoginCoordinator.Event] = []

    init(_ context: Context) { self.context = context }

    static let responders: Responders = [
        .respond(to: Account.Verify.self) { _, verify in try verify.user },
        .respond(to: Stage.Play.self) { me, _ in try await me.play() },
        .observe(LoginCoordinator.self) { me, _, event in me.observed.append(event) },
    ]

    private func play() async throws -> Stage.Play.Reply {
        await context.provide(\.session, Session(cachedEmail: ada.email))
        let login = try await context.start(LoginCoordinator.self, as: "login", in: .worker)
        let (first, second) = (LoginLog(), LoginLog())
        login.delegates += first
        login.delegates += first
        login.delegates += second
        try await login.ask(Login.Submit(password: "byron"), timeout: .seconds(30))
        try await eventually("both have heard of the failure") { await [first.lines.count, second.lines.count] == [1, 1] }

        login.delegates -= second
        try await login.ask(Login.Submit(password: "lovelace"), timeout: .seconds(30))
        try await eventually("the other has heard of the success") { await first.lines.count == 2 }
        try await eventually("the parent too") { observed.count == 2 }
        return Stage.Play.Reply(first: await first.lines, second: await second.lines, observed: observed)
    }
}
